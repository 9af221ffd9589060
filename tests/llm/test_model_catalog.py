import subprocess
import sys

import pytest

from roost.llm.catalog import look_up, rows
from roost.llm.families import FAMILIES, family_of, normal
from roost.llm.known_providers import KNOWN
from roost.llm.models import Price


def test_a_dated_name_finds_its_model() -> None:
    entry = look_up("anthropic", "claude-sonnet-4-5-20250929")
    assert entry.price == Price(3, 15, 0.3, 3.75)
    assert (entry.context, entry.output) == (200_000, 64_000)
    assert (entry.images, entry.pdf, entry.reasons) == (True, True, True)


@pytest.mark.parametrize(
    ("provider", "name", "like"),
    [
        ("openrouter", "anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("a-gateway", "claude-opus-4-6", "claude-opus-4-6"),
        ("a-gateway", "anthropic/claude-opus-4-6@20260101", "claude-opus-4-6"),
    ],
)
def test_a_model_is_found_where_others_sell_it(provider: str, name: str, like: str) -> None:
    assert look_up(provider, name).price == look_up("anthropic", like).price


def test_the_longest_name_wins() -> None:
    assert look_up("openai", "gpt-5-mini-2025-08-07").price == Price(0.25, 2, 0.025)
    assert look_up("openai", "gpt-5").price == Price(1.25, 10, 0.125)


def test_a_window_split_in_two_states_its_input() -> None:
    entry = look_up("openai", "gpt-5")
    assert (entry.context, entry.input_limit, entry.output) == (400_000, 272_000, 128_000)


def test_an_unheard_of_model_gets_careful_defaults() -> None:
    entry = look_up("somewhere", "brand-new-model")
    assert entry.price == Price()
    assert (entry.context, entry.output, entry.images) == (128_000, 16_384, False)


def test_at_home_models_cost_nothing_and_have_small_windows() -> None:
    entry = look_up("ollama", "gpt-oss:20b", at_home=True)
    assert entry.price == Price()
    assert entry.reasons
    assert look_up("ollama", "whatever:7b", at_home=True).context == 32_768


def test_a_family_is_found_by_what_a_name_begins_with() -> None:
    assert family_of(normal("claude-x-9")) is FAMILIES["claude"]
    assert family_of(normal("Qwen/Qwen3-VL-8B-Instruct")) is FAMILIES["qwen3-vl"]
    assert family_of(normal("unknown")) is None


@pytest.mark.parametrize("known", [p for p in KNOWN.values() if p.model], ids=lambda p: p.id)
def test_the_first_models_of_known_providers_are_in_the_catalogue(known: object) -> None:
    provider = next(p for p in KNOWN.values() if p is known)
    for name in filter(None, (provider.model, provider.small_model, provider.strong_model)):
        assert look_up(provider.catalog or provider.id, name).price.input > 0


def test_the_file_is_small_and_complete() -> None:
    assert {"anthropic", "openai", "google", "openrouter", "groq"} <= set(rows())
    assert all(
        row.context or row.input is not None for place in rows().values() for row in place.values()
    )


def test_the_catalogue_loads_without_what_it_is_made_from() -> None:
    code = (
        "import sys, time; from roost.llm.catalog import look_up; began = time.process_time();"
        "look_up('openai', 'gpt-5'); spent = time.process_time() - began;"
        "assert spent < 0.1, spent; assert not {'genai_prices', 'httpx2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

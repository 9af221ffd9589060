from typing import Any

import msgspec
import pytest

from roost.core.errors import ConfigError, RoostError, UsageError
from roost.llm.groups import list_models, resolve_model_name, small_model
from roost.llm.known_providers import KNOWN
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENROUTER_API_KEY": "sk-2"}
SONNET = f"anthropic/{KNOWN['anthropic'].model}"
HAIKU = f"anthropic/{KNOWN['anthropic'].small_model}"
OPUS = f"anthropic/{KNOWN['anthropic'].strong_model}"
WORK: dict[str, Any] = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "https://models.example/v1"},
    "models": {
        "big": {"cost": {"input": 5, "output": 50}, "modalities": {"input": ["text", "image"]}},
        "usual": {"cost": {"input": 1, "output": 10}, "limit": {"context": 64_000}},
        "deaf": {"cost": {"input": 9, "output": 90}, "tool_call": False},
        "claude-opus": {"id": "v/claude-opus", "cost": {"input": 2, "output": 20}},
    },
}


def settings(**fields: Any) -> ModelSettings:
    return msgspec.convert(fields, ModelSettings)


def named(name: str, current: str = SONNET, **fields: Any) -> str:
    given = settings(**fields)
    return resolve_model_name(name, resolve(current, given, KEYS), given, KEYS).ref


def test_groups_that_are_not_set_follow_from_the_current_model() -> None:
    assert named("standard") == SONNET
    assert named("lite") == HAIKU
    assert named("ultra") == OPUS
    assert named("lite", small_model="openrouter/x/tiny") == "openrouter/x/tiny"


def test_ultra_is_never_less_than_the_current_model() -> None:
    dear = "anthropic/claude-3-opus"
    assert named("ultra", dear) == dear
    assert named("ultra", HAIKU) == OPUS


def test_of_models_that_only_the_user_knows_the_dearest_is_the_strongest() -> None:
    work = {"work": WORK}
    assert named("ultra", "work/usual", provider=work) == "work/big"
    assert named("lite", "work/usual", provider=work) == "work/usual"
    free = {"home": {**WORK, "models": {"a": {}, "b": {}}}}
    assert named("ultra", "home/a", provider=free) == "home/a"


def test_a_group_that_is_set_means_what_is_set() -> None:
    groups = {"lite": "openrouter/x/tiny", "review": {"default": OPUS, "models": ["work/big"]}}
    fields = {"provider": {"work": WORK}, "model_groups": groups}
    assert named("lite", **fields) == "openrouter/x/tiny"
    assert named("review", **fields) == OPUS
    assert named("review", "work/usual", **fields) == "work/big"
    assert resolve("review", settings(**fields), KEYS).ref == OPUS


def test_titles_are_made_by_the_group_lite_unless_a_small_model_is_named() -> None:
    given = settings(model_groups={"lite": "openrouter/x/tiny"})
    assert small_model(resolve(SONNET, given, KEYS), given, KEYS).ref == "openrouter/x/tiny"
    both = settings(model_groups={"lite": "openrouter/x/tiny"}, small_model=OPUS)
    assert small_model(resolve(SONNET, both, KEYS), both, KEYS).ref == OPUS
    itself = settings(small_model="lite")
    assert small_model(resolve(SONNET, itself, KEYS), itself, KEYS).ref == HAIKU


def test_a_bare_name_means_the_one_model_of_that_name() -> None:
    work = {"work": WORK}
    assert named("big", provider=work) == "work/big"
    assert named("BIG", provider=work) == "work/big"
    assert named("claude-opus-4-6") == "anthropic/claude-opus-4-6"
    assert named("claude-opus-4.6") == "anthropic/claude-opus-4.6"
    assert named("anthropic/claude-opus-4-6") == "anthropic/claude-opus-4-6"


def test_of_several_providers_the_current_one_is_meant_or_it_must_be_said() -> None:
    two = {"work": WORK, "home": {**WORK, "models": {"big": {}}}}
    assert named("big", "home/big", provider=two) == "home/big"
    with pytest.raises(UsageError) as caught:
        named("big", provider=two)
    assert caught.value.hint == "Say which: work/big, home/big."


def test_the_name_of_a_model_may_have_a_slash() -> None:
    known = {"OPENROUTER_API_KEY": "sk-2"}
    given = settings()
    current = resolve(f"openrouter/{KNOWN['openrouter'].model}", given, known)
    found = resolve_model_name(KNOWN["openrouter"].small_model, current, given, known)
    assert found.ref == f"openrouter/{KNOWN['openrouter'].small_model}"
    with pytest.raises(ConfigError, match="needs a key"):
        resolve_model_name("anthropic/claude-x", current, given, known)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("ultr", "ultra"), ("claude-opus-5-6", OPUS), ("bigg", "work/big"), ("revew", "review")],
)
def test_a_wrong_name_tells_those_most_like_it(wrong: str, right: str) -> None:
    fields = {"provider": {"work": WORK}, "model_groups": {"review": OPUS}}
    with pytest.raises(UsageError) as caught:
        named(wrong, **fields)
    assert "Did you mean" in caught.value.hint
    assert right in caught.value.hint
    assert "Groups: ultra, standard, lite, review." in caught.value.hint


def test_a_name_like_nothing_lists_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        named("zzz")
    assert caught.value.hint.startswith("Groups:")
    assert SONNET in caught.value.hint


def refs(current: str, **options: Any) -> list[str]:
    given = settings(provider={"work": WORK})
    found = list_models(resolve(current, given, KEYS), given, KEYS, **options)
    return [one.ref for one in found]


def test_models_are_listed_by_use_then_by_nearness_and_strength() -> None:
    found = refs("work/usual")
    assert found[:3] == ["work/big", "work/usual", "work/claude-opus"]
    assert "work/deaf" not in found
    assert SONNET in found
    assert refs(SONNET)[:3] == [OPUS, SONNET, HAIKU]


def test_the_list_can_be_cut_and_kept_to_what_sees() -> None:
    assert refs("work/usual", limit=2) == ["work/big", "work/usual"]
    assert "work/usual" not in refs("work/usual", vision=True)
    assert refs("work/usual", vision=False)[0] == "work/usual"


def test_a_listed_model_tells_window_price_sight_and_groups() -> None:
    given = settings(provider={"work": WORK})
    big, usual, *_ = list_models(resolve("work/usual", given, KEYS), given, KEYS)
    assert (big.groups, big.vision, big.output_price, big.current) == (("ultra",), True, 50, False)
    assert (usual.groups, usual.context, usual.current) == (("standard", "lite"), 64_000, True)


def test_a_group_that_cannot_be_called_leaves_the_list_whole() -> None:
    given = settings(model_groups={"lite": "openai/gpt-5"})
    current = resolve(SONNET, given, KEYS)
    assert "openai/gpt-5" not in [one.ref for one in list_models(current, given, KEYS)]
    with pytest.raises(RoostError, match="needs a key"):
        resolve_model_name("lite", current, given, KEYS)


def test_the_current_model_is_known_even_where_nothing_is_set_up() -> None:
    here = Model("ollama", "qwen3:4b", "openai-chat", "http://127.0.0.1:11434/v1")
    assert resolve_model_name("qwen3:4b", here, settings(), {}) == here
    assert next(one.ref for one in list_models(here, settings(), {})) == "ollama/qwen3:4b"

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.config.providers import ProviderConfig
from roost.core.errors import ConfigError, RoostError, UsageError
from roost.llm import choice as choice_module
from roost.llm import known_providers
from roost.llm import resolve as resolve_module
from roost.llm.addresses import address_of, is_loopback
from roost.llm.choice import Choice, choose, default_ref
from roost.llm.client import ModelClient
from roost.llm.known_providers import KNOWN, KnownProvider, known_key_variables
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve
from roost.llm.written import Written
from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-2"}


def settings(**fields: Any) -> ModelSettings:
    return msgspec.convert(fields, ModelSettings)


def resolved(ref: str, environment: Mapping[str, str] = KEYS, **fields: Any) -> Model:
    return resolve(ref, settings(**fields), environment)


def chosen(
    explicit: str | None = None, environment: Mapping[str, str] | None = None, **fields: Any
) -> Choice:
    async def ask() -> Choice:
        client = ModelClient()
        try:
            return await choose(explicit, settings(**fields), environment or {}, client)
        finally:
            await client.aclose()

    return asyncio.run(ask())


GATEWAY = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {
        "baseURL": "https://gateway.example/v1/",
        "apiKey": "sk-own",
        "headers": {"x-team": "blue"},
        "timeout": 60_000,
        "chunkTimeout": 5_000,
    },
    "models": {
        "big": {
            "id": "vendor/big-1",
            "name": "Big",
            "limit": {"context": 64_000, "output": 4_000},
            "cost": {"input": 1, "output": 2, "cache_read": 0.1},
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "reasoning": True,
            "options": {"reasoningEffort": "high", "top_k": 4},
            "headers": {"x-model": "big"},
            "variants": {"deep": {"reasoningEffort": "xhigh"}},
        }
    },
}


def test_what_the_user_asks_for_comes_first() -> None:
    found = chosen("openai/gpt-5", KEYS, model="anthropic/claude-opus-4-6")
    assert found.model.ref == "openai/gpt-5"


def test_then_the_configuration() -> None:
    assert chosen(None, KEYS, model="openai/gpt-5").model.ref == "openai/gpt-5"


def test_then_a_provider_written_into_the_configuration() -> None:
    assert chosen(None, KEYS, provider={"gw": GATEWAY}).model.ref == "gw/big"


def test_then_a_key_in_the_environment() -> None:
    found = chosen(None, KEYS)
    assert found.model.ref == f"anthropic/{KNOWN['anthropic'].model}"
    assert found.small.ref == f"anthropic/{KNOWN['anthropic'].small_model}"
    assert found.model.api_key == "sk-ant-1"


@pytest.mark.parametrize(
    "provider", [p for p in KNOWN.values() if p.env and p.model], ids=lambda p: p.id
)
def test_every_known_key_is_enough(provider: KnownProvider) -> None:
    for variable in provider.env:
        found = default_ref(settings(), {variable: "k"})
        assert found == f"{provider.id}/{provider.model}"
        assert resolve(found, settings(), {variable: "k"}).api_key == "k"


def test_a_blank_key_is_no_key() -> None:
    assert default_ref(settings(), {"OPENAI_API_KEY": " "}) is None


def test_a_key_in_the_configuration_sets_a_known_provider_up_as_one_in_the_environment() -> None:
    found = default_ref(settings(provider={"openai": {"options": {"apiKey": "k"}}}), {})
    assert found == f"openai/{KNOWN['openai'].model}"


def test_a_provider_may_be_disabled() -> None:
    assert chosen(None, KEYS, disabled_providers=["anthropic"]).model.provider == "openai"
    assert chosen(None, KEYS, enabled_providers=["openai"]).model.provider == "openai"
    with pytest.raises(ConfigError, match="disabled"):
        resolved("anthropic/claude-opus-4-6", disabled_providers=["anthropic"])


@pytest.fixture
def nothing_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "AT_HOME", ())
    monkeypatch.setattr(choice_module, "runtime_is_installed", lambda: False)


@pytest.mark.usefixtures("nothing_at_home")
def test_with_nothing_at_all_the_user_is_told_what_could_be_done() -> None:
    with pytest.raises(RoostError) as caught:
        chosen()
    hint = caught.value.hint
    for word in ("ANTHROPIC_API_KEY", "Ollama", "make local", "baseURL", "-m"):
        assert word in hint


def test_a_server_on_this_machine_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(scenario("x"), models=("nomic-embed-text", "qwen3:8b")) as server:
        at_home = KnownProvider(id="ollama", name="Ollama", base_url=f"{server.url}/v1")
        monkeypatch.setitem(known_providers.KNOWN, "ollama", at_home)
        found = chosen()
    assert found.model.ref == "ollama/qwen3:8b"
    assert found.model.base_url == f"{server.url}/v1"
    assert found.small == found.model


def test_ports_where_nobody_answers_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "runtime_is_installed", lambda: False)
    for name in choice_module.AT_HOME:
        silent = KnownProvider(id=name, name=name, base_url="http://127.0.0.1:1/v1")
        monkeypatch.setitem(known_providers.KNOWN, name, silent)
    with pytest.raises(ConfigError):
        chosen()


def test_the_embedded_model_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "AT_HOME", ())
    for module in (choice_module, resolve_module):
        monkeypatch.setattr(module, "runtime_is_installed", lambda: True)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.Q4.gguf").write_bytes(b"GGUF")
    found = chosen(None, {"ROOST_HOME": str(tmp_path)}).model
    assert (found.ref, found.small_prompt) == ("local/tiny.Q4", True)


def test_a_configured_model_carries_everything_it_was_given() -> None:
    big = resolved("gw/big", provider={"gw": GATEWAY})
    assert (big.dialect, big.base_url, big.api_key) == (
        "openai-chat",
        "https://gateway.example/v1",
        "sk-own",
    )
    assert (big.id, big.ref, big.name) == ("vendor/big-1", "gw/big", "Big")
    assert (big.context, big.output, big.input_limit) == (64_000, 4_000, None)
    assert (big.price.input, big.price.cache_read, big.price.cache_write) == (1, 0.1, None)
    assert (big.reads_images, big.reads_pdf, big.reasons) == (True, False, True)
    assert big.options == {"reasoning_effort": "high", "top_k": 4}
    assert big.variants == {"deep": {"reasoning_effort": "xhigh"}}
    assert big.headers == {"x-team": "blue", "x-model": "big"}
    assert (big.first_byte_timeout, big.idle_timeout) == (60.0, 5.0)


def test_an_unknown_model_of_a_known_provider_works() -> None:
    assert resolved("openai/gpt-99-nova").context == 128_000


def test_a_name_is_split_at_the_first_slash() -> None:
    found = resolved("openrouter/anthropic/claude-opus-4.6", {"OPENROUTER_API_KEY": "k"})
    assert (found.provider, found.id) == ("openrouter", "anthropic/claude-opus-4.6")


@pytest.mark.parametrize(
    ("npm", "dialect"),
    [
        ("@ai-sdk/openai-compatible", "openai-chat"),
        ("@ai-sdk/openai@2.0.1", "openai-responses"),
        ("@ai-sdk/anthropic", "anthropic"),
        ("@ai-sdk/amazon-bedrock", "pydantic-ai"),
    ],
)
def test_packages_name_dialects(npm: str, dialect: str) -> None:
    entry = {"npm": npm, "options": {"baseURL": "http://x/v1"}}
    assert resolved("gw/m", provider={"gw": entry}).dialect == dialect


def test_options_of_the_ai_sdk_become_fields_of_the_body() -> None:
    def options(npm: str, given: dict[str, Any]) -> dict[str, Any]:
        entry = {
            "npm": npm,
            "options": {"baseURL": "http://x"},
            "models": {"m": {"options": given}},
        }
        return resolved("gw/m", provider={"gw": entry}).options

    assert options("@ai-sdk/openai", {"reasoningEffort": "low", "textVerbosity": "low"}) == {
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low"},
    }
    thinking = {"thinking": {"type": "enabled", "budgetTokens": 2_000}}
    assert options("@ai-sdk/anthropic", thinking) == {
        "thinking": {"type": "enabled", "budget_tokens": 2_000}
    }


def test_pydantic_ai_gets_its_provider_and_options() -> None:
    entry = {"npm": "@ai-sdk/amazon-bedrock", "options": {"region": "eu-west-1"}}
    found = resolved("bedrock/some-model", provider={"bedrock": entry})
    assert found.options == {"pydantic_ai": {"region": "eu-west-1", "provider": "bedrock"}}


def test_an_unknown_package_is_named() -> None:
    with pytest.raises(ConfigError, match="@ai-sdk/strange"):
        resolved("x/m", provider={"x": {"npm": "@ai-sdk/strange"}})


def test_another_address_for_openai_speaks_the_older_api() -> None:
    moved = resolved("openai/m", KEYS | {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1"})
    assert (moved.base_url, moved.dialect) == ("http://127.0.0.1:4000/v1", "openai-chat")
    assert resolved("openai/m").dialect == "openai-responses"


def test_anthropics_variable_names_a_root() -> None:
    moved = resolved("anthropic/m", KEYS | {"ANTHROPIC_BASE_URL": "https://proxy.example"})
    assert moved.base_url == "https://proxy.example/v1"


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:1234", "http://box:1234/v1"),
        ("https://box/", "https://box/v1"),
        ("http://box:1/v1", "http://box:1/v1"),
        ("", ""),
    ],
)
def test_addresses_as_ollama_users_write_them(value: str, address: str) -> None:
    assert address_of(value, default_port=11434) == address


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.5", True),
        ("http://[::1]:8/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example", False),
    ],
)
def test_what_is_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_a_model_on_this_machine_costs_nothing() -> None:
    entry = {"options": {"baseURL": "http://localhost:9/v1"}}
    assert resolved("home/gpt-5", provider={"home": entry}).price.input == 0


@pytest.mark.parametrize("ref", ["", "gpt-5", "/gpt-5", "openai/"])
def test_a_name_without_a_provider_is_refused(ref: str) -> None:
    with pytest.raises(UsageError):
        resolved(ref)


def test_a_bare_model_name_brings_a_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        resolved("claude-opus-4-6")
    assert "anthropic/claude-opus-4-6" in caught.value.hint


@pytest.mark.parametrize("ref", ["gw", "gw/"])
def test_a_provider_alone_brings_its_models(ref: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolved(ref, provider={"gw": GATEWAY})
    assert caught.value.message == "gw is a provider and not a model"
    assert caught.value.hint.split("\n") == [
        "Name one of its models: gw/big.",
        "`roost models gw` lists them.",
    ]


@pytest.mark.parametrize(
    ("ref", "said"),
    [("bigg", "Did you mean gw/big?"), ("nope", "Write it as"), ("gpt", "Write it as")],
)
def test_only_a_name_that_is_much_alike_is_offered(ref: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolved(ref, provider={"gw": GATEWAY})
    assert caught.value.hint.startswith(said)
    with pytest.raises(UsageError) as caught:
        resolved("nope/x", provider={"gw": GATEWAY})
    assert re.match(r"\d+ providers are known: `roost models` lists", caught.value.hint)


PATH = ("provider", "gw", "options", "apiKey")
HOLDS = {"options": {"baseURL": "https://gateway.example/v1", "apiKey": ""}, "env": ["GW_KEY"]}


def test_a_key_whose_variable_is_not_set_is_named_with_its_place() -> None:
    written = Written({PATH: "/etc/roost.json"}, {PATH: "{env:WORK_KEY}"})
    given = msgspec.structs.replace(settings(provider={"gw": HOLDS}), written=written)
    for environment in ({}, {"WORK_KEY": " "}):
        with pytest.raises(ConfigError) as caught:
            resolve("gw/m", given, environment)
        assert "the variable WORK_KEY is not set" in caught.value.message
        assert "provider.gw.options.apiKey = {env:WORK_KEY} in /etc/roost.json" in caught.value.hint
    found = resolve("gw/m", given, {"GW_KEY": "k"})
    assert (found.api_key, found.key_place) == ("k", "the variable GW_KEY")


@pytest.mark.parametrize("base_url", ["127.0.0.1:9/v1", "ftp://x/v1", "http://", "http://x:abc/v1"])
def test_an_address_that_is_none_is_told_before_any_call(base_url: str) -> None:
    with pytest.raises(ConfigError, match="must be like http://host:port/v1") as caught:
        resolved("gw/m", provider={"gw": {"options": {"baseURL": base_url}}})
    assert "provider.gw.options.baseURL" in caught.value.hint


def test_a_local_model_that_cannot_be_run_is_told_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve_module, "runtime_is_installed", lambda: False)
    with pytest.raises(ConfigError, match="extra `local`"):
        resolved("local/tiny")
    monkeypatch.setattr(resolve_module, "runtime_is_installed", lambda: True)
    with pytest.raises(ConfigError, match="no local model 'tiny'") as caught:
        resolved("local/tiny", {"ROOST_HOME": str(tmp_path)})
    assert str(tmp_path / "models") in caught.value.hint


def test_it_is_known_whether_a_price_is_known() -> None:
    entry = {"options": {"baseURL": "http://localhost:9/v1"}}
    assert not resolved("home/m", provider={"home": entry}).price_known
    assert not resolved("gw/unheard-of", provider={"gw": {**GATEWAY, "models": {}}}).price_known
    free = {**entry, "models": {"m": {"cost": {"input": 0, "output": 0}}}}
    assert resolved("home/m", provider={"home": free}).price_known
    assert resolved("ollama/m").price_known
    assert resolved("openai/gpt-5").price_known


def test_a_misspelt_provider_brings_near_names() -> None:
    with pytest.raises(UsageError) as caught:
        resolved("antropic/claude-opus-4-6")
    assert "anthropic" in caught.value.hint


def test_a_missing_key_is_named_with_its_variable() -> None:
    with pytest.raises(ConfigError) as caught:
        resolved("groq/llama", {})
    assert "GROQ_API_KEY" in caught.value.hint


def test_a_provider_without_an_address_is_named() -> None:
    with pytest.raises(ConfigError, match="gw has no address"):
        resolved("gw/m", provider={"gw": {"models": {"m": {}}}})


def test_lists_of_models_are_kept_to() -> None:
    for rule in ({"whitelist": ["a"]}, {"blacklist": ["b"]}):
        with pytest.raises(ConfigError, match="not allowed"):
            resolved("openai/b", provider={"openai": rule})


def test_a_small_model_may_be_named_and_falls_back() -> None:
    found = chosen("openai/gpt-5", KEYS, small_model="anthropic/claude-haiku-4-5")
    assert found.small.ref == "anthropic/claude-haiku-4-5"
    own = chosen("gw/big", {}, provider={"gw": GATEWAY})
    assert own.small == own.model


def test_no_timeout_still_ends_some_day() -> None:
    entry = {"options": {"baseURL": "http://x", "timeout": False}}
    assert resolved("x/m", provider={"x": entry}).first_byte_timeout == 3_600.0


def test_options_of_the_wrong_type_are_refused_when_read() -> None:
    with pytest.raises(msgspec.ValidationError, match="baseURL"):
        msgspec.convert({"options": {"baseURL": 3}}, ProviderConfig)


def test_keys_are_known_by_their_variables() -> None:
    assert {"OPENAI_API_KEY", "GEMINI_API_KEY", "AZURE_API_KEY"} <= known_key_variables()
    assert not {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN"} & known_key_variables()

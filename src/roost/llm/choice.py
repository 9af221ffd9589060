"""Which model is used when nobody, or somebody, says so.

In this order: `-m`, `model` in config, a provider written into the config, a key in the
environment, a server on this machine that answers, the embedded local model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from roost.core.errors import ConfigError
from roost.llm import local
from roost.llm.client import ModelClient
from roost.llm.gguf import known_models, runtime_is_installed
from roost.llm.groups import is_derived, resolve_model_name, small_model
from roost.llm.known_providers import AT_HOME, KNOWN
from roost.llm.models import Model, ModelError
from roost.llm.resolve import ModelSettings, resolve

if TYPE_CHECKING:
    from roost.llm.listing import ListedModel

PROBE_TIMEOUT: Final = 0.15
"""Seconds for asking a port on this machine whether a model server is there."""
_PROBED: Final = "probe"
_WIDTH: Final = 76
"""Columns of a hint: it is shown behind an indent."""
_NO_CHAT: Final = ("embed", "rerank", "whisper", "tts")
"""Models with these words in their name do not talk."""


class Choice(Struct, frozen=True):
    """The models of a session."""

    model: Model
    small: Model
    """For titles and other small tasks."""


async def choose(
    explicit: str | None,
    settings: ModelSettings,
    environment: Mapping[str, str],
    client: ModelClient,
) -> Choice:
    """The models to use; `explicit` is what the user asked for with `-m`: a model or a group. What
    a group is derived from is the model that would be used if nobody named one.

    Raises UsageError and ConfigError.
    """
    named = explicit or settings.model
    if named is None or is_derived(named, settings):
        model = await _usual(settings, environment, client)
        if named is not None:
            model = resolve_model_name(named, model, settings, environment)
    else:
        model = resolve(named, settings, environment)
    return Choice(model, small_model(model, settings, environment))


async def _usual(
    settings: ModelSettings, environment: Mapping[str, str], client: ModelClient
) -> Model:
    """The model without anybody's wish for this one time."""
    named = None if is_derived(settings.model, settings) else settings.model
    if ref := named or default_ref(settings, environment):
        return resolve(ref, settings, environment)
    return await _at_home(settings, environment, client)


def default_ref(settings: ModelSettings, environment: Mapping[str, str]) -> str | None:
    """The model of the first provider that is set up, in config or by a key; None without one."""
    for name, config in settings.provider.items():
        if settings.allows(name) and config.models and _is_usable(name, settings, environment):
            return f"{name}/{next(iter(config.models))}"
    for known in KNOWN.values():
        config = settings.provider.get(known.id)
        keyed = any(environment.get(variable, "").strip() for variable in known.env)
        keyed = keyed or (config is not None and bool(config.settings.api_key))
        if keyed and known.model and settings.allows(known.id):
            return f"{known.id}/{known.model}"
    return None


def _is_usable(name: str, settings: ModelSettings, environment: Mapping[str, str]) -> bool:
    try:
        resolve(f"{name}/{next(iter(settings.provider[name].models))}", settings, environment)
    except ConfigError:
        return False
    return True


async def _at_home(
    settings: ModelSettings, environment: Mapping[str, str], client: ModelClient
) -> Model:
    """A model on this machine. Raises ConfigError, which lists what could be done."""
    candidates = [name for name in AT_HOME if settings.allows(name)]
    endpoints = [resolve(f"{name}/{_PROBED}", settings, environment) for name in candidates]
    if endpoints:
        client.warm(endpoints[0].base_url)
    found = await asyncio.gather(*(_first_model(client, endpoint) for endpoint in endpoints))
    for name, listed in zip(candidates, found, strict=True):
        if listed is not None:
            model = resolve(f"{name}/{listed.id}", settings, environment)
            return replace(model, context=listed.context) if listed.context else model
    if settings.allows(local.PROVIDER) and runtime_is_installed():
        for path in known_models(environment):
            return resolve(f"{local.PROVIDER}/{path.stem}", settings, environment)
    raise _nothing()


async def _first_model(client: ModelClient, endpoint: Model) -> ListedModel | None:
    try:
        listed = await client.list_models(endpoint, PROBE_TIMEOUT)
    except ModelError:
        return None
    talking = (m for m in listed if not any(word in m.id.lower() for word in _NO_CHAT))
    return next(talking, None)


def _nothing() -> ConfigError:
    variables = [known.env[0] for known in KNOWN.values() if known.env and known.model]
    first, *others = variables
    more = fill(f"(or {', '.join(others)})", _WIDTH, initial_indent="  ", subsequent_indent="   ")
    return ConfigError(
        "there is no model to talk to",
        hint="Do one of these:\n"
        f"- set the key of a provider: export {first}=...\n"
        f"{more}\n"
        "- start Ollama, LM Studio or llama.cpp on this machine\n"
        "- name any other endpoint in a roost.json in your config folder\n"
        "  (`roost config path` tells where that is):\n"
        '  {"provider": {"mine": {"npm": "@ai-sdk/openai-compatible",\n'
        '    "options": {"baseURL": "http://...", "apiKey": "..."},\n'
        '    "models": {"its-name": {}}}}}\n'
        "- for a first look without a key: `make local` in a checkout of Roost\n"
        "Then choose with -m provider/model, or leave the choice to Roost.",
    )

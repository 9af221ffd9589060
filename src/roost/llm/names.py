"""What is said of a name that is no model: what it may have meant, and what there is."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, Protocol

from roost.config.providers import ProviderConfig
from roost.core.errors import UsageError
from roost.core.text import echo
from roost.llm import local
from roost.llm.catalog import names
from roost.llm.families import normal
from roost.llm.known_providers import KNOWN

ALIKE: Final = 0.75
"""How like a name must be to be offered, from 0 to 1: one letter in four may be wrong."""
_MOST: Final = 3
"""Names that are offered at most."""


class _Settings(Protocol):
    @property
    def provider(self) -> Mapping[str, ProviderConfig]: ...


def bad_ref(ref: str, settings: _Settings) -> UsageError:
    """The error for a reference that is not `provider/model`."""
    provider = ref.removesuffix("/")
    if provider in _providers(settings):
        return _only_a_provider(provider, settings)
    found = _meant(ref, settings)
    hint = f"Did you mean {' or '.join(found)}?" if found else _shape(settings)
    return UsageError(f"{echo(ref)!r} names no provider", hint=hint)


def unknown_provider(provider: str, settings: _Settings) -> UsageError:
    """The error for a reference to a provider that is neither built in nor configured."""
    known = sorted(_providers(settings))
    near = near_names(provider, known)
    hint = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else f"{len(known)} providers are known: `roost models` lists the models that can be used,"
        " and what the other providers need."
    )
    return UsageError(f"there is no provider {echo(provider)!r}", hint=hint)


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that are much like `name`, the nearest first."""
    return get_close_matches(name.lower(), list(known), n=_MOST, cutoff=ALIKE)


def _providers(settings: _Settings) -> set[str]:
    return {*KNOWN, *settings.provider, local.PROVIDER}


def _only_a_provider(provider: str, settings: _Settings) -> UsageError:
    models = _models(provider, settings)
    listing = f"`roost models {provider}` lists them."
    shown = f"Name one of its models: {', '.join(models)}." if models else "Name one of its models."
    return UsageError(f"{provider} is a provider and not a model", hint=f"{shown}\n{listing}")


def _models(provider: str, settings: _Settings) -> list[str]:
    """The models that the configuration names, else those that Roost would choose, whole."""
    config, known = settings.provider.get(provider), KNOWN.get(provider)
    own = list(config.models) if config else []
    built_in = [known.model, known.small_model] if known else []
    return [f"{provider}/{one}" for one in dict.fromkeys(own or built_in) if one]


def _meant(ref: str, settings: _Settings) -> list[str]:
    """Models that are called `ref`, else configured or first ones whose name is much like it."""
    exact = [f"{name}/{ref}" for name, entry in settings.provider.items() if ref in entry.models]
    if any(character.isdigit() for character in ref):  # `gpt` alone is a family and no model
        exact += [f"{provider}/{ref}" for provider in KNOWN if normal(ref) in names(provider)]
    if exact:
        return exact[:_MOST]
    whole = [one for provider in _providers(settings) for one in _models(provider, settings)]
    by_name = {one.partition("/")[2].lower(): one for one in sorted(whole)}
    return [by_name[name] for name in near_names(ref, by_name)]


def _shape(settings: _Settings) -> str:
    configured = [one for name in settings.provider for one in _models(name, settings)]
    example = f", for example {configured[0]}" if configured else ""
    return f"Write it as provider/model{example}. `roost models` lists what there is."

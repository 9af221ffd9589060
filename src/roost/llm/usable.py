"""Which models can be called as things are: the configuration's own, and those of known providers
that have a key. Nobody is asked over the network.
"""

from collections.abc import Iterable, Mapping

from roost.core.errors import RoostError
from roost.llm import local
from roost.llm.catalog import names
from roost.llm.gguf import known_models, runtime_is_installed
from roost.llm.known_providers import KNOWN
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve


def names_of(provider: str, settings: ModelSettings) -> list[str]:
    """The models of a provider worth naming: those that the configuration describes, chooses or
    groups, and those that Roost would choose itself.
    """
    config, known = settings.provider.get(provider), KNOWN.get(provider)
    refs = [settings.model or "", settings.small_model or "", *settings.grouped]
    chosen = [ref.partition("/")[2] for ref in refs if ref.startswith(f"{provider}/")]
    own = list(config.models) if config else []
    usual = [known.model, known.small_model, known.strong_model] if known else []
    return [one for one in dict.fromkeys((*own, *chosen, *usual)) if one]


def usable_models(
    settings: ModelSettings, environment: Mapping[str, str], *, only: str | None = None
) -> list[Model]:
    """The models that can be called, configured providers first; with `only`, of that provider."""
    providers = dict.fromkeys((*settings.provider, *KNOWN))
    found = [
        model
        for provider in providers
        if only in {None, provider}
        for model in _resolved(provider, names_of(provider, settings), settings, environment)
    ]
    if only in {None, local.PROVIDER} and runtime_is_installed():
        stems = [path.stem for path in known_models(environment)]
        found += _resolved(local.PROVIDER, stems, settings, environment)
    return list({model.ref: model for model in found}.values())


def catalogued(
    normalised: str, name: str, settings: ModelSettings, environment: Mapping[str, str]
) -> list[Model]:
    """The model `name` at each usable provider whose part of the catalogue has it."""
    found: list[Model] = []
    for provider in dict.fromkeys((*settings.provider, *KNOWN)):
        known = KNOWN.get(provider)
        if known is not None and normalised in names(known.catalog or known.id):
            found += _resolved(provider, [name], settings, environment)
    return found


def _resolved(
    provider: str, ids: Iterable[str], settings: ModelSettings, environment: Mapping[str, str]
) -> list[Model]:
    found: list[Model] = []
    for model_id in ids:
        try:
            found.append(resolve(f"{provider}/{model_id}", settings, environment))
        except RoostError:
            continue  # no key, no address or not allowed: it cannot be called
    return found

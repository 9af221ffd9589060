"""Models by use: `ultra`, `standard` and `lite`, groups of the user's own, and bare names.

A built-in group that the configuration does not set is derived from the model beside which it is
asked for.
"""

from collections.abc import Mapping
from typing import Final, Literal, assert_never, cast, get_args

from msgspec import Struct

from roost.core.errors import ConfigError, RoostError, UsageError
from roost.core.text import echo
from roost.llm.families import normal
from roost.llm.known_providers import KNOWN
from roost.llm.models import Model
from roost.llm.names import near_names
from roost.llm.resolve import ModelSettings, resolve
from roost.llm.usable import catalogued, usable_models

BuiltInGroup = Literal["ultra", "standard", "lite"]
BUILT_IN_GROUPS: Final[tuple[BuiltInGroup, ...]] = get_args(BuiltInGroup)
"""The strongest, the usual one, the cheap and quick one."""
LIST_LIMIT: Final = 50
"""Models that are listed unless more are asked for."""
_NAMED: Final = 12
"""Names that an error lists where there are many."""

Environment = Mapping[str, str]


def group_names(settings: ModelSettings) -> tuple[str, ...]:
    """Every group there is, the built-in ones first."""
    return tuple(dict.fromkeys((*BUILT_IN_GROUPS, *settings.model_groups)))


def is_derived(name: str | None, settings: ModelSettings) -> bool:
    """Whether `name` is a built-in group that the configuration leaves to be derived."""
    return name in BUILT_IN_GROUPS and name not in settings.model_groups


def resolve_model_name(
    name: str, current: Model, settings: ModelSettings, environment: Environment
) -> Model:
    """The model that `name` means beside `current`: a group, `provider/model`, or the name of a
    model that only one provider has (of several, the provider of `current` is meant).

    Raises `UsageError` for what means nothing or several things, with the names most like it, and
    `ConfigError` for a model that cannot be called as things are.
    """
    name = name.strip()
    if is_derived(name, settings):
        return _derived(cast("BuiltInGroup", name), current, settings, environment)
    if name in settings.model_groups:
        return resolve(settings.member(name, current.provider), settings, environment)
    if "/" not in name:
        found = _by_bare_name(name, current, settings, environment)
        return _only(name, found) or _refuse(name, current, settings, environment)
    try:
        return resolve(name, settings, environment)
    except RoostError:
        # At gateways the name of a model has a slash in it, so this may be a bare name too.
        if (model := _only(name, _by_bare_name(name, current, settings, environment))) is None:
            raise
        return model


def _derived(
    name: BuiltInGroup, current: Model, settings: ModelSettings, environment: Environment
) -> Model:
    match name:
        case "ultra":
            return strongest(current, settings, environment)
        case "standard":
            return current
        case "lite":
            return small_model(current, settings, environment)
        case _:
            assert_never(name)


def small_model(model: Model, settings: ModelSettings, environment: Environment) -> Model:
    """The model for small tasks beside `model`: `small_model` of the configuration, its group
    `lite`, the provider's small one; `model` itself where no smaller one is known.
    """
    if settings.small_model and not is_derived(settings.small_model, settings):
        return resolve(settings.small_model, settings, environment)
    if "lite" in settings.model_groups:
        return resolve(settings.member("lite", model.provider), settings, environment)
    known = KNOWN.get(model.provider)
    if known is None or not known.small_model or model.base_url != known.base_url:
        return model
    try:
        return resolve(f"{known.id}/{known.small_model}", settings, environment)
    except ConfigError:
        return model


def strongest(model: Model, settings: ModelSettings, environment: Environment) -> Model:
    """The strongest model that can be called where `model` is: the best that Roost knows of the
    provider, else the dearest that the user has set up. Never a cheaper one than `model`.
    """
    known = KNOWN.get(model.provider)
    here = [
        one
        for one in usable_models(settings, environment, only=model.provider)
        if one.base_url == model.base_url
        and one.calls_tools
        and one.price.output > model.price.output
    ]
    best = [one for one in here if known is not None and one.id == known.strong_model]
    return max(best or here, key=lambda one: one.price.output, default=model)


def _by_bare_name(
    name: str, current: Model, settings: ModelSettings, environment: Environment
) -> list[Model]:
    """The models of that name, whoever offers them."""
    usable = [current, *usable_models(settings, environment)]
    low = name.lower()
    named = [one for one in usable if low in {one.id.lower(), one.alias.lower()}]
    named = named or catalogued(normal(name), name, settings, environment)
    own = [one for one in named if one.provider == current.provider]
    return list({one.ref: one for one in own or named}.values())


def _only(name: str, found: list[Model]) -> Model | None:
    if len(found) > 1:
        refs = ", ".join(model.ref for model in found[:_NAMED])
        raise UsageError(
            f"several providers offer the model {echo(name)!r}", hint=f"Say which: {refs}."
        )
    return found[0] if found else None


def _refuse(name: str, current: Model, settings: ModelSettings, environment: Environment) -> Model:
    """Raise the error for a name that means nothing."""
    groups = group_names(settings)
    usable = [current, *usable_models(settings, environment)]
    refs = list(dict.fromkeys(model.ref for model in usable))
    meant = {ref.rpartition("/")[2].lower(): ref for ref in refs} | {one: one for one in groups}
    near = [meant[one] for one in near_names(name, meant)]
    guess = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        f"there is no model or group {echo(name)!r}",
        hint=f"{guess}Groups: {', '.join(groups)}. Models: {', '.join(refs[:_NAMED])}.",
    )


class ListedChoice(Struct, frozen=True, omit_defaults=True):
    """A model, as whoever may choose one sees it."""

    ref: str
    """`provider/model`."""
    context: int
    """Window in tokens."""
    input_price: float
    """US dollars for a million tokens; 0 also where it is not known."""
    output_price: float
    vision: bool
    groups: tuple[str, ...] = ()
    """Groups that mean it."""
    current: bool = False
    """The one who asks runs on it."""


def list_models(
    current: Model,
    settings: ModelSettings,
    environment: Environment,
    *,
    vision: bool | None = None,
    limit: int = LIST_LIMIT,
) -> list[ListedChoice]:
    """The models that an actor on `current` may give to others, the most useful first: those that
    groups mean, then those of the same provider, the strongest of each first.

    With `vision` only those that see images, or only those that do not. Models that call no tools
    are left out.
    """
    meant = _meant(current, settings, environment)
    usable = [current, *meant.values(), *usable_models(settings, environment)]
    models = {one.ref: one for one in usable if one.calls_tools}.values()
    chosen = [one for one in models if vision is None or one.reads_images == vision]
    refs = list(dict.fromkeys(model.ref for model in meant.values()))

    def rank(model: Model) -> tuple[int, bool, float]:
        place = refs.index(model.ref) if model.ref in refs else len(refs)
        return place, model.provider != current.provider, -model.price.output

    return [_listed(one, meant, current) for one in sorted(chosen, key=rank)[:limit]]


def _meant(current: Model, settings: ModelSettings, environment: Environment) -> dict[str, Model]:
    """The model of each group; a group whose model cannot be called is left out."""
    found: dict[str, Model] = {}
    for name in group_names(settings):
        try:
            found[name] = resolve_model_name(name, current, settings, environment)
        except RoostError:
            continue  # whoever names that group is told why
    return found


def _listed(model: Model, meant: Mapping[str, Model], current: Model) -> ListedChoice:
    return ListedChoice(
        ref=model.ref,
        context=model.context,
        input_price=model.price.input,
        output_price=model.price.output,
        vision=model.reads_images,
        groups=tuple(name for name, one in meant.items() if one.ref == model.ref),
        current=model.ref == current.ref,
    )

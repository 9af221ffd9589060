"""The providers and models that can be chosen, in the shape of OpenCode's catalogue.

Only what is set up is listed with its models, in configuration or by a key in the environment: the
whole catalogue would be megabytes that every client loads at its start.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from roost.config.models import Config
from roost.core.errors import RoostError
from roost.llm.known_providers import KNOWN, KnownProvider
from roost.llm.models import Model
from roost.llm.resolve import ModelSettings, resolve
from roost.llm.usable import names_of
from roost.server.wire import (
    Api,
    CacheCost,
    Capabilities,
    Cost,
    Limits,
    Media,
    ModelView,
    ProviderView,
)

_PACKAGES: Final = {
    "openai-chat": "@ai-sdk/openai-compatible",
    "openai-responses": "@ai-sdk/openai",
    "anthropic": "@ai-sdk/anthropic",
}


class ListedProviders:
    """The providers of one configuration and environment."""

    def __init__(self, config: Config, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._settings = ModelSettings.of(config)

    def all(self) -> list[ProviderView]:
        """Those that can be called now, configured ones first."""
        keyed = [one.id for one in KNOWN.values() if self._has_key(one)]
        names = dict.fromkeys((*self._settings.provider, *keyed, *self._named()))
        views = [self._view(name) for name in names if self._settings.allows(name)]
        return [view for view in views if view.models]

    def others(self, known: Iterable[str]) -> list[ProviderView]:
        """The providers that Roost would know what to do with if it had a key, without models."""
        left_out = set(known)
        return [
            ProviderView(id=one.id, name=one.name, source="custom", env=list(one.env), models={})
            for one in KNOWN.values()
            if one.env and one.id not in left_out and self._settings.allows(one.id)
        ]

    def _named(self) -> list[str]:
        """The providers of the models that the configuration chooses."""
        refs = (self._settings.model, self._settings.small_model)
        return [ref.partition("/")[0] for ref in refs if ref]

    def defaults(self, views: Iterable[ProviderView]) -> dict[str, str]:
        """The model to begin with, by provider."""
        chosen = (self._settings.model or "").partition("/")
        starts = {view.id: next(iter(view.models)) for view in views}
        if chosen[0] in starts and chosen[2]:
            starts[chosen[0]] = chosen[2]
        return starts

    def _has_key(self, known: KnownProvider) -> bool:
        return any(self._environment.get(name, "").strip() for name in known.env)

    def _view(self, name: str) -> ProviderView:
        config = self._settings.provider.get(name)
        known = KNOWN.get(name)
        models = [
            model for ref in names_of(name, self._settings) if (model := self._model(name, ref))
        ]
        title = (config.name if config else None) or (known.name if known else name)
        source: Literal["env", "config"] = "config" if config else "env"
        return ProviderView(
            id=name,
            name=title,
            source=source,
            env=[*(config.env if config else ()), *(known.env if known else ())],
            models={view.id: view for view in map(_model_view, models)},
        )

    def _model(self, provider: str, model_id: str) -> Model | None:
        try:
            return resolve(f"{provider}/{model_id}", self._settings, self._environment)
        except RoostError:  # no key, no address or not allowed: it cannot be chosen
            return None


def _model_view(model: Model) -> ModelView:
    attachment = model.reads_images or model.reads_pdf
    price = model.price
    cache = CacheCost(price.cache_read or 0.0, price.cache_write or 0.0)
    name = model.alias or model.id
    return ModelView(
        id=name,
        provider_id=model.provider,
        name=model.name or name,
        api=Api(model.id, model.base_url, _PACKAGES.get(model.dialect, "")),
        capabilities=Capabilities(
            temperature=True,
            reasoning=model.reasons,
            attachment=attachment,
            toolcall=model.calls_tools,
            input=Media(image=model.reads_images, pdf=model.reads_pdf),
            output=Media(),
        ),
        cost=Cost(price.input, price.output, cache),
        limit=Limits(model.context, model.output, model.input_limit),
        # What a variant puts into requests is nobody's business; its name is what one chooses.
        variants={variant: {} for variant in model.variants},
    )

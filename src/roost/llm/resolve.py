"""From a model's name, `provider/model`, to everything needed to call it."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from roost.config.jsonc import KeyPath
from roost.config.loaded import Loaded
from roost.config.models import Config, ModelGroup
from roost.config.providers import ModelConfig, ProviderConfig, ProviderOptions
from roost.config.show import is_secret
from roost.core.errors import ConfigError, NotFoundError
from roost.core.text import echo
from roost.llm import local
from roost.llm.addresses import address_of, is_http, is_loopback
from roost.llm.catalog import Entry, look_up
from roost.llm.gguf import INSTALL, MISSING, find_model, runtime_is_installed
from roost.llm.known_providers import AT_HOME, KNOWN, KnownProvider
from roost.llm.models import Dialect, Model, Price
from roost.llm.names import bad_ref, unknown_provider
from roost.llm.packages import PYDANTIC_AI, body_fields, dialect_of, package_name
from roost.llm.written import Written

LONGEST_WAIT: Final = 3_600.0
"""Seconds; what `timeout: false` means, since nothing is ever waited for without end."""


class ModelSettings(Struct, frozen=True):
    """The part of a configuration that says which models there are and which is used."""

    model: str | None = None
    small_model: str | None = None
    provider: dict[str, ProviderConfig] = {}
    enabled_providers: tuple[str, ...] | None = None
    """Only these are used; None: all."""
    disabled_providers: tuple[str, ...] = ()
    model_groups: dict[str, str | ModelGroup] = {}
    """Models by use."""
    written: Written = Written()
    """Where these settings stand."""

    @classmethod
    def in_force(cls, loaded: Loaded) -> "ModelSettings":
        """That part of a configuration that was loaded, with where it stands."""
        return replace(cls.of(loaded.config), written=Written(loaded.origins, loaded.references))

    @classmethod
    def of(cls, config: Config) -> "ModelSettings":
        """That part of `config`."""
        return cls(
            config.model,
            config.small_model,
            config.provider,
            config.enabled_providers,
            config.disabled_providers,
            config.model_groups,
        )

    def allows(self, provider: str) -> bool:
        """Whether `provider` may be used."""
        if provider in self.disabled_providers:
            return False
        return self.enabled_providers is None or provider in self.enabled_providers

    def member(self, group: str, provider: str) -> str:
        """What a group of the configuration means: its model of `provider`, else its default."""
        match self.model_groups[group]:
            case str() as ref:
                return ref
            case ModelGroup(default=default, models=models):
                own = (ref for ref in (default, *models) if ref.startswith(f"{provider}/"))
                return next(own, default)

    @property
    def grouped(self) -> tuple[str, ...]:
        """Every model that stands in a group."""
        groups = self.model_groups.values()
        return tuple(
            ref
            for group in groups
            for ref in ([group] if isinstance(group, str) else [group.default, *group.models])
        )


def resolve(ref: str, settings: ModelSettings, environment: Mapping[str, str]) -> Model:
    """The model that `ref` names; a group of the configuration means its default. A model unknown
    to a known provider gets careful defaults.

    Raises UsageError for a name that means nothing, ConfigError for a provider that is disabled,
    has no key or no address, and for a local model that cannot be run.
    """
    if ref in settings.model_groups:
        ref = settings.member(ref, "")
    provider, _, model_id = ref.partition("/")
    if not provider or not model_id:
        raise bad_ref(ref, settings)
    if not settings.allows(provider):
        raise ConfigError(
            f"the provider {provider} is disabled",
            hint="See enabled_providers and disabled_providers in your configuration.",
        )
    config = settings.provider.get(provider)
    if provider == local.PROVIDER:
        return _local(model_id, config, environment)
    known = KNOWN.get(provider)
    if known is None and config is None:
        raise unknown_provider(provider, settings)
    source = Source(provider, known, config or ProviderConfig(), environment, settings.written)
    return source.model(model_id)


class Source:
    """A provider as it is set up: what Roost knows, laid under what the configuration says."""

    def __init__(
        self,
        provider: str,
        known: KnownProvider | None,
        config: ProviderConfig,
        environment: Mapping[str, str],
        written: Written,
    ) -> None:
        self._provider = provider
        self._known = known
        self._config = config
        self._settings: ProviderOptions = config.settings
        self._environment = environment
        self._written = written

    def model(self, model_id: str) -> Model:
        """The model called `model_id` in the configuration or by the API."""
        self._check_listed(model_id)
        config = self._config.models.get(model_id) or ModelConfig()
        (base_url, place), dialect = self._base_url(), self._dialect()
        _check_address(base_url, place, self._provider)
        key, key_place = self._key(base_url)
        api_id = config.id or model_id
        at_home = self._provider in AT_HOME or is_loopback(base_url)
        catalog = self._known.catalog if self._known and self._known.catalog else self._provider
        entry = _overridden(look_up(catalog, api_id, at_home=at_home), config)
        model = Model(
            provider=self._provider,
            id=api_id,
            alias=model_id if model_id != api_id else "",
            dialect=dialect,
            base_url=base_url,
            base_url_place=place,
            api_key=key,
            key_place=key_place,
            headers=self._settings.headers | config.headers,
            options=body_fields(config.options, dialect),
            name=config.name or model_id,
            context=entry.context,
            input_limit=entry.input_limit,
            output=entry.output,
            price=entry.price,
            price_known=entry.price_known or self._provider in AT_HOME,
            reads_images=entry.images,
            reads_pdf=entry.pdf,
            calls_tools=config.tool_call is not False,
            reasons=entry.reasons,
            env=self._env(),
            variants={name: body_fields(v, dialect) for name, v in config.variants.items()},
        )
        return self._with_waits(self._for_pydantic(model))

    def _check_listed(self, model_id: str) -> None:
        listed = self._config.whitelist
        if model_id in self._config.blacklist or (listed is not None and model_id not in listed):
            raise ConfigError(
                f"the model {self._provider}/{model_id} is not allowed",
                hint=f"See whitelist and blacklist of provider.{self._provider}.",
            )

    def _env(self) -> tuple[str, ...]:
        return self._config.env + (self._known.env if self._known else ())

    def _path(self, *keys: str) -> KeyPath:
        return ("provider", self._provider, *keys)

    def _check_variable(self, what: str, *keys: str) -> None:
        """Raise `ConfigError` when the setting refers to a variable that holds nothing."""
        path = self._path(*keys)
        if variable := self._written.unset(path, self._environment):
            raise ConfigError(
                f"{what} of {self._provider} is missing: the variable {variable} is not set",
                hint=f"It is asked for by {self._written.place(path)}.\n"
                f"Set it: export {variable}=...",
            )

    def _key(self, base_url: str) -> tuple[str, str]:
        """The key, and where it comes from; both empty where none is needed."""
        for name in self._settings.headers:
            if is_secret((name,)):
                self._check_variable(f"the header {name}", "options", "headers", name)
        if self._settings.api_key:
            return self._settings.api_key, self._written.place(self._path("options", "apiKey"))
        for variable in self._env():
            if value := self._environment.get(variable, "").strip():
                return value, f"the variable {variable}"
        self._check_variable("the key", "options", "apiKey")
        if self._known and self._known.env and base_url == self._known.base_url:
            raise ConfigError(
                f"{self._known.name} needs a key",
                hint=f"Set {' or '.join(self._env())},"
                f" or provider.{self._provider}.options.apiKey in your configuration.",
            )
        return "", ""

    def _dialect(self) -> Dialect:
        if self._config.npm:
            return dialect_of(self._config.npm)
        if self._known is None:
            return "openai-chat"
        moved = self._known.base_url != self._base_url()[0]
        # Servers that stand in for OpenAI's speak its older API, seldom the newer.
        return "openai-chat" if moved and self._known.id == "openai" else self._known.dialect

    def _base_url(self) -> tuple[str, str]:
        """The address, and where it is configured; empty: it is built in."""
        for value, keys in (
            (self._settings.base_url, ("options", "baseURL")),
            (self._config.api, ("api",)),
        ):
            if value is not None:
                self._check_variable("the address", *keys)
            if value:
                return value.rstrip("/"), self._written.place(self._path(*keys))
        variable = self._known.base_url_env if self._known else ""
        if found := self._from_environment(variable):
            return found.rstrip("/"), f"the variable {variable}"
        if self._known is not None:
            return self._known.base_url, ""
        match dialect_of(self._config.npm) if self._config.npm else None:
            case "openai-responses":
                return KNOWN["openai"].base_url, ""
            case "anthropic":
                return KNOWN["anthropic"].base_url, ""
            case "pydantic-ai":
                return "", ""
            case _:
                raise ConfigError(
                    f"the provider {self._provider} has no address",
                    hint=f"Set provider.{self._provider}.options.baseURL in your configuration.",
                )

    def _from_environment(self, variable: str) -> str:
        value = self._environment.get(variable, "").strip() if variable else ""
        return address_of(value, default_port=11434 if variable == "OLLAMA_HOST" else None)

    def _with_waits(self, model: Model) -> Model:
        first, idle = self._settings.timeout, self._settings.chunk_timeout
        if first is not None and first is not True:
            wait = min(LONGEST_WAIT, first / 1000) if first else LONGEST_WAIT
            model = replace(model, first_byte_timeout=wait)
        return replace(model, idle_timeout=min(LONGEST_WAIT, idle / 1000)) if idle else model

    def _for_pydantic(self, model: Model) -> Model:
        if model.dialect != "pydantic-ai":
            return model
        package = package_name(self._config.npm or "")
        if package not in PYDANTIC_AI:
            known = ", ".join(sorted(PYDANTIC_AI))
            raise ConfigError(
                f"provider.{self._provider}.npm: {package} is not known",
                hint=f"Use @ai-sdk/openai-compatible, @ai-sdk/openai, @ai-sdk/anthropic, {known}.",
            )
        options: dict[str, Any] = {**self._config.options, "provider": PYDANTIC_AI[package]}
        return replace(model, options={"pydantic_ai": options, **model.options})


def _overridden(entry: Entry, config: ModelConfig) -> Entry:
    limit, cost, sees = config.limit, config.cost, config.modalities
    if limit is not None:
        context = limit.context or entry.context
        entry = replace(
            entry,
            context=context,
            output=min(limit.output or entry.output, context),
            input_limit=limit.input or (None if limit.context else entry.input_limit),
        )
    if cost is not None:
        price = Price(cost.input, cost.output, cost.cache_read, cost.cache_write)
        entry = replace(entry, price=price, price_known=True)
    if sees is not None:
        entry = replace(entry, images="image" in sees.input, pdf="pdf" in sees.input)
    elif config.attachment is not None:
        entry = replace(entry, images=config.attachment, pdf=config.attachment and entry.pdf)
    return entry if config.reasoning is None else replace(entry, reasons=config.reasoning)


def _check_address(base_url: str, place: str, provider: str) -> None:
    if base_url and not is_http(base_url):
        shown = base_url.rpartition("@")[2]
        raise ConfigError(
            f"the address of {provider} must be like http://host:port/v1, not {shown!r}",
            hint=f"It is set by {place}." if place else "",
        )


def _local(name: str, config: ProviderConfig | None, environment: Mapping[str, str]) -> Model:
    if not runtime_is_installed():
        raise ConfigError(f"local/{echo(name)} cannot be run: {MISSING}", hint=INSTALL)
    try:
        find_model(name, environment)
    except NotFoundError as error:
        raise ConfigError(error.message, hint=error.hint) from error
    model = local.local_model(name)
    own = config.models.get(name) if config else None
    if own is None or own.limit is None:
        return model
    return replace(
        model,
        context=own.limit.context or model.context,
        output=own.limit.output or model.output,
    )

"""The `provider` section of a configuration, with the key names of OpenCode.

`provider.<id>.{npm, api, name, env, options, models}`. Numbers are tokens, US dollars for a million
tokens, and milliseconds, as users of OpenCode write them.
"""

from typing import Any

import msgspec
from msgspec import Struct


class ModelLimit(Struct, frozen=True):
    """Token limits; what is absent comes from the catalogue."""

    context: int | None = None
    input: int | None = None
    output: int | None = None


class ModelCost(Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    cache_write: float | None = None


class ModelModalities(Struct, frozen=True):
    """What a model takes and gives: `text`, `image`, `pdf`, `audio`, `video`."""

    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()


class ModelConfig(Struct, frozen=True):
    """One model of a provider; every field overrides the catalogue."""

    id: str | None = None
    """The name the API knows, where it differs from the key."""
    name: str | None = None
    limit: ModelLimit | None = None
    cost: ModelCost | None = None
    modalities: ModelModalities | None = None
    attachment: bool | None = None
    """Whether it takes files at all."""
    reasoning: bool | None = None
    tool_call: bool | None = None
    options: dict[str, Any] = {}
    """Extra fields of every request body."""
    headers: dict[str, str] = {}
    variants: dict[str, dict[str, Any]] = {}
    """Extra fields of the request body, by the name of a variant (reasoning effort)."""


class ProviderOptions(
    Struct,
    frozen=True,
    rename={"base_url": "baseURL", "api_key": "apiKey", "chunk_timeout": "chunkTimeout"},
):
    """The part of `options` that Roost itself reads; other keys belong to the provider."""

    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = {}
    timeout: float | bool | None = None
    """Milliseconds until the first byte of an answer; false: as long as Roost ever waits."""
    chunk_timeout: float | None = None
    """Milliseconds between two pieces of an answer."""


class ProviderConfig(Struct, frozen=True):
    """One entry of `provider`.

    Raises ValueError (msgspec: ValidationError) when an option has the wrong type.
    """

    npm: str | None = None
    """The package OpenCode would load; it says which wire dialect is spoken."""
    api: str | None = None
    """Base URL; `options.baseURL` wins over it."""
    name: str | None = None
    env: tuple[str, ...] = ()
    """Environment variables that may carry the key, the first that is set wins."""
    options: dict[str, Any] = {}
    models: dict[str, ModelConfig] = {}
    whitelist: tuple[str, ...] | None = None
    """Only these models are listed and chosen."""
    blacklist: tuple[str, ...] = ()
    """These models are neither listed nor chosen."""

    def __post_init__(self) -> None:
        try:
            msgspec.convert(self.options, ProviderOptions)
        except msgspec.ValidationError as error:
            raise ValueError(f"options: {error}") from error

    @property
    def settings(self) -> ProviderOptions:
        """`options` as far as Roost reads them."""
        return msgspec.convert(self.options, ProviderOptions)

"""Settings and keys that clients change."""

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from roost.config.show import masked
from roost.core.errors import UsageError
from roost.runtime import reconfigure
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.routes.projects import shown_config

Settings = dict[str, Any]


class Key(Struct, frozen=True, tag_field="type", tag="api"):
    """A key; `metadata` is not kept."""

    key: Annotated[str, Meta(min_length=1, max_length=10_000)]
    metadata: dict[str, str] = {}


class OAuth(Struct, frozen=True, tag_field="type", tag="oauth"):
    """What signing in with a browser gives."""


class WellKnown(Struct, frozen=True, tag_field="type", tag="wellknown"):
    """What signing in at a server of an organisation gives."""


class LocatedKey(Struct, frozen=True):
    """A key, as the second API takes it."""

    key: Annotated[str, Meta(min_length=1, max_length=10_000)]


async def get_user_settings(call: Call[NoQuery, None]) -> Settings:
    """The user's own configuration, secrets masked; no folder's."""
    return await _user_settings(call)


async def _user_settings(call: Call[Any, Any]) -> Settings:
    loaded = (await call.project()).loaded
    layers = tuple(one for one in loaded.layers if one.kind == "global")
    return masked(msgspec.structs.replace(loaded, layers=layers))


async def update_user_settings(call: Call[NoQuery, Settings]) -> Settings:
    """Merge settings into the user's own configuration file; null takes a key out."""
    await reconfigure.change_user_settings(call.service.runtime, call.body)
    return await _user_settings(call)


async def update_config(call: Call[NoQuery, Settings]) -> Settings:
    """Merge settings into the configuration file of a folder that is trusted."""
    runtime = call.service.runtime
    await reconfigure.change_folder_settings(runtime, Path(call.directory), call.body)
    return await shown_config(call)


async def set_key(call: Call[NoQuery, Key | OAuth | WellKnown]) -> bool:
    """Keep the key of a provider, where only the user can read it."""
    if not isinstance(call.body, Key):
        raise UsageError("Roost signs in with keys alone", hint="Send the type api and a key.")
    await reconfigure.give_key(call.service.runtime, call.path["providerID"], call.body.key)
    return True


async def remove_key(call: Call[NoQuery, None]) -> bool:
    """Drop the key that was given for a provider."""
    await reconfigure.take_key(call.service.runtime, call.path["providerID"])
    return True


async def connect_with_key(call: Call[NoQuery, LocatedKey]) -> None:
    """Keep the key of a provider, as the second API names it."""
    await reconfigure.give_key(call.service.runtime, call.path["integrationID"], call.body.key)


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/global/config", get_user_settings, scoped=False),
    endpoint("PATCH", "/global/config", update_user_settings, scoped=False),
    endpoint("PATCH", "/config", update_config),
    endpoint("PUT", "/auth/{providerID}", set_key, scoped=False),
    endpoint("DELETE", "/auth/{providerID}", remove_key, scoped=False),
    endpoint("POST", "/api/integration/{integrationID}/connect/key", connect_with_key),
)

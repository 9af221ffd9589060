"""Settings changed by a client, and keys it gives: stored, and read again by all folders in use."""

import asyncio
from pathlib import Path
from typing import Any

from roost.config.edit import change_settings, settings_file
from roost.config.keys import forget_key, store_key
from roost.config.trust import TrustStore
from roost.core.errors import DeniedError
from roost.runtime.runtime import Runtime


async def change_user_settings(runtime: Runtime, changes: dict[str, Any]) -> None:
    """Merge `changes` into the user's own settings. Raises as `change_settings` does."""
    await asyncio.to_thread(change_settings, settings_file(runtime.paths.config), changes)
    await _read_again(runtime)


async def change_folder_settings(
    runtime: Runtime, directory: Path, changes: dict[str, Any]
) -> None:
    """Merge `changes` into the settings of a folder; those of its repository stay trusted.

    Raises `DeniedError` if they are not: the change would make Roost trust what else is there.
    """
    project = (await runtime.projects.open(directory)).loaded.project
    if not project.trusted:
        raise DeniedError(
            f"the configuration of {project.root} is not trusted",
            hint="Read it, then trust it with `roost config trust`.",
        )
    await asyncio.to_thread(change_settings, settings_file(directory), changes)
    await _read_again(runtime)
    now = (await runtime.projects.open(directory)).loaded.project
    trust = TrustStore(runtime.paths.trust_file)
    await asyncio.to_thread(trust.trust, now.root, now.digest)
    await _read_again(runtime)


async def give_key(runtime: Runtime, provider: str, key: str) -> None:
    """Keep the key of a provider. Raises `UsageError`, `ConfigError`."""
    await asyncio.to_thread(store_key, runtime.paths.config, provider, key)
    await _read_again(runtime)


async def take_key(runtime: Runtime, provider: str) -> bool:
    """Drop the key that a client gave for a provider; false if none was kept."""
    taken = await asyncio.to_thread(forget_key, runtime.paths.config, provider)
    await _read_again(runtime)
    return taken


async def _read_again(runtime: Runtime) -> None:
    for directory in runtime.projects.known:
        await runtime.forget_project(directory)

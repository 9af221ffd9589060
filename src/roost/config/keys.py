"""The keys that clients were given for providers: a settings file that only its user can read.

It is the lowest of all layers: what the user wrote elsewhere wins.
"""

import re
from pathlib import Path
from typing import Any, Final, cast

from roost.config.edit import Settings, rewrite
from roost.config.sources import KEYS_FILE
from roost.config.substitute import has_reference
from roost.core.errors import UsageError

_PROVIDER: Final = re.compile(r"[\w.@-]{1,100}")


def store_key(folder: Path, provider: str, key: str) -> None:
    """Keep the key of `provider` in the user's `folder` of settings. Raises `UsageError`."""
    if _PROVIDER.fullmatch(provider) is None:
        raise UsageError(f"{provider!r} is no name of a provider")
    if not key.strip() or has_reference(key):
        raise UsageError("this is no key", hint="Give the key itself.")

    def change(old: Settings) -> Settings:
        providers = _providers(old)
        return {"provider": {**providers, provider: {"options": {"apiKey": key.strip()}}}}

    rewrite(folder / KEYS_FILE, change)


def forget_key(folder: Path, provider: str) -> bool:
    """Drop the key of `provider`; false if none was kept."""
    if not (folder / KEYS_FILE).exists():
        return False
    known = False

    def change(old: Settings) -> Settings:
        nonlocal known
        providers = _providers(old)
        known = providers.pop(provider, None) is not None
        return {"provider": providers}

    rewrite(folder / KEYS_FILE, change)
    return known


def _providers(old: Settings) -> dict[str, Any]:
    return dict(cast("dict[str, Any]", old.get("provider", {})))

"""The configuration as people may see it: every setting with its source, secrets masked."""

import re
from typing import Any, Final, cast

from msgspec import Struct

from roost.config.jsonc import KeyPath, show_key, value_at
from roost.config.loaded import Loaded
from roost.config.merge import Merge

MASK: Final = "••••"
_SECRET: Final = re.compile(
    r"api[-_]?key|token|secret|passw|authorization|credential|private[-_]?key|cookie", re.IGNORECASE
)
_SECRET_MAPS: Final = {"headers", "environment", "env"}
"""Maps whose values are secrets more often than not, whatever their keys are called."""
_HARMLESS: Final = re.compile(r"tokens$|^max_?tokens|^setCacheKey$", re.IGNORECASE)


class Setting(Struct, frozen=True):
    """One setting in force."""

    key: str
    value: Any
    """Masked where it may be a secret; `{env:}` and `{file:}` stand as they are written."""
    source: str


def settings(loaded: Loaded) -> list[Setting]:
    """Every setting in force, in the order of its key."""
    merged = _merged(loaded)
    found = [
        Setting(show_key(path), _shown(value_at(merged, path), path, loaded.references), source)
        for path, source in loaded.origins.items()
    ]
    return sorted(found, key=lambda one: one.key)


def masked(loaded: Loaded) -> dict[str, Any]:
    """The merged configuration as JSON data without secrets."""
    return _shown(_merged(loaded), (), loaded.references)


def _merged(loaded: Loaded) -> dict[str, Any]:
    merge = Merge()
    for layer in loaded.layers:
        merge.add(layer)
    return merge.value


def _shown(value: Any, path: KeyPath, references: dict[KeyPath, str]) -> Any:
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: _shown(inner, (*path, key), references) for key, inner in entries.items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_shown(inner, (*path, index), references) for index, inner in enumerate(items)]
    if path in references:
        return references[path]
    return MASK if isinstance(value, str) and value and is_secret(path) else value


def is_secret(path: KeyPath) -> bool:
    """Whether the setting at `path` is one that nobody else should see."""
    names = [piece for piece in path if isinstance(piece, str)]
    if any(name in _SECRET_MAPS for name in names[:-1]):
        return True
    return any(_SECRET.search(name) and not _HARMLESS.search(name) for name in names)

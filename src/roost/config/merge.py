"""Puts configuration layers on top of each other and remembers which one gave each setting."""

import copy
from typing import Any, Final, cast

from roost.config.jsonc import KeyPath
from roost.config.loaded import ConfigLayer

_JOINED: Final = {("instructions",), ("plugin",)}
"""Lists at the top that add up over the layers; every other list replaces the one before it."""
_WHOLE: Final = "hook"
"""Its entries replace one another whole: the program of one layer gets no variables of another."""


class Merge:
    """Objects merge key by key, everything else replaces; later layers win."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self.origins: dict[KeyPath, str] = {}
        self.references: dict[KeyPath, str] = {}

    def add(self, layer: ConfigLayer) -> None:
        """Put `layer` on top."""
        self._add(self.value, layer.value, (), layer)

    def _add(
        self, into: dict[str, Any], new: dict[str, Any], path: KeyPath, layer: ConfigLayer
    ) -> None:
        for key, value in new.items():
            old: object = into.get(key)
            at = (*path, key)
            if isinstance(old, dict) and isinstance(value, dict) and path != (_WHOLE,):
                self.origins.pop(at, None)
                self._add(cast("dict[str, Any]", old), cast("dict[str, Any]", value), at, layer)
            elif at in _JOINED and isinstance(old, list) and isinstance(value, list):
                self._join(cast("list[Any]", old), cast("list[Any]", value), at, layer)
            else:
                self._set(into, key, value, at, layer)

    def _join(self, old: list[Any], new: list[Any], at: KeyPath, layer: ConfigLayer) -> None:
        for item in new:
            if item not in old:
                old.append(item)
                self.origins[(*at, len(old) - 1)] = layer.source

    def _set(
        self, into: dict[str, Any], key: str, value: Any, at: KeyPath, layer: ConfigLayer
    ) -> None:
        for table in (self.origins, self.references):
            for stale in [path for path in table if path[: len(at)] == at]:
                del table[stale]
        into[key] = copy.deepcopy(value)
        self._note(value, at, layer)

    def _note(self, value: Any, at: KeyPath, layer: ConfigLayer) -> None:
        if isinstance(value, dict) and value:
            for key, inner in cast("dict[str, Any]", value).items():
                self._note(inner, (*at, key), layer)
        elif isinstance(value, list) and at in _JOINED:
            for index in range(len(cast("list[Any]", value))):
                self.origins[(*at, index)] = layer.source
        else:
            self.origins[at] = layer.source
            for path, written in layer.references.items():
                if path[: len(at)] == at:
                    self.references[path] = written

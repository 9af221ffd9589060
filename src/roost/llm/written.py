"""Where the settings of providers are written, for errors that send the user there."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from roost.config.jsonc import KeyPath, show_key

_VARIABLE: Final = re.compile(r"\{env:([^{}]+)\}")


class Written(Struct, frozen=True):
    """The sources of the settings in force, as `Loaded` tells them; empty where nobody knows."""

    origins: Mapping[KeyPath, str] = {}
    references: Mapping[KeyPath, str] = {}

    def place(self, path: KeyPath) -> str:
        """The key, what it refers to, and the file that sets it where that is known."""
        origin, reference = self.origins.get(path), self.references.get(path)
        shown = f"{show_key(path)} = {reference}" if reference else show_key(path)
        return f"{shown} in {origin}" if origin else shown

    def unset(self, path: KeyPath, environment: Mapping[str, str]) -> str | None:
        """The first variable that the setting refers to and that holds nothing."""
        names = [name.strip() for name in _VARIABLE.findall(self.references.get(path, ""))]
        return next((name for name in names if not environment.get(name, "").strip()), None)

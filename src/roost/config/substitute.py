"""`{env:NAME}` and `{file:path}` inside the texts of a configuration."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from roost.config.jsonc import KeyPath, show_key
from roost.core.errors import ConfigError

_REFERENCE: Final = re.compile(r"\{(env|file):([^{}]+)\}")
_MAX_BYTES: Final = 1_000_000


def has_reference(value: object) -> bool:
    """Whether any text in `value` refers to the environment or to a file."""
    if isinstance(value, str):
        return _REFERENCE.search(value) is not None
    if isinstance(value, dict):
        return any(map(has_reference, cast("dict[str, object]", value).values()))
    return isinstance(value, list) and any(map(has_reference, cast("list[object]", value)))


class Substitution:
    """Fills in the references of one file, and keeps which keys it filled and what was missing."""

    def __init__(self, name: str, base: Path, environ: Mapping[str, str], home: Path) -> None:
        self.name = name
        self.base = base
        """Where relative paths of `{file:}` start."""
        self.environ = environ
        self.home = home
        self.filled: set[KeyPath] = set()
        """Keys whose text came from elsewhere: treated as secrets when shown."""
        self.warnings: list[str] = []

    def fill(self, value: Any, path: KeyPath = ()) -> Any:
        """`value` with every reference replaced; an unset variable gives nothing and a warning.

        Raises ConfigError for a file that cannot be read.
        """
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            return {key: self.fill(inner, (*path, key)) for key, inner in entries.items()}
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [self.fill(inner, (*path, index)) for index, inner in enumerate(items)]
        return value

    def _text(self, text: str, path: KeyPath) -> str:
        if "{" not in text or not _REFERENCE.search(text):
            return text
        self.filled.add(path)
        return _REFERENCE.sub(lambda found: self._resolve(found[1], found[2], path), text)

    def _resolve(self, kind: str, target: str, path: KeyPath) -> str:
        if kind == "file":
            return self._file(target.strip(), path)
        found = self.environ.get(target.strip())
        if found is None:
            self.warnings.append(
                f"{self.name}: {show_key(path)}: the variable {target.strip()} is not set, so"
                f" this is empty (export {target.strip()}=...)"
            )
        return found or ""

    def _file(self, target: str, path: KeyPath) -> str:
        file = self.home / target[2:] if target.startswith("~/") else self.base / target
        try:
            if not file.is_file():
                raise OSError("there is no such file")
            if file.stat().st_size > _MAX_BYTES:
                raise OSError(f"it is larger than {_MAX_BYTES:,} bytes")
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ConfigError(
                f"{self.name}: {show_key(path)}: cannot read {file}: {reason}",
                hint="Paths of {file:…} start at the folder of the configuration file.",
            ) from error

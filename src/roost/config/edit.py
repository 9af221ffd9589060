"""Changes of a settings file by a program: merged, checked as a whole, put in place at once.

Several processes may do it at the same time; each holds a lock while it reads and writes.
"""

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final, cast

from roost.config.jsonc import Document, parse
from roost.config.show import MASK
from roost.config.sources import PROJECT_FILES, read_file
from roost.config.validate import validate
from roost.core.errors import ConfigError, ConflictError

Settings = dict[str, Any]
_PRIVATE: Final = 0o600


def settings_file(folder: Path) -> Path:
    """The file in `folder` that holds its settings, or is to hold them."""
    found = (folder / name for name in PROJECT_FILES)
    return next((path for path in found if path.exists()), folder / PROJECT_FILES[0])


def change_settings(path: Path, changes: Settings) -> None:
    """Merge `changes` into the settings in `path`; null takes a key out, a mask changes nothing.

    Raises `ConfigError` if the outcome is no configuration, and `ConflictError` for a file with
    comments, which would be lost.
    """
    rewrite(path, lambda old: merged(old, changes))


def rewrite(path: Path, change: Callable[[Settings], Settings]) -> None:
    """Put what `change` makes of the settings in `path` in their place. Raises as
    `change_settings` does.
    """
    with _locked(path):
        value = change(_read(path))
        foreign = path.name.startswith("opencode.")
        validate(Document(value, {}), str(path), lenient=foreign)
        _replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def merged(old: Settings, changes: Settings) -> Settings:
    """`old` with `changes` laid over it, object by object."""
    value = dict(old)
    for key, new in changes.items():
        known = value.get(key)
        if new is None:
            value.pop(key, None)
        elif isinstance(new, dict):
            below = cast("Settings", known) if isinstance(known, dict) else {}
            value[key] = merged(below, cast("Settings", new))
        elif new != MASK:
            value[key] = new
    return value


def _read(path: Path) -> Settings:
    if not path.exists():
        return {}
    data = read_file(path)
    value = parse(data, str(path)).value
    try:
        json.loads(data or b"{}")
    except ValueError as error:
        raise ConflictError(
            f"{path} has comments, which would be lost", hint="Change it with an editor."
        ) from error
    return value


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _replace(path: Path, text: str) -> None:
    """Put `text` in place of the file, with its mode; a new file is private."""
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            Path(temporary).chmod(mode)
            Path(temporary).replace(path.resolve())
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error

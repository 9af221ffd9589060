"""Instruction files: `AGENTS.md`, else `CLAUDE.md`, from the project upwards, the user's own, and
those that the config names.
"""

from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.workspace.textfile import readable_text

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
FILE_LIMIT: Final = 64 * 1024
"""Bytes read of one file; the rest is left out with a note."""


class Instruction(Struct, frozen=True):
    """The text of one file."""

    path: Path
    text: str


def find_instructions(
    directory: Path,
    root: Path,
    *,
    user_folder: Path,
    named: tuple[str, ...] = (),
    trusted: bool = False,
) -> tuple[Instruction, ...]:
    """The user's file first, then from the project's root down to `directory`, then `named` ones.

    Names may be globs relative to the root, absolute, or begin with `~`. What cannot be read is
    left out, and so is what a link of a repository that is not `trusted` fetches from outside.
    """
    folders = [folder for folder in (directory, *directory.parents) if folder.is_relative_to(root)]
    real = root.resolve()

    def may_be_read(path: Path) -> bool:
        return trusted or _stays(path.resolve(), real)

    paths = [path for path in [_first(user_folder)] if path is not None]
    pages = [_first(folder) for folder in reversed(folders or [directory])]
    paths += [path for path in pages if path is not None and may_be_read(path)]
    for name in named:
        # A repository that is not trusted can name nothing outside.
        own = Path(name).expanduser().is_absolute() or ".." in Path(name).parts
        paths += [path for path in _matches(name, root) if own or may_be_read(path)]
    unique = dict.fromkeys(path.resolve() for path in paths)
    return tuple(Instruction(path, text) for path in unique if (text := _read(path)) is not None)


def _first(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def _stays(real: Path, root: Path) -> bool:
    """Whether it lies in the repository, or is a file of instructions that people share by links.

    Anything else could be a key of the user, which a repository must not send to a model.
    """
    return real.is_relative_to(root) or real.name in NAMES


def _matches(name: str, root: Path) -> list[Path]:
    path = Path(name).expanduser()
    if path.is_absolute():
        return [path] if path.is_file() else []
    return sorted(match for match in root.glob(name) if match.is_file())


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except OSError:
        return None
    text = readable_text(data[:FILE_LIMIT]).strip()
    if len(data) > FILE_LIMIT:
        text += f"\n[cut after {FILE_LIMIT} bytes]"
    return text or None

"""Instruction files: `AGENTS.md`, else `CLAUDE.md`, from the project upwards, the user's own, and
those that the config names; and those of folders below, once a file in there is touched.
"""

from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.workspace.ignore import IgnoreFolder
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


class FolderRules(Struct, frozen=True):
    """The instruction files of a project's folders, which are told when work goes there."""

    root: Path
    """Without links."""
    known: frozenset[Path] = frozenset()
    """Those that every request begins with."""
    trusted: bool = False

    def above(self, touched: Path) -> list[Path]:
        """The files that hold for `touched`, the outermost first; all without links.

        What git passes over (installed packages, results of a build) says nothing of the project.
        """
        if not touched.is_relative_to(self.root):
            return []
        folders = takewhile(lambda folder: folder != self.root, touched.parents)
        pages = [page.resolve() for one in folders if (page := _first(one)) is not None]
        return [page for page in reversed(pages) if self._counts(page, touched)]

    def _counts(self, page: Path, touched: Path) -> bool:
        if page in self.known or page == touched:
            return False
        if page.is_relative_to(self.root):
            return not _is_ignored(page.parent, self.root)
        return self.trusted or _stays(page, self.root)


def read_instruction(path: Path, limit: int) -> Instruction | None:
    """A file of at most `limit` bytes, what is more left out with a note; None without a word."""
    text = _read(path, limit)
    return None if text is None else Instruction(path, text)


def _is_ignored(folder: Path, root: Path) -> bool:
    ignoring = IgnoreFolder.above(root, git_only=True)
    for one in reversed([folder, *takewhile(lambda above: above != root, folder.parents)]):
        if ignoring.ignores(str(one), directory=True):
            return True
        ignoring = ignoring.below(str(one), {".gitignore"})
    return False


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


def _read(path: Path, limit: int = FILE_LIMIT) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    text = readable_text(data[:limit]).strip()
    if len(data) > limit:
        text += f"\n[cut after {limit} bytes]"
    return text or None

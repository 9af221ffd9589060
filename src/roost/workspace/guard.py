"""Where a path that a model gave really leads, and whether Roost may go there."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from roost.core.errors import DeniedError, UsageError
from roost.core.text import cut


class Located(Struct, frozen=True):
    """A path as it was meant and as it is."""

    path: Path
    """Absolute and normalised as text; links are not followed. For showing."""
    real: Path
    """After all links, also those of the parents and of the last component. For opening."""
    inside: bool
    """`real` lies in the project or in a further allowed root."""
    via_link: bool
    """A link on the way leads elsewhere, so `real` should be shown beside `path`."""
    readable: bool = False
    """It may be read as if it were inside, and not changed."""

    @property
    def shown(self) -> str:
        """The path for an approval: the link and its target when they differ."""
        return f"{self.path} → {self.real}" if self.via_link else str(self.path)


class Guard:
    """Tells paths of one project from those outside of it.

    `root` is the project, `extra_roots` further directories that count as inside, `protected`
    directories that nobody may write in (Roost's own data) and `private` paths that nobody may
    read either (credentials). An extra root below a protected directory is exempt. `readable` are
    directories outside that may be read like the project.
    """

    def __init__(
        self,
        root: Path,
        extra_roots: Iterable[Path] = (),
        *,
        protected: Iterable[Path] = (),
        private: Iterable[Path] = (),
        readable: Iterable[Path] = (),
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._roots = (self.root, *(Path(os.path.realpath(p)) for p in extra_roots))
        self._protected = tuple(Path(os.path.realpath(p)) for p in protected)
        self._private = tuple(Path(os.path.realpath(p)) for p in private)
        self._readable = tuple(Path(os.path.realpath(p)) for p in readable)

    def with_root(self, extra: Path) -> "Guard":
        """The same guard, for which `extra` counts as inside too."""
        roots = (*self._roots[1:], extra)
        return Guard(
            self.root,
            roots,
            protected=self._protected,
            private=self._private,
            readable=self._readable,
        )

    def locate(self, given: str, cwd: Path | None = None) -> Located:
        """Resolve `given`, relative to `cwd` (by default the project) or with a leading `~`.

        Nothing needs to exist. Raises `UsageError` for what cannot be a path.
        """
        base = cwd or self.root
        joined = base / _home_expanded(_checked(given))
        path = Path(os.path.normpath(joined))
        try:
            real = _real(joined)
            via_link = real != _without_links(path, base)
            if not real.exists():
                real = _other_normal_form(real)
        except OSError as error:
            raise UsageError(f"{cut(given, 80)!r} cannot be a path: {error.strerror}") from error
        inside = self.contains(real)
        readable = not inside and any(_holds(one, real) for one in self._readable)
        return Located(path, real, inside, via_link, readable)

    def contains(self, real: Path) -> bool:
        """Whether `real`, a path without links, lies in the project or an extra root."""
        return any(_holds(root, real) for root in self._roots)

    def refusal(self, located: Located, *, write: bool) -> str | None:
        """Why nobody may touch this path, whatever the rules of the user say; None if they may."""
        real = located.real
        if _depth(self._private, real) > 0:
            return f"{located.shown} holds secrets of Roost"
        if not write:
            return None
        if any(part.casefold() == ".git" for part in real.parts):
            return f"{located.shown} belongs to git's own files"
        if _depth(self._protected, real) > _depth(self._roots[1:], real):
            return f"{located.shown} belongs to Roost's own data"
        return None

    def holds_own(self, real: Path) -> bool:
        """Whether Roost's own data lies there or below."""
        return any(own.is_relative_to(real) for own in (*self._protected, *self._private))

    def require(self, located: Located, *, write: bool) -> None:
        """Raise `DeniedError` where `refusal` has a reason."""
        if reason := self.refusal(located, write=write):
            raise DeniedError(reason, hint="Use git's or Roost's own commands for it.")


def _checked(given: str) -> str:
    if not given.strip():
        raise UsageError("the path is empty", hint="Name a file or directory.")
    if "\x00" in given:
        raise UsageError("the path holds a NUL character", hint="Name a file or directory.")
    try:
        os.fsencode(given)
    except UnicodeEncodeError as error:
        raise UsageError(
            "the path holds characters that no file name can have", hint="List the folder."
        ) from error
    return given


def _home_expanded(given: str) -> Path:
    if given == "~" or given.startswith("~/"):
        return Path.home() / given[2:]
    return Path(given)


def _real(path: Path) -> Path:
    real = Path(os.path.realpath(path))
    # realpath gives up quietly in a circle of links and leaves one standing.
    if any(step.is_symlink() for step in (real, *real.parents)):
        raise UsageError(f"{path} runs in a circle of links", hint="Name the file itself.")
    return real


def _without_links(path: Path, base: Path) -> Path:
    """Where `path` would lead if `base` were the only link: a linked project is no news."""
    return _real(base) / path.relative_to(base) if path.is_relative_to(base) else path


def _other_normal_form(real: Path) -> Path:
    """The existing neighbour whose name differs only in how accents are composed, or `real`."""
    for form in ("NFC", "NFD"):
        other = real.with_name(unicodedata.normalize(form, real.name)) if real.name else real
        if other != real and other.is_file():
            return Path(os.path.realpath(other))
    return real


def _holds(root: Path, real: Path) -> bool:
    if real.is_relative_to(root):
        return True
    # Another spelling of the same directory: letter case on macOS, a bind mount on Linux.
    try:
        wanted = root.stat()
    except OSError:
        return False
    return any(_same(step, wanted) for step in (real, *real.parents))


def _same(path: Path, wanted: os.stat_result) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)


def _depth(roots: Iterable[Path], real: Path) -> int:
    """How many components the longest of `roots` that holds `real` has; 0 if none does."""
    return max((len(root.parts) for root in roots if _holds(root, real)), default=0)

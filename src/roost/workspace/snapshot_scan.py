"""Bringing an index up to date with the files: all of them, or those that somebody named."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from roost.core.errors import NotFoundError
from roost.workspace.git_folder import repository_of
from roost.workspace.ignore import IgnoreFolder
from roost.workspace.snapshot_index import File, Folder, stamp_of
from roost.workspace.snapshot_models import (
    LINK,
    OPAQUE,
    LookEndedError,
    SnapshotLimits,
    TooManyFilesError,
)
from roost.workspace.snapshot_objects import ObjectStore, names_in
from roost.workspace.snapshot_trees import mode_of
from roost.workspace.textfile import is_binary

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_RACY: Final = 20_000_000
"""Nanoseconds: a file read so soon after its last change may change again within the same tick."""
_COARSE: Final = 2_000_000_000
"""The same on file systems that keep whole seconds."""
_ATTEMPTS: Final = 3
"""Readings of a file that somebody writes meanwhile."""
_GONE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
JUNK: Final = frozenset(
    (
        *("node_modules", "bower_components", ".next", ".nuxt"),
        *("__pycache__", ".venv", "venv", ".tox", ".nox"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".cache", ".gradle", ".terraform"),
    )
)
"""Folders that programs fill. Outside of git, where nobody had to name them, none is entered."""

Found = Literal["kept", "changed", "nested", "gone"]


class Scanner:
    """Looks at the files below `root`, a real path, for snapshots in `objects`.

    Nothing at or below `excluded` is looked at; a look ends early, by `LookEndedError`, once it is
    `halted`. `forced` are paths, relative to the root, that
    belong to a snapshot although an ignore file names them: they are in the user's repository.
    """

    def __init__(
        self,
        root: Path,
        objects: ObjectStore,
        limits: SnapshotLimits,
        excluded: Iterable[Path] = (),
        halted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._halted = halted
        self._root = f"{root}/".replace("//", "/")
        self._objects = objects
        self._limits = limits
        self._excluded = {str(one) for one in excluded}
        self._in_git = True
        self._above: tuple[tuple[int, ...], IgnoreFolder] | None = None
        self._count = 0
        self.new_files = 0
        """How many files were read in the last look."""
        self._new_bytes = 0
        self._forced: frozenset[str] = frozenset()
        self._forced_folders: frozenset[str] = frozenset()

    def force(self, paths: frozenset[str]) -> bool:
        """Say which paths ignore files have no say in; True if they are others than before."""
        if paths == self._forced:
            return False
        self._forced = paths
        self._forced_folders = frozenset(
            path[: at + 1] for path in paths for at, c in enumerate(path) if c == "/"
        )
        self._above = None  # names are chosen anew
        return True

    def everything(self, top: Folder) -> None:
        """Look at all files.

        Raises `TooManyFilesError`, `NotFoundError` if the root is gone, and `StorageError`.
        """
        self._count = self.new_files = self._new_bytes = 0
        try:
            names = names_in(self._root)
        except OSError as error:
            raise NotFoundError(
                f"the folder {self._root} cannot be read: {error.strerror}",
                hint="No snapshot of it was made. Look whether it was moved.",
            ) from error
        self._names(top, "", names, self._rules_above(), 0)

    def named(self, top: Folder, paths: Iterable[str]) -> None:
        """Look at these files and folders only, relative to the root. Raises as `everything`."""
        self._count = self.new_files = self._new_bytes = 0
        for path in sorted(set(paths)):
            parts = [part for part in path.split("/") if part not in {"", "."}]
            if ".." in parts:
                continue
            if parts and parts[-1] == ".gitignore":
                parts.pop()  # it has a say in all that lies around it
            at = next((i for i, part in enumerate(parts) if part.casefold() == ".git"), None)
            if at == 0:
                continue
            parts = parts[:at]  # what lies around it may be another repository now
            self._descend(top, "", parts, self._rules_above(), 0)

    def _descend(
        self, folder: Folder, prefix: str, parts: list[str], rules: IgnoreFolder, depth: int
    ) -> Found:
        """Look at what `parts` lead to below `folder`, whose rules are `rules`."""
        if not parts or folder.judged is not rules:
            try:
                names = names_in(self._root + prefix)
            except OSError:
                return "gone"
            return self._names(folder, prefix, names, rules, depth)
        name, *rest = parts
        try:
            status = os.lstat(self._root + prefix + name)
        except OSError:
            return _told(folder.put(name, None))
        if not stat.S_ISDIR(status.st_mode):
            return _told(self._file(folder, prefix, name, rules, status))
        if not rest:
            return _told(self._folder(folder, prefix, name, rules, depth))
        below = folder.folders.get(name)
        if below is None or below.rules is None:
            # Not known yet, or not since the program started: all of it.
            return _told(self._folder(folder, prefix, name, rules, depth))
        inner = f"{prefix}{name}/"
        found = self._descend(below, inner, rest, self._inner_rules(below, inner, rules), depth + 1)
        return _told(self._settle(folder, name, below, found))

    def _names(
        self, folder: Folder, prefix: str, names: list[str], rules: IgnoreFolder, depth: int
    ) -> Found:
        """Look at all `names` in a folder, with everything below."""
        if self._is_nested(prefix, names):
            return "nested"
        if folder.judged is not rules:
            folder.judged = rules
            folder.passed = set()
            fresh = True
        else:
            fresh = False
        before, files = self._root + prefix, folder.files
        changed = False
        for name in (files.keys() | folder.folders.keys()) - set(names):
            changed |= folder.put(name, None)
        for name in names:
            known = files.get(name)
            try:
                status = os.lstat(before + name)
            except OSError:
                changed |= folder.put(name, None)
                continue
            if known is not None and not fresh and known.stamp == stamp_of(status):
                continue
            if stat.S_ISDIR(status.st_mode):
                changed |= self._folder(folder, prefix, name, rules, depth)
            else:
                changed |= self._file(folder, prefix, name, rules, status)
        self._count += len(files)
        self._require_room()
        return _told(changed)

    def _folder(
        self, folder: Folder, prefix: str, name: str, rules: IgnoreFolder, depth: int
    ) -> bool:
        """Look at the folder `name` in `folder`."""
        path = f"{prefix}{name}/"
        real = self._root + path
        if name.casefold() == ".git" or real[:-1] in self._excluded:
            return folder.put(name, None)
        if f"{name}/" in folder.passed or self._passes(folder, path, f"{name}/", rules):
            return folder.put(name, None)
        if depth >= self._limits.depth or (not self._in_git and name in JUNK):
            return folder.put(name, _opaque(b"not entered"))
        try:
            names = names_in(real)
        except OSError as error:
            gone = error.errno in _GONE
            return folder.put(name, None if gone else _opaque(b"not readable"))
        below = folder.folders.get(name) or Folder()
        inner = self._inner_rules(below, path, rules, ".gitignore" in names)
        return self._settle(folder, name, below, self._names(below, path, names, inner, depth + 1))

    def _settle(self, folder: Folder, name: str, below: Folder, found: Found) -> bool:
        """Enter what was found at `name` into `folder`."""
        match found:
            case "nested":
                return folder.put(name, _opaque(b"a repository"))
            case "gone":
                return folder.put(name, None)
            case "changed":
                below.tree = None
            case "kept":
                pass
        return folder.put(name, below)

    def _file(
        self, folder: Folder, prefix: str, name: str, rules: IgnoreFolder, status: os.stat_result
    ) -> bool:
        path = prefix + name
        if name.casefold() == ".git" or self._root + path in self._excluded:
            return folder.put(name, None)
        if name in folder.passed or self._passes(folder, path, name, rules):
            return folder.put(name, None)
        known = folder.files.get(name)
        if known is not None and known.stamp == stamp_of(status):
            return False
        return folder.put(name, self._taken(self._root + path, status))

    def _passes(self, folder: Folder, path: str, name: str, rules: IgnoreFolder) -> bool:
        """Whether the rules pass over `path`; remembered under `name`."""
        is_folder = path.endswith("/")
        wanted = path in (self._forced_folders if is_folder else self._forced)
        if wanted or not rules.ignores(self._root + path.removesuffix("/"), directory=is_folder):
            return False
        folder.passed.add(name)
        return True

    def _taken(self, path: str, status: os.stat_result) -> File | None:
        """Read the file or link; None for what no snapshot holds, such as a socket."""
        self.new_files += 1
        began, data = 0, b""
        for _ in range(_ATTEMPTS):
            began = time.time_ns()
            try:
                if stat.S_ISLNK(status.st_mode):
                    target = _target(path)
                    id_ = self._objects.write("blob", target)
                    return File(LINK, id_, _stamp(status, began))
                if not stat.S_ISREG(status.st_mode):
                    return None
                if status.st_size > self._limits.file_bytes:
                    return _unkept(status, began)
                data, after = _read(path, self._limits.file_bytes)
            except OSError as error:
                return None if error.errno in _GONE else _unkept(status, began)
            if stamp_of(after) == stamp_of(status):
                break
            status = after
        else:
            began = 0  # it changes all the time: look again next time
        size = len(data)
        self._new_bytes += size
        self._require_room()
        if size > self._limits.file_bytes or (size > self._limits.binary_bytes and is_binary(data)):
            return _unkept(status, began)
        id_ = self._objects.write("blob", data)
        return File(mode_of(status.st_mode), id_, _stamp(status, began))

    def _require_room(self) -> None:
        if self._halted():
            raise LookEndedError(f"the look at the files of {self._root} was ended")
        if max(self._count, self.new_files) > self._limits.files:
            what = f"{self._limits.files:,} files"
        elif self._new_bytes > self._limits.new_bytes:
            what = f"{self._limits.new_bytes:,} bytes to be kept"
        else:
            return
        raise TooManyFilesError(
            f"{self._root} holds more than {what}",
            hint="Without snapshots nothing can be undone. Open the folder of one project,"
            " or name in .gitignore what need not be kept.",
        )

    def _inner_rules(
        self, below: Folder, path: str, rules: IgnoreFolder, has_rules: bool | None = None
    ) -> IgnoreFolder:
        """The rules inside of the folder at `path`, made anew only if they changed."""
        file = f"{self._root}{path}.gitignore"
        stamp = _stamp_at(file) if has_rules is not False else 0
        if below.rules and below.rules[0] is rules and below.rules[1] == stamp:
            return below.rules[2]
        inner = rules.below(self._root + path.removesuffix("/"), {".gitignore"} if stamp else set())
        below.rules = (rules, stamp, inner)
        return inner

    def _rules_above(self) -> IgnoreFolder:
        """The rules at the root, made anew only if an ignore file there or above changed."""
        root = Path(self._root)
        repository = repository_of(root)
        self._in_git = repository is not None
        top = repository[0] if repository else root
        files = [str(one / ".gitignore") for one in (root, *root.parents) if one >= top]
        if repository:
            files.append(str(repository[1] / "info/exclude"))
        key = tuple(_stamp_at(one) for one in files)
        if self._above is None or self._above[0] != key:
            self._above = (key, IgnoreFolder.above(root, git_only=True))
        return self._above[1]

    def _is_nested(self, prefix: str, names: list[str]) -> bool:
        return prefix != "" and ".git" in names


def _told(changed: bool) -> Found:
    return "changed" if changed else "kept"


def _opaque(what: bytes) -> File:
    return File(OPAQUE, hashlib.sha1(what, usedforsecurity=False).digest(), 0)


def _unkept(status: os.stat_result, began: int) -> File:
    """Stands for a file whose content is not kept: another one after each change."""
    known = b"%d %d" % (status.st_size, status.st_mtime_ns)
    return _opaque(known)._replace(stamp=_stamp(status, began))


def _stamp(status: os.stat_result, began: int) -> int:
    """By what a file that was read after `began` is recognised next time; 0 if it could have
    changed since without anybody seeing it.
    """
    window = _RACY if status.st_ctime_ns % 1_000_000_000 else _COARSE
    return stamp_of(status) if status.st_ctime_ns < began - window else 0


def _stamp_at(path: str) -> int:
    try:
        return stamp_of(Path(path).stat())
    except OSError:
        return 0


def _target(path: str) -> bytes:
    """Where a link leads, to the byte."""
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.fsencode(os.readlink(name, dir_fd=descriptor))
    finally:
        os.close(descriptor)


def _read(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """The file, at most a byte more than `limit`, and its status after reading."""
    descriptor = os.open(path, _READ)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOENT, "not a file any more")
        data = file.read(limit + 1)
        return data, os.fstat(descriptor)


def paths_below(root: Path, changed: Iterable[Path | str]) -> list[str]:
    """Paths relative to `root`, without those that lie outside of it; each by its name, and where
    links on the way to it lead.
    """
    found: list[str] = []
    for one in changed:
        path = Path(os.path.normpath(root / one))
        for place in {path, Path(os.path.realpath(path.parent)) / path.name}:
            with suppress(ValueError):
                found.append(str(place.relative_to(root)))
    return found

"""Lets the kernel name what changed, so that nobody need look at all files after each command.

Linux tells of every change below watched folders before the call that made it returns (inotify), so
when a command has ended all that it did is known. Where that cannot be relied on (another system, a
file system that others write to, too many folders or changes) the answer is "anything may have".
"""

import ctypes
import os
import struct
import sys
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from roost.workspace.snapshot_index import Folder, paths_in

_EVENT: Final = struct.Struct("iIII")
"""Watch, kind, cookie, length of the name that follows."""
_MODIFY: Final = 0x2
_ATTRIBUTES: Final = 0x4
_CLOSE_WRITE: Final = 0x8
_MOVED_FROM: Final = 0x40
_MOVED_TO: Final = 0x80
_CREATE: Final = 0x100
_DELETE: Final = 0x200
_DELETE_SELF: Final = 0x400
_MOVE_SELF: Final = 0x800
_UNMOUNT: Final = 0x2000
_OVERFLOW: Final = 0x4000
_IGNORED: Final = 0x8000
_ONLY_FOLDER: Final = 0x1000000
_NO_LINK: Final = 0x2000000
_IS_FOLDER: Final = 0x40000000
_WANTED: Final = (
    _MODIFY | _ATTRIBUTES | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
    | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDER | _NO_LINK
)  # fmt: skip
_ANOTHER: Final = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
"""After these a folder of that name is another one."""
_BUFFER: Final = 256 * 1024
MOST: Final = 2_000
"""More changes than this are sooner found by a look at all files."""
_USUAL: Final = 2
"""Looks that most processes need: only one that needs more begins to watch."""
CHECKED_EVERY: Final = 300.0
"""Seconds after which a look at all files confirms what the kernel told."""
_LOCAL: Final = frozenset(
    (
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs"),
        *("tmpfs", "ramfs", "overlay"),
    )
)
"""File systems that nobody else writes to."""


class _Names(NamedTuple):
    """Functions of the C library."""

    init: Any
    add: Any
    remove: Any


@cache
def _library() -> _Names | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return _Names(library.inotify_init1, library.inotify_add_watch, library.inotify_rm_watch)
    except (OSError, AttributeError):
        return None


def can_be_watched(root: Path) -> bool:
    """Whether the kernel tells of all changes below `root`: nothing there lies elsewhere."""
    try:
        rows = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return False
    kinds = {_unescaped(row[4]): row[row.index("-") + 1] for row in rows}
    around = max((one for one in kinds if root.is_relative_to(one)), key=len, default=None)
    below = [one for one in kinds if Path(one).is_relative_to(root)]
    return around is not None and all(kinds[one] in _LOCAL for one in (around, *below))


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape") if "\\" in text else text


class Watch:
    """Watches folders below `root`. Not for several threads at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._descriptor: int | None = None
        self._closing: weakref.finalize[..., Any] | None = None
        self.new_folders = False
        """There may be folders that are not watched yet."""
        if can_be_watched(root):
            self._open()

    def _open(self) -> None:
        library = _library()
        found = library.init(os.O_NONBLOCK | os.O_CLOEXEC) if library else -1
        if found >= 0:
            self._descriptor = found
            self._closing = weakref.finalize(self, os.close, found)

    @property
    def works(self) -> bool:
        """Whether changes are told; once this is false it stays so."""
        return self._descriptor is not None

    def add(self, folders: Iterable[str]) -> list[str]:
        """Watch `folders`, relative to the root, empty for itself. Those that were not watched
        before: what happened in them until now nobody told.
        """
        library, fresh = _library(), [one for one in folders if one not in self._watches]
        self.new_folders = False
        if library is None or self._descriptor is None:
            return []
        for one in fresh:
            path = self._root / one
            watch = library.add(self._descriptor, os.fsencode(path), _WANTED)
            if watch >= 0:
                self._folders[watch], self._watches[one] = one, watch
            elif path.is_dir():
                self.close()  # no more can be watched
                return []
        return fresh

    def changed(self) -> set[str] | None:
        """What may have changed since the last call, relative to the root; None: anything."""
        names: set[str] = set()
        whole = self.works
        for watch, kind, name in self._events():
            folder = self._folders.get(watch)
            if kind & (_OVERFLOW | _UNMOUNT):
                whole = False
            elif folder is None:
                continue
            elif kind & _IGNORED:
                self._forget(watch)
            elif kind & (_DELETE_SELF | _MOVE_SELF):
                whole = whole and folder != ""
            elif name:  # what concerns a folder itself is told of the one around it, too
                path = f"{folder}/{name}" if folder else name
                names.add(path)
                self.new_folders |= bool(kind & _IS_FOLDER) or name == ".gitignore"
                if kind & _IS_FOLDER and kind & _ANOTHER:
                    self._drop(path)
        if not whole:
            self._restart()
            return None
        return names if len(names) <= MOST else None

    def close(self) -> None:
        """Watch nothing any more."""
        if self._closing is not None:
            self._closing()
        self._descriptor = self._closing = None
        self._folders.clear()
        self._watches.clear()

    def _restart(self) -> None:
        """Begin anew, with no folder: which ones are watched under which name is not known."""
        if self._descriptor is not None:
            self.close()
            self._open()

    def _events(self) -> Iterator[tuple[int, int, str]]:
        if self._descriptor is None:
            return
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, _BUFFER):
                at = 0
                while at < len(data):
                    watch, kind, _, size = _EVENT.unpack_from(data, at)
                    at += _EVENT.size
                    yield watch, kind, os.fsdecode(data[at : at + size].rstrip(b"\0"))
                    at += size

    def _forget(self, watch: int) -> None:
        folder = self._folders.pop(watch, None)
        if folder is not None and self._watches.get(folder) == watch:
            del self._watches[folder]

    def _drop(self, folder: str) -> None:
        """Stop watching what was at `folder`: another one is there now, or none."""
        library = _library()
        gone = [one for one in self._watches if one == folder or one.startswith(f"{folder}/")]
        for one in gone:
            watch = self._watches[one]
            if library is not None and self._descriptor is not None:
                library.remove(self._descriptor, watch)
            self._forget(watch)


class Told:
    """What the kernel tells of the folders of an index, once that was found to be all there is."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._watch: Watch | None = None
        self._looks = 0
        self._trusted = False
        self._checked = 0.0

    def names(self) -> list[str] | None:
        """What may have changed since the last look; None: all files must be looked at."""
        if self._watch is None:
            return None
        found = self._watch.changed()
        return sorted(found) if found is not None and self._trusted else None

    @property
    def is_due(self) -> bool:
        """Whether a look at all files should confirm what was told; see `confirm`."""
        return time.monotonic() - self._checked > CHECKED_EVERY

    def looked(self, top: Folder, *, whole: bool) -> list[str]:
        """Note a look at all files, or at those that were told. Folders that nobody watched while
        that went on must be looked at again.
        """
        self._looks += whole
        if self._looks < _USUAL:
            return []
        if self._watch is None:
            self._watch = Watch(self._root)
        if not whole and not self._watch.new_folders:
            return []
        fresh = self._watch.add(paths_in(top))
        if whole:
            self._checked = time.monotonic()
            self._trusted = self._watch.works and not fresh
            return []
        return fresh

    def confirm(self, told: str, seen: str) -> None:
        """Rely on it no longer if a look at all files has `seen` what was not `told`."""
        if told != seen and self._watch is not None:
            self._watch.close()
            self._trusted = False

    def close(self) -> None:
        """Watch nothing any more."""
        if self._watch is not None:
            self._watch.close()

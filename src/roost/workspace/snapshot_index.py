"""What is known of the files of a folder: their objects, and by which signs they are unchanged.

The index is a memory and never a truth: whatever it lacks, or knows wrongly after a crash, is found
by looking at the files. So it is saved now and then, and by nobody waited for.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from roost.workspace.ignore import IgnoreFolder
from roost.workspace.snapshot_models import EMPTY, OPAQUE, TREE, Entry
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_trees import encode_tree

INDEXES: Final = "known"
"""The folder in a store for the indexes of its working trees."""
_VERSION: Final = 1


class File(NamedTuple):
    """A file, a link, or something whose content is not kept."""

    mode: int
    id: bytes
    stamp: int
    """`stamp_of` the file when it was read; 0: look again."""


class Folder:
    """A folder, and what is remembered between two looks at it."""

    __slots__ = ("files", "folders", "judged", "passed", "rules", "tree")

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.folders: dict[str, Folder] = {}
        self.tree: bytes | None = None
        """The id of its tree; None while that has to be written."""
        self.rules: tuple[IgnoreFolder, int, IgnoreFolder] | None = None
        """From the rules above and the stamp of its `.gitignore`: the rules in it."""
        self.judged: IgnoreFolder | None = None
        """The rules by which its names were chosen."""
        self.passed: set[str] = set()
        """Names that these rules pass over; folders end with `/`."""

    def put(self, name: str, found: "File | Folder | None") -> bool:
        """Set what stands at `name`; True if its tree is another now."""
        old = self.files.get(name) or self.folders.get(name)
        if isinstance(found, Folder):
            self.files.pop(name, None)
            self.folders[name] = found
            changed = old is not found or found.tree is None
        elif found is None:
            self.files.pop(name, None)
            self.folders.pop(name, None)
            changed = old is not None
        else:
            self.folders.pop(name, None)
            self.files[name] = found
            changed = not isinstance(old, File) or old[:2] != found[:2]
        if changed:
            self.tree = None
        return changed


class _Saved(msgspec.Struct, array_like=True):
    """A folder in the file."""

    tree: bytes | None
    files: dict[bytes, tuple[int, bytes, int]]
    folders: dict[bytes, "_Saved"]


class _Whole(msgspec.Struct, array_like=True):
    version: int
    top: _Saved


def stamp_of(status: os.stat_result) -> int:
    """Changes whenever the file does: the time of the last change cannot be set by anybody."""
    return hash((status.st_ino, status.st_size, status.st_ctime_ns))


def write_trees(objects: ObjectStore, folder: Folder, *, top: bool = True) -> bytes:
    """Store the trees that changed and give the id of the uppermost. Raises `StorageError`."""
    if folder.tree is None:
        for below in folder.folders.values():
            write_trees(objects, below, top=False)
        data = _encoded(folder)
        folder.tree = objects.write("tree", data) if data or top else EMPTY
    return folder.tree


def id_of(folder: Folder, *, top: bool = True) -> bytes:
    """The id that its tree has, or will have once it is stored."""
    if folder.tree is not None:
        return folder.tree
    data = _encoded(folder)
    if not data and not top:
        return EMPTY
    return hashlib.sha1(b"tree %d\0" % len(data) + data, usedforsecurity=False).digest()


def _encoded(folder: Folder) -> bytes:
    entries = [(os.fsencode(name), file.mode, file.id) for name, file in folder.files.items()]
    for name, below in folder.folders.items():
        tree = id_of(below, top=False)
        entries.append((os.fsencode(name), OPAQUE if tree == EMPTY else TREE, tree))
    return encode_tree(entries)


def foretold(top: Folder, after: Mapping[str, Entry | None]) -> bool:
    """Let files be as in `after`, by path, until they are looked at again. False, and nothing is
    done, if one of them is not kept as it is, or will not be.
    """
    ways = [(_way_to(top, path), path.rpartition("/")[2], entry) for path, entry in after.items()]
    for way, name, entry in ways:
        known = way[-1].files.get(name) if way else None
        if known is None or entry is None or OPAQUE in {known.mode, entry.mode}:
            return False
    for way, name, entry in ways:
        assert entry is not None
        way[-1].files[name] = File(entry.mode, entry.id, 0)
        for folder in way:
            folder.tree = None
    return True


def _way_to(top: Folder, path: str) -> list[Folder]:
    """The folders around `path`, the uppermost first; none if one of them is not known."""
    way = [top]
    for part in path.split("/")[:-1]:
        below = way[-1].folders.get(part)
        if below is None:
            return []
        way.append(below)
    return way


def load(path: Path, stored: set[bytes]) -> tuple[Folder, bool] | None:
    """The index at `path`, without what is not `stored`; and whether it lacks nothing.

    None if there is none, or it cannot be read.
    """
    try:
        whole = msgspec.msgpack.decode(path.read_bytes(), type=_Whole)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    if whole.version != _VERSION:
        return None
    top = _unpacked(whole.top)
    return top, drop_lost(top, stored)


def load_nearest(own: Path, stored: set[bytes]) -> Folder:
    """The index at `own`, else the newest beside it: a folder that was moved keeps the signs of its
    files. An empty one where none can be read.
    """
    others = sorted(own.parent.glob("*"), key=_age)
    for path in (own, *others[:1]):
        if path.is_file() and (found := load(path, stored)) is not None:
            return found[0]
    return Folder()


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


def save(objects: ObjectStore, path: Path, top: Folder) -> None:
    """Write the index. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    objects.replace(path, msgspec.msgpack.encode(_Whole(_VERSION, _packed(top))))


def drop_lost(folder: Folder, stored: set[bytes]) -> bool:
    """Forget what is not `stored` any more; True if nothing had to be."""
    lost = [n for n, f in folder.files.items() if f.mode != OPAQUE and f.id not in stored]
    for name in lost:
        del folder.files[name]
    whole = not lost and (folder.tree in stored or folder.tree == EMPTY)
    for below in folder.folders.values():
        whole &= drop_lost(below, stored)
    if not whole:
        folder.tree = None
    return whole


def files_in(folder: Folder) -> Iterator[File]:
    """All files in it and below."""
    yield from folder.files.values()
    for below in folder.folders.values():
        yield from files_in(below)


def paths_in(folder: Folder, prefix: str = "") -> Iterator[str]:
    """The paths of a folder and of all below it; its own is `prefix`."""
    yield prefix
    for name, below in folder.folders.items():
        yield from paths_in(below, f"{prefix}/{name}" if prefix else name)


def _packed(folder: Folder) -> _Saved:
    return _Saved(
        folder.tree,
        {os.fsencode(name): (f.mode, f.id, f.stamp) for name, f in folder.files.items()},
        {os.fsencode(name): _packed(below) for name, below in folder.folders.items()},
    )


def _unpacked(saved: _Saved) -> Folder:
    folder = Folder()
    folder.tree = saved.tree
    folder.files = {os.fsdecode(name): File(*file) for name, file in saved.files.items()}
    folder.folders = {os.fsdecode(name): _unpacked(below) for name, below in saved.folders.items()}
    return folder

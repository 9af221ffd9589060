"""What tools that name their files are about to write, kept before they write it.

A change whose content is known beforehand needs no look at other files: what the files are and what
they will be is stored as two small trees of them alone. Both are there before anything is written,
so that not even a kill in the middle leaves a change that cannot be taken back. Files that are
ignored, or lie in other repositories, belong to it like any other.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.text import clean
from roost.workspace.changes import FileChange
from roost.workspace.snapshot_models import OPAQUE, Entry, Patch, SnapshotLimits
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_plan import stored_alone
from roost.workspace.snapshot_roots import Roots
from roost.workspace.snapshot_states import Content, Unknown, Version, umask, version_at
from roost.workspace.snapshot_trees import mode_of

Versions = dict[str, Entry | None]


class Written(Struct, frozen=True):
    """Files that are about to be written."""

    before: Versions
    """By path, relative to the project, with `/`; None where nothing is."""
    after: Versions
    patch: Patch | None
    """None: none of them belongs to the project."""
    outside: tuple[str, ...] = ()
    """Those that do not: their changes are not taken back."""


class WrittenFiles:
    """Keeps what is about to be written below `root`, in the store that `Snapshots` has there.

    For any thread, and for several at once.
    """

    def __init__(self, root: Path, store: Path, limits: SnapshotLimits | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self._store = Path(os.path.realpath(store))
        self._limit = (limits or SnapshotLimits()).file_bytes

    def foresee(self, changes: Sequence[FileChange]) -> Written:
        """Store what the files of `changes` are, and what they will be.

        Raises `StorageError`, and `EncodingError` as the change itself would.
        """
        before: Versions = {}
        after: Versions = {}
        outside: list[str] = []
        objects = self._objects()
        with Roots(objects).shared():
            for change in changes:
                path = self._relative(change.real)
                if path is None:
                    outside.append(clean(str(change.real)))
                    continue
                current = version_at(self.root, path, self._limit)
                before[path] = _entry(objects, current)
                after[path] = self._foreseen(objects, change, current)
            return self._kept(objects, before, after, tuple(outside))

    def path_of(self, change: FileChange) -> str | None:
        """The path of a change below the root; None for what is not the project's."""
        return self._relative(change.real)

    def settled(self, written: Written) -> Written:
        """What came of it: `written` itself, unless a new file got another mode than foreseen."""
        after = dict(written.after)
        for path, entry in written.after.items():
            if entry is None or entry.mode == OPAQUE or written.before[path] is not None:
                continue
            with suppress(OSError):
                mode = mode_of((self.root / path).lstat().st_mode)
                after[path] = entry._replace(mode=mode)
        if after == written.after:
            return written
        objects = self._objects()
        with Roots(objects).shared():
            base = written.patch.base if written.patch else None
            return self._kept(objects, written.before, after, written.outside, base)

    def _objects(self) -> ObjectStore:
        objects = ObjectStore(self._store)
        if not (self._store / "HEAD").is_file():
            objects.prepare()
        return objects

    def _kept(
        self,
        objects: ObjectStore,
        before: Versions,
        after: Versions,
        outside: tuple[str, ...],
        base: str | None = None,
    ) -> Written:
        if not before:
            return Written(before, after, None, outside)
        now = now_ms()
        base = self._base(before) if base is None else base
        patch = Patch(
            self._stored(objects, base, before),
            self._stored(objects, base, after),
            tuple(sorted(clean(path) for path in before if before[path] != after[path])),
            now,
            now,
            base,
        )
        Roots(objects).note(now, patch.before, patch.after)
        return Written(before, after, patch, outside)

    def _stored(self, objects: ObjectStore, base: str, versions: Versions) -> str:
        inner = {path.removeprefix(base): version for path, version in versions.items()}
        return stored_alone(self.root / base, objects, inner)

    def _base(self, paths: Iterable[str]) -> str:
        """The deepest folder that is there and that all `paths` lie in, with `/` at its end: of
        what lies around it no tree need be written.
        """
        folder = Path(os.path.commonpath([Path(path).parent for path in paths]))
        while not (self.root / folder).is_dir():
            folder = folder.parent
        return "" if folder == Path() else f"{folder}/"

    def _relative(self, real: Path) -> str | None:
        """The path below the root; None for what is not the project's: it lies elsewhere, or in
        the folder of a repository.
        """
        if not real.is_relative_to(self.root):
            return None
        path = real.relative_to(self.root)
        return None if any(part.casefold() == ".git" for part in path.parts) else str(path)

    def _foreseen(self, objects: ObjectStore, change: FileChange, current: Version) -> Entry | None:
        data = change.data
        if data is None:
            return None
        if len(data) > self._limit:
            return _unkept(data[: self._limit])
        match current:
            case Content():
                mode = current.mode
            case Unknown():
                return _unkept(data)
            case None:
                bits = 0o666 & ~umask() if change.mode is None else change.mode
                mode = mode_of(stat.S_IFREG | bits)
        return Entry(mode, objects.write("blob", data))


def _entry(objects: ObjectStore, version: Version) -> Entry | None:
    match version:
        case None:
            return None
        case Content():
            return Entry(version.mode, objects.write("blob", version.data))
        case Unknown():
            return _unkept(version.reason.encode())


def _unkept(what: bytes) -> Entry:
    """Stands for something whose content is not kept."""
    return Entry(OPAQUE, hashlib.sha1(what, usedforsecurity=False).digest())

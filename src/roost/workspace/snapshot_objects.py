"""Objects of a private git repository, read and written without git.

No process is started, so no configuration, hook, filter or variable of the user can have a say.
Every file gets its name when it is complete; equal objects are stored once, whoever writes them.
"""

import errno
import hashlib
import os
import secrets
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from roost.core.errors import StorageError
from roost.core.failpoints import failpoint
from roost.workspace.snapshot_models import SnapshotLostError
from roost.workspace.snapshot_packs import PACK_BYTES, Pack, Packed, PackWriter

_LOOSE: Final = 64
"""More new objects than this at once go into a pack."""
_FOLDERS: Final = ("objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/tags")
_CONFIG: Final = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n"
)
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
TEMPORARY: Final = "tmp_"
"""How the names of unfinished files begin, as git's own do."""


class ObjectStore:
    """The objects of the repository at `folder`. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._packs: dict[str, Pack] = {}
        self._packs_seen: int | None = None
        self._pending: dict[bytes, Packed] | None = None
        self._writer: PackWriter | None = None
        self._written: set[bytes] = set()

    def prepare(self) -> bool:
        """Make what lacks of the repository; True if nothing of it was there."""
        fresh = not (self.folder / "HEAD").is_file() or not self._objects.is_dir()
        with storage_faults(self.folder):
            for place in (self.folder.parent, self.folder):
                place.mkdir(0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            for name in _FOLDERS:
                (self.folder / name).mkdir(0o700, exist_ok=True)
            for name, text in (("config", _CONFIG), ("HEAD", "ref: refs/heads/none\n")):
                if not (self.folder / name).is_file():
                    self.replace(self.folder / name, text.encode())
        return fresh

    def write(self, kind: str, data: bytes) -> bytes:
        """Store an object and give its id. Raises `StorageError`."""
        head = b"%s %d\0" % (kind.encode(), len(data))
        digest = hashlib.sha1(head, usedforsecurity=False)
        digest.update(data)
        wanted = digest.digest()
        if self.has(wanted):
            return wanted
        # Names and hashes in a tree hardly shrink, and it is written at every step.
        level = 0 if kind == "tree" else 1
        if self._pending is None:
            with storage_faults(self.folder):
                self._put(wanted, zlib.compress(head + data, level))
            return wanted
        self._collect(Packed(wanted, kind, len(data), zlib.compress(data, level)))
        return wanted

    @contextmanager
    def batch(self) -> Generator[None]:
        """Objects written meanwhile are stored at the end: all in one pack if they are many.

        If the block fails nothing of them is. Raises `StorageError`.
        """
        self._pending = {}
        try:
            yield
            with storage_faults(self.folder):
                self._flush()
        finally:
            self._pending = None
            self._written = set()
            writer, self._writer = self._writer, None
            if writer is not None:
                with suppress(OSError):
                    writer.discard()

    def has(self, wanted: bytes) -> bool:
        """Whether the object is stored, as far as can be told without reading it."""
        if self._pending is not None and (wanted in self._pending or wanted in self._written):
            return True
        if any(pack.offset(wanted) is not None for pack in self._packs.values()):
            return True
        try:
            return self._path(wanted).stat().st_size > 0
        except OSError:
            return False

    def read(self, wanted: bytes, kind: str) -> bytes:
        """The content of an object. Raises `SnapshotLostError`."""
        if self._pending is not None and wanted in self._pending:
            return zlib.decompress(self._pending[wanted].body)
        for attempt in (0, 1):
            found = self._packed(wanted) or self._loose(wanted)
            if found is not None and found[0] == kind:
                return found[1]
            if attempt == 0:
                self.look_for_packs()
        raise SnapshotLostError(
            f"the snapshot object {wanted.hex()} is gone or damaged",
            hint="What it held cannot be brought back; other files still can.",
        )

    def all_ids(self) -> set[bytes]:
        """Of everything that is stored."""
        self.look_for_packs()
        found = {one for pack in self._packs.values() for one in pack.ids()}
        return found | {one for one, _ in self.loose()}

    def loose(self) -> Iterator[tuple[bytes, Path]]:
        """Objects that have a file of their own."""
        for number in range(256):
            folder = self._objects / f"{number:02x}"
            with suppress(OSError):
                for name in names_in(folder):
                    with suppress(ValueError):
                        yield bytes.fromhex(folder.name + name), folder / name

    def packs(self) -> list[Pack]:
        """All packs that can be read."""
        self.look_for_packs()
        return list(self._packs.values())

    def unfinished(self) -> list[Path]:
        """Files that somebody began to write."""
        folders = (self.folder, self._objects, self._objects / "pack")
        return [one for folder in folders for one in folder.glob(f"{TEMPORARY}*")]

    def replace(self, path: Path, data: bytes) -> None:
        """Make `data` the content of `path`, at once."""
        temporary = self._temporary(self.folder)
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _put(self, wanted: bytes, data: bytes) -> None:
        path = self._path(wanted)
        temporary = self._temporary(self._objects)
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o400)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
            failpoint("snapshot.object")
            try:
                temporary.rename(path)
            except FileNotFoundError:
                path.parent.mkdir(0o700, exist_ok=True)
                temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _collect(self, packed: Packed) -> None:
        assert self._pending is not None
        if self._writer is None:
            self._pending[packed.id] = packed
            if len(self._pending) > _LOOSE:
                with storage_faults(self.folder):
                    self._open_pack()
            return
        with storage_faults(self.folder):
            self._writer.add(packed)
            self._written.add(packed.id)
            if self._writer.size > PACK_BYTES:
                self._close_pack()

    def _open_pack(self) -> None:
        assert self._pending is not None
        folder = self._objects / "pack"
        self._writer = PackWriter(folder, lambda: self._temporary(folder))
        for packed in self._pending.values():
            self._writer.add(packed)
            self._written.add(packed.id)
        self._pending.clear()

    def _flush(self) -> None:
        if self._writer is not None:
            self._close_pack()
        for packed in (self._pending or {}).values():
            head = b"%s %d\0" % (packed.kind.encode(), packed.size)
            body = zlib.decompress(packed.body)
            self._put(packed.id, zlib.compress(head + body, 1))

    def _close_pack(self) -> None:
        writer, self._writer = self._writer, None
        assert writer is not None
        try:
            index = writer.finish()
        except BaseException:
            writer.discard()
            raise
        self._packs[index.name] = Pack(index)

    def _packed(self, wanted: bytes) -> tuple[str, bytes] | None:
        for name, pack in list(self._packs.items()):
            offset = pack.offset(wanted)
            if offset is None:
                continue
            try:
                kind, data = pack.read(offset)
            except (OSError, ValueError, IndexError, zlib.error):
                del self._packs[name]  # gone, or not to be trusted
                continue
            if _is(wanted, kind, data):
                return kind, data
        return None

    def _loose(self, wanted: bytes) -> tuple[str, bytes] | None:
        path = self._path(wanted)
        try:
            head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
        except FileNotFoundError:
            return None
        except (OSError, zlib.error):
            head, data = b"", b""
        kind = head.partition(b" ")[0].decode("ascii", "replace")
        if _is(wanted, kind, data):
            return kind, data
        with suppress(OSError):
            path.unlink()  # so that the next snapshot writes it anew
        return None

    def look_for_packs(self) -> None:
        """See which packs there are now: others write and remove some."""
        folder = self._objects / "pack"
        found: dict[str, Pack] = {}
        for index in sorted(folder.glob("*.idx")):
            known = self._packs.get(index.name)
            with suppress(OSError, ValueError):
                found[index.name] = known if known and known.data.is_file() else Pack(index)
        self._packs = found

    def _path(self, wanted: bytes) -> Path:
        name = wanted.hex()
        return self._objects / name[:2] / name[2:]

    def _temporary(self, folder: Path) -> Path:
        return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def _is(wanted: bytes, kind: str, data: bytes) -> bool:
    head = b"%s %d\0" % (kind.encode(), len(data))
    return hashlib.sha1(head + data, usedforsecurity=False).digest() == wanted


def names_in(folder: Path | str) -> list[str]:
    """What is in a folder. Raises `OSError`."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


@contextmanager
def storage_faults(folder: Path) -> Generator[None]:
    """Turn errors of the operating system into `StorageError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(
                f"the disk is full: no snapshot could be stored in {folder}",
                hint="Free some space. Until then changes of files cannot be undone.",
            ) from error
        raise StorageError(
            f"no snapshot could be stored in {folder}: {error.strerror or error}",
            hint="Look at the folder's permissions. Until then changes cannot be undone.",
        ) from error

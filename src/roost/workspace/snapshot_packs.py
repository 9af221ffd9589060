"""Packs: many objects in one file, in git's format, without deltas.

A pack is complete before its index gets its name, and without its index it does not exist.
"""

import hashlib
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from roost.core.failpoints import failpoint

_KINDS: Final = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_NAMES: Final = {number: name for name, number in _KINDS.items()}
_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_TABLE: Final = len(_MAGIC) + 256 * 4
_HEAD: Final = 64
"""More than the header of any object."""
PACK_BYTES: Final = 1024 * 1024 * 1024
"""A pack that has grown to this is closed, so that offsets stay below 2 GB."""


class Packed(NamedTuple):
    """An object ready to be stored."""

    id: bytes
    kind: str
    size: int
    body: bytes
    """Compressed by zlib, without git's header."""


class Pack:
    """A finished pack. Raises `OSError` and `ValueError` when it is gone or damaged."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.data = index.with_suffix(".pack")
        table = index.read_bytes()
        if not table.startswith(_MAGIC) or len(table) < _TABLE:
            raise ValueError(f"{index} is no index of a pack")
        self.count = struct.unpack_from(">I", table, _TABLE - 4)[0]
        if len(table) != _TABLE + self.count * 28 + 40 or not self.data.is_file():
            raise ValueError(f"{index} is damaged")
        self._ids = table[_TABLE : _TABLE + self.count * 20]
        offsets = _TABLE + self.count * 24
        self._offsets = table[offsets : offsets + self.count * 4]

    def ids(self) -> list[bytes]:
        """Of all its objects."""
        return [self._ids[at : at + 20] for at in range(0, len(self._ids), 20)]

    def offset(self, wanted: bytes) -> int | None:
        """Where the object lies; None if it is not in here."""
        at = bisect_left(range(self.count), wanted, key=self._id)
        if at == self.count or self._id(at) != wanted:
            return None
        return struct.unpack_from(">I", self._offsets, at * 4)[0]

    def read(self, offset: int) -> tuple[str, bytes]:
        """Kind and content of the object there."""
        with self.data.open("rb") as file:
            file.seek(offset)
            start = file.read(_HEAD)
            kind, size, head = _header(start)
            stream = zlib.decompressobj()
            pieces = [stream.decompress(start[head:])]
            while not stream.eof and (chunk := file.read(64 * 1024)):
                pieces.append(stream.decompress(chunk))
        content = b"".join(pieces)
        if len(content) != size:
            raise ValueError(f"{self.data} is damaged")
        return kind, content

    def _id(self, at: int) -> bytes:
        return self._ids[at * 20 : at * 20 + 20]


def _private(path: Path) -> BinaryIO:
    """A new file for the user alone. Raises `OSError`, also if there is one."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600), "w+b")


class PackWriter:
    """A pack that grows; `finish` makes it one, `discard` forgets it."""

    def __init__(self, folder: Path, temporary: Callable[[], Path]) -> None:
        self._folder = folder
        self._new = temporary
        self._path = temporary()
        self._file = _private(self._path)
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))
        self._found: list[tuple[bytes, int, int]] = []
        self.size = self._file.tell()

    def add(self, packed: Packed) -> None:
        """Append an object; the caller sees to it that none comes twice."""
        record = _record(packed)
        self._file.write(record)
        self._found.append((packed.id, zlib.crc32(record), self.size))
        self.size += len(record)

    def finish(self) -> Path:
        """Give the pack its name. The path of its index."""
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._found)))
        total = self._digest()
        self._file.write(total)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        failpoint("snapshot.pack")
        table = self._new()
        try:
            with _private(table) as file:
                file.write(_table(sorted(self._found), total))
        except BaseException:
            table.unlink(missing_ok=True)
            raise
        name = self._folder / f"pack-{total.hex()}"
        # Whoever runs git's own cleaning here leaves such a pack as it is.
        name.with_suffix(".keep").touch()
        self._path.rename(name.with_suffix(".pack"))
        return table.rename(name.with_suffix(".idx"))

    def discard(self) -> None:
        """Leave nothing behind."""
        self._path.unlink(missing_ok=True)
        with suppress(OSError):  # what could not be written is not wanted any more
            self._file.close()

    def _digest(self) -> bytes:
        self._file.seek(0)
        total = hashlib.sha1(usedforsecurity=False)
        while chunk := self._file.read(1024 * 1024):
            total.update(chunk)
        return total.digest()


def _record(packed: Packed) -> bytes:
    rest = packed.size >> 4
    head = bytearray([_KINDS[packed.kind] << 4 | packed.size & 15])
    while rest:
        head[-1] |= 0x80
        head.append(rest & 0x7F)
        rest >>= 7
    return bytes(head) + packed.body


def _header(data: bytes) -> tuple[str, int, int]:
    """Kind, size, and how long the header is."""
    if not data:
        raise ValueError("the pack ends too early")
    kind, size, shift, at = data[0] >> 4 & 7, data[0] & 15, 4, 0
    while data[at] & 0x80:
        at += 1
        size |= (data[at] & 0x7F) << shift
        shift += 7
    if kind not in _NAMES:
        raise ValueError("the pack was written by another program")
    return _NAMES[kind], size, at + 1


def _table(found: Iterable[tuple[bytes, int, int]], total: bytes) -> bytes:
    """The index, version 2, of sorted (id, checksum, offset)."""
    rows = list(found)
    counts = [0] * 256
    for one, _, _ in rows:
        counts[one[0]] += 1
    sums: list[int] = []
    for count in counts:
        sums.append(count + (sums[-1] if sums else 0))
    body = b"".join(
        (
            _MAGIC,
            struct.pack(">256I", *sums),
            *(one for one, _, _ in rows),
            *(struct.pack(">I", crc) for _, crc, _ in rows),
            *(struct.pack(">I", offset) for _, _, offset in rows),
            total,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()

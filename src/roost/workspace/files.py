"""Reading regular files: whole, as text, or a window of their lines."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import LimitError, RoostError
from roost.core.text import StreamDecoder, clean, cut
from roost.workspace.lines import split_lines
from roost.workspace.openat import fault, opened_file
from roost.workspace.textfile import NotTextError, TextFile, decode_file, is_binary

MAX_BYTES: Final = 32 * 1024 * 1024
"""The largest file that is held in memory."""
_CHUNK: Final = 1024 * 1024


class Window(Struct, frozen=True):
    """Some consecutive lines of a file."""

    lines: tuple[str, ...]
    """Without line ends, each cut to the limit that was asked for."""
    first: int
    """Number of the first line, from 1."""
    total: int | None
    """How many lines the file has; None if it was not read to its end."""
    more: bool
    """The file goes on after `lines`."""
    size: int
    """Bytes of the whole file."""
    text: TextFile | None
    """The whole file, when it is small enough to be held."""
    digest: str | None
    """Content hash of the whole file; None if it was not read to its end."""


class WindowLimits(Struct, frozen=True):
    """How much of a file one reading shows."""

    lines: int = 2000
    line_chars: int = 2000
    chars: int = 50 * 1024


USUAL: Final = WindowLimits()


def read_bytes(real: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The content of the regular file at `real`, a path without links.

    Raises `NotFoundError`, `UsageError` for what is no regular file, and `LimitError` if it holds
    more than `limit` bytes.
    """
    with opened_file(real) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise _too_big(real, size, limit)
        data = b"".join(_chunks(descriptor, real, limit + 1))
    if len(data) > limit:
        raise _too_big(real, len(data), limit)
    return data


def read_text(real: Path, *, limit: int = MAX_BYTES) -> TextFile:
    """The text of the file at `real`. Raises as `read_bytes` does, and `NotTextError`."""
    return decode_file(read_bytes(real, limit=limit), str(real))


def read_window(real: Path, first: int = 1, limits: WindowLimits = USUAL) -> Window:
    """The lines of `real` from number `first` on, as many as `limits` allow.

    A file too big to be held is streamed, and then taken for UTF-8. Raises as `read_text` does.
    """
    with opened_file(real) as descriptor:
        size = os.fstat(descriptor).st_size
    if size > MAX_BYTES:
        return _streamed(real, first, limits)
    text = read_text(real)
    lines = split_lines(text.text)
    shown, more = _fitting((line.text for line in lines[first - 1 :]), limits)
    return Window(
        lines=shown,
        first=first,
        total=len(lines),
        more=more,
        size=size,
        text=text,
        digest=text.digest,
    )


def file_digest(real: Path) -> str | None:
    """The content hash of the file at `real`, of any size; None if nothing is there."""
    try:
        with opened_file(real) as descriptor:
            total = hashlib.blake2b(digest_size=16)
            for chunk in _chunks(descriptor, real, None):
                total.update(chunk)
    except RoostError:
        if not os.path.lexists(real):
            return None
        raise
    return total.hexdigest()


def _chunks(descriptor: int, real: Path, limit: int | None) -> Iterator[bytes]:
    left = limit
    while left is None or left > 0:
        try:
            chunk = os.read(descriptor, _CHUNK if left is None else min(_CHUNK, left))
        except OSError as error:
            raise fault(real, error) from error
        if not chunk:
            return
        if left is not None:
            left -= len(chunk)
        yield chunk


def _too_big(real: Path, size: int, limit: int) -> LimitError:
    return LimitError(
        f"{real} has {size:,} bytes, more than {limit:,}",
        hint="Read a part of it by line numbers, or search it.",
    )


def _fitting(lines: Iterator[str], limits: WindowLimits) -> tuple[tuple[str, ...], bool]:
    """The first of `lines` that fit, and whether there are more."""
    shown: list[str] = []
    room = limits.chars
    for line in lines:
        text = cut(clean(line), limits.line_chars)
        room -= len(text) + 1
        if len(shown) == limits.lines or (room < 0 and shown):
            return tuple(shown), True
        shown.append(text)
    return tuple(shown), False


def _streamed(real: Path, first: int, limits: WindowLimits) -> Window:
    """Lines of a huge file, read no further than the last line that is shown."""
    with opened_file(real) as descriptor:
        size = os.fstat(descriptor).st_size
        chunks = _chunks(descriptor, real, None)
        lines = _after(_streamed_lines(chunks, real, limits.line_chars), first)
        shown, more = _fitting(lines, limits)
    return Window(
        lines=shown, first=first, total=None, more=more, size=size, text=None, digest=None
    )


def _after(lines: Iterator[str], first: int) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if number >= first:
            yield line


def _streamed_lines(chunks: Iterator[bytes], real: Path, keep: int) -> Iterator[str]:
    """Lines one after another; of a line longer than a chunk only the beginning is kept."""
    decoder = StreamDecoder()
    rest = ""
    for number, chunk in enumerate(chunks):
        if number == 0 and is_binary(chunk):
            raise NotTextError(f"{real} is a binary file", hint="Use a program that knows it.")
        text = rest + decoder.feed(chunk)
        # A carriage return at the end may be half of a line end.
        lines = split_lines(text.removesuffix("\r"))
        yield from (line.text for line in lines[:-1])
        rest = lines[-1].text[: keep + 1] + lines[-1].end if lines else ""
        rest += "\r" if text.endswith("\r") else ""
    yield from (line.text for line in split_lines(rest + decoder.feed(b"", final=True)))

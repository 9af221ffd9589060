"""Server-sent events from bytes, as the WHATWG HTML standard (section 9.2.6) defines them.

Works on bytes: a character cut between two chunks is whole again before anyone decodes it, since an
event is handed out only when its last byte is there.
"""

from typing import Final, NamedTuple

MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""A single event larger than this is refused, so that no stream costs memory without bound."""
_BOM: Final = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event; `name` is empty when the stream gave none."""

    name: bytes
    data: bytes


class EventTooLargeError(Exception):
    """The stream holds an event larger than MAX_EVENT_BYTES."""


class EventParser:
    """Turns chunks, cut anywhere, into events. Line ends may be LF, CRLF or CR.

    Raises EventTooLargeError.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes, in order."""
        if self._is_one_line(chunk):
            return [ServerEvent(b"", chunk[6:-2])]
        buffer = self._rest + self._plain(chunk)
        if self._at_start:
            buffer = self._without_bom(buffer)
        head, separator, self._rest = buffer.rpartition(b"\n\n")
        if not separator:
            self._rest = buffer
            if len(buffer) > MAX_EVENT_BYTES:
                raise EventTooLargeError
            return []
        return [event for block in head.split(b"\n\n") if (event := _event(block)) is not None]

    def close(self) -> list[ServerEvent]:
        """The event that the stream ended in without a blank line, if its lines are complete.

        The standard drops it; servers that forget the blank line after their last event are common.
        """
        block, newline, _ = self._rest.rpartition(b"\n")
        self._rest = b""
        event = _event(block) if newline else None
        return [] if event is None else [event]

    def _is_one_line(self, chunk: bytes) -> bool:
        """Whether `chunk` is one event of one line, as nearly all are that models stream."""
        if self._rest or self._after_cr or not chunk.startswith(b"data: ") or b"\r" in chunk:
            return False
        self._at_start = False
        return chunk.endswith(b"\n\n") and chunk.find(b"\n") == len(chunk) - 2

    def _plain(self, chunk: bytes) -> bytes:
        """`chunk` with LF as its only line end."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" not in chunk:
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_bom(self, buffer: bytes) -> bytes:
        if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
            return buffer
        self._at_start = False
        return buffer.removeprefix(_BOM)


def _event(block: bytes) -> ServerEvent | None:
    """The event of one block of lines, or None when the block has no data."""
    if block.startswith(b"data: ") and b"\n" not in block:
        return ServerEvent(b"", block[6:])
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return ServerEvent(name, b"\n".join(data)) if data else None

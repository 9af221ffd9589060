"""Unpacking compressed content without letting a small file grow without bound."""

import zlib
from typing import Final

from roost.core.errors import RoostError

_GZIP_OR_ZLIB: Final = 47
_RAW: Final = -15


class Inflater:
    """Unpacks a stream in one of the encodings `gzip`, `deflate`, `identity`."""

    def __init__(self, encoding: str) -> None:
        self._stream = None
        if encoding in {"gzip", "x-gzip", "deflate"}:
            self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        elif encoding not in {"", "identity"}:
            raise RoostError(f"the content is packed in an unknown way: {encoding}")
        self._first = True

    def feed(self, data: bytes, limit: int) -> bytes:
        """What `data` unpacks to, at most `limit` bytes of it. Raises `RoostError` for rubbish."""
        try:
            return self._unpacked(data, limit)
        except zlib.error as error:
            raise RoostError(f"the packed content is damaged: {error}") from error

    def _unpacked(self, data: bytes, limit: int) -> bytes:
        if self._stream is None:
            return data[:limit]
        first, self._first = self._first, False
        try:
            return self._stream.decompress(data, limit)
        except zlib.error:
            if not first:
                raise
            # Some servers say deflate and leave out the header that belongs to it.
            self._stream = zlib.decompressobj(_RAW)
            return self._stream.decompress(data, limit)

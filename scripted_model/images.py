"""What the header of an image says: kind and size in pixels, for PNG, JPEG, GIF and WebP."""

import struct
import zlib
from typing import Final

from msgspec import Struct

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers that start a frame and so carry the size."""


class ImageError(ValueError):
    """The bytes are no image that a provider reads; the text says why."""


class Image(Struct, frozen=True):
    """Kind and size of an image."""

    mime: str
    width: int
    height: int


def measure(data: bytes) -> Image:
    """Kind and pixels of the image in `data`. Raises `ImageError`."""
    try:
        image = _measure(data)
    except (struct.error, IndexError) as error:
        raise ImageError("the image is cut off") from error
    if image.width <= 0 or image.height <= 0:
        raise ImageError("the image has no pixels")
    return image


def _measure(data: bytes) -> Image:
    if data.startswith(_PNG):
        return _png(data)
    if data.startswith((b"GIF87a", b"GIF89a")):
        width, height, _ = struct.unpack_from("<HH3s", data, 6)
        return Image("image/gif", width, height)
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    raise ImageError("the image is empty" if not data else "not a PNG, JPEG, GIF or WebP")


def _png(data: bytes) -> Image:
    length, kind, width, height = struct.unpack_from(">I4sII", data, 8)
    (check,) = struct.unpack_from(">I", data, 29)
    if kind != b"IHDR" or length != 13 or zlib.crc32(data[12:29]) != check:
        raise ImageError("the PNG header is damaged")
    if b"IDAT" not in data:
        raise ImageError("the PNG holds no picture")
    return Image("image/png", width, height)


def _jpeg(data: bytes) -> Image:
    at = 2
    while True:
        while data[at] == 0xFF and data[at + 1] == 0xFF:
            at += 1
        if data[at] != 0xFF:
            raise ImageError("the JPEG header is damaged")
        marker = data[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Image("image/jpeg", width, height)
        standalone = marker == 0x01 or 0xD0 <= marker <= 0xD8
        at += 2 if standalone else 2 + struct.unpack_from(">H", data, at + 2)[0]


def _webp(data: bytes) -> Image:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return Image("image/webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return Image("image/webp", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        if len(data) < 30:
            raise ImageError("the image is cut off")
        return Image("image/webp", width, height)
    raise ImageError("the WebP header is damaged")

"""Sizes of images read from their headers."""

import struct

import pytest

from scripted_model.images import Image, ImageError, measure

GIF = b"GIF89a" + struct.pack("<HH", 300, 200) + b"\0\0\0"
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    b"\xff\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 200, 300) + b"\x03"
)
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 200)
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 299 | 199 << 14)
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (299).to_bytes(3, "little") + b"\xc7\0\0"


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (LOSSY, "image/webp"),
        (LOSSLESS, "image/webp"),
        (EXTENDED, "image/webp"),
    ],
)
def test_the_size_is_read_and_a_cut_header_is_refused(data, mime):
    assert measure(data) == Image(mime, 300, 200)
    for size in range(min(len(data), 24)):
        with pytest.raises(ImageError):
            measure(data[:size])


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff\xd8hello", b"RIFF\0\0\0\0WEBPnone"])
def test_what_is_no_image_is_refused(data):
    with pytest.raises(ImageError):
        measure(data)

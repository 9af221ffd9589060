"""Images and documents on their way to a model: checked by their header, made small enough.

What a provider would refuse for ever must not enter history, so everything is decided here: a bomb
is refused by the size its header states, before a pixel is decoded.
"""

import base64
import io
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from roost.core.errors import RoostError, plain_words

if TYPE_CHECKING:
    from PIL.Image import Image

PDF: Final = "application/pdf"
_FORMATS: Final = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
MAX_PIXELS: Final = 50_000_000
"""Larger images are refused unread."""
MAX_SIDE: Final = 2_000
"""Longest side that is sent; larger images are scaled down. Providers refuse above 8,000, and above
2,000 in a conversation of many images."""
MAX_BYTES: Final = 3_750_000
"""Bytes of one image that is sent: 5 MB of base64, the strictest provider's limit."""
MAX_PDF_BYTES: Final = 32_000_000
_QUALITIES: Final = (85, 70, 50, 30)


class MediaError(RoostError):
    """A file that claims to be an image or a PDF cannot be sent to a model."""


class CheckedMedia(Struct, frozen=True):
    """Something every provider that reads its kind accepts."""

    mime: str
    data: bytes
    note: str = ""
    """What was changed, for example that the image was scaled; empty if nothing was."""

    @property
    def base64(self) -> str:
        """The bytes as base64 text."""
        return base64.b64encode(self.data).decode()


def media_type(head: bytes) -> str | None:
    """The MIME type that the first bytes of a file show, if a model may be able to read it."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in {b"GIF87a", b"GIF89a"}:
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return PDF if head.startswith(b"%PDF-") else None


def checked_media(data: bytes, name: str) -> CheckedMedia:
    """`data` as it may be sent, scaled down if it is too large.

    Raises `MediaError`, naming `name`, for what is empty, broken, a bomb, or of another kind.
    """
    if not data:
        raise MediaError(f"{name} is empty")
    mime = media_type(data[:16])
    if mime is None:
        raise MediaError(f"{name} is neither a PNG, JPEG, GIF or WebP image nor a PDF")
    if mime == PDF:
        if len(data) > MAX_PDF_BYTES:
            raise MediaError(f"{name} has {len(data)} bytes; at most {MAX_PDF_BYTES} can be sent")
        return CheckedMedia(mime, data)
    return _checked_image(data, name)


def _checked_image(data: bytes, name: str) -> CheckedMedia:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=list(_FORMATS)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise MediaError(
                    f"{name} has {width}x{height} pixels; at most {MAX_PIXELS} can be read"
                )
            image.load()
            mime = _FORMATS[image.format or "PNG"]
            if max(width, height) <= MAX_SIDE and len(data) <= MAX_BYTES:
                return CheckedMedia(mime, data)
            return _smaller(image, name)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise MediaError(f"{name} cannot be read as an image: {plain_words(error)}") from error
    except Image.DecompressionBombError as error:
        raise MediaError(f"{name} is too large to be read: {error}") from error


def _smaller(image: "Image", name: str) -> CheckedMedia:
    before = f"{image.width}x{image.height}"
    flat = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    flat.thumbnail((MAX_SIDE, MAX_SIDE))
    note = f"scaled from {before} to {flat.width}x{flat.height} pixels"
    if flat.mode == "RGBA" or image.format == "PNG":
        data = _encoded(flat, "PNG", 0)
        if len(data) <= MAX_BYTES:
            return CheckedMedia("image/png", data, note)
    for quality in _QUALITIES:
        data = _encoded(flat.convert("RGB"), "JPEG", quality)
        if len(data) <= MAX_BYTES:
            return CheckedMedia("image/jpeg", data, note)
    raise MediaError(f"{name} stays larger than {MAX_BYTES} bytes however it is compressed")


def _encoded(image: "Image", form: str, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **({"quality": quality} if form == "JPEG" else {"optimize": True}))
    return out.getvalue()

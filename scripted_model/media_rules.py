"""The rules for images and documents: kind, bytes, pixels, count."""

import base64
import binascii
from typing import Final

from scripted_model.grammar import join
from scripted_model.images import ImageError, measure
from scripted_model.picture import Block, Dialect, MediaBlock, Message, ResultBlock
from scripted_model.violations import Violation

MAX_PIXELS: Final = 8000
"""Longest side of an image."""
MAX_BYTES: Final = 5 * 1024 * 1024
"""Bytes of an image as base64, which is how the strictest provider counts."""
MAX_PDF_BYTES: Final = 32 * 1024 * 1024
MAX_COUNT: Final = 20
"""Images and documents in one request."""


def media_of(message: Message) -> list[tuple[tuple[int, ...], MediaBlock]]:
    """Every image and document of a message, those inside tool results too, with its place."""
    found: list[tuple[tuple[int, ...], MediaBlock]] = []
    for at, block in enumerate(message.blocks):
        found += _inside(at, block)
    return found


def _inside(at: int, block: Block) -> list[tuple[tuple[int, ...], MediaBlock]]:
    if isinstance(block, MediaBlock):
        return [((at,), block)]
    if isinstance(block, ResultBlock):
        return [((at, inner), each) for inner, each in enumerate(block.media)]
    return []


def check_media(dialect: Dialect, message: Message, where: str) -> list[Violation]:
    """What is wrong with the media of one message, which stands at the path `where`."""
    found: list[Violation] = []
    for place, media in media_of(message):
        path = join(dialect, where, *(part for at in place for part in ("content", at)))
        found += _check(dialect, media, path)
    return found


def _check(dialect: Dialect, media: MediaBlock, path: str) -> list[Violation]:
    if not media.data:
        if media.url.startswith("https://") or media.url == "file":
            return []
        return [_violation(dialect, path, "the image is empty", "invalid_image_url")]
    pdf = media.mime == "application/pdf"
    limit = MAX_PDF_BYTES if pdf else MAX_BYTES
    if len(media.data) > limit:
        message = f"image exceeds 5 MB maximum: {len(media.data)} bytes > {limit} bytes"
        return [_violation(dialect, path, message, "image_file_too_large")]
    try:
        data = base64.b64decode(media.data, validate=True)
        wrong = _pdf_fault(data) if pdf else _image_fault(media.mime, data)
    except binascii.Error:
        return [_violation(dialect, path, "invalid base64 data", "invalid_base64_image")]
    except ImageError as error:
        message = f"Could not process image: {error}"
        return [_violation(dialect, path, message, "image_parse_error")]
    return [_violation(dialect, path, wrong, "invalid_image")] if wrong else []


def _pdf_fault(data: bytes) -> str:
    return "" if data.startswith(b"%PDF-") else "The PDF specified was not valid."


def _image_fault(mime: str, data: bytes) -> str:
    image = measure(data)
    if image.mime != mime:
        return (
            f"Image does not match the provided media type {mime}: "
            f"the image appears to be {image.mime}"
        )
    if max(image.width, image.height) > MAX_PIXELS:
        return (
            f"At least one of the image dimensions exceed max allowed size: {MAX_PIXELS} pixels "
            f"({image.width}x{image.height})"
        )
    return ""


def _violation(dialect: Dialect, path: str, message: str, code: str) -> Violation:
    if dialect == "anthropic":
        return Violation("media", f"{path}.image.source.base64: {message}", path)
    return Violation("media", f"Invalid image at '{path}': {message}", path, code)


def check_count(dialect: Dialect, count: int) -> list[Violation]:
    """Whether `count` media in one request are too many."""
    if count <= MAX_COUNT:
        return []
    message = f"Too many images: {count} > {MAX_COUNT}"
    return [Violation("media", message, "", "" if dialect == "anthropic" else "too_many_images")]


def media_tokens(message: Message) -> int:
    """Tokens that the media of a message count for: one for 750 pixels, as Anthropic counts."""
    return sum(_tokens(media) for _, media in media_of(message))


def _tokens(media: MediaBlock) -> int:
    try:
        image = measure(base64.b64decode(media.data))
    except ValueError:
        return max(1, len(media.data) // 64)
    return min(1600, max(1, image.width * image.height // 750))

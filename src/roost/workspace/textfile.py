"""Bytes of a file as text and back, such that what is not changed stays the same byte for byte."""

import codecs
import hashlib
from typing import Final

from msgspec import Struct

from roost.core.encodings import likely_encodings
from roost.core.errors import RoostError
from roost.core.text import clean, decode

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NUL_SAMPLE: Final = 8 * 1024
"""Git's rule: a NUL this early makes a file binary."""


class NotTextError(RoostError):
    """The file's bytes cannot be read as text without loss."""


class EncodingError(RoostError):
    """The text holds characters that the file's encoding cannot express. Nothing was written."""


def digest_of(data: bytes) -> str:
    """The content hash that stands for `data` in ledgers and checks."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class TextFile(Struct, frozen=True):
    """The decoded content of a file together with what is needed to write it back."""

    text: str
    """All characters after the byte order mark, line ends as they are in the file."""
    encoding: str
    bom: bytes
    certain: bool
    """False when the encoding is a guess among several that fit."""
    digest: str
    """`digest_of` the raw bytes."""

    def encode(self, text: str) -> bytes:
        """The bytes of the file if its text were `text`. Raises `EncodingError`."""
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise self._cannot_express(error.object[error.start]) from error
        if not self.certain and (unknown := _new_characters(self.text, text)):
            raise self._cannot_express(unknown)
        return self.bom + data

    def _cannot_express(self, character: str) -> EncodingError:
        doubt = "" if self.certain else " (a guess)"
        return EncodingError(
            f"the file's encoding {self.encoding}{doubt} cannot express {character!r}",
            hint="Use other characters, or convert the file to UTF-8 first.",
        )


def new_text(text: str) -> TextFile:
    """The `TextFile` that a file not yet written starts from: empty UTF-8 without a mark."""
    return TextFile(
        text=text, encoding="utf-8", bom=b"", certain=True, digest=digest_of(text.encode())
    )


def is_binary(data: bytes) -> bool:
    """Whether `data` looks like no text in any encoding that Roost reads."""
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return False
    return b"\x00" in data[:_NUL_SAMPLE]


def decode_file(data: bytes, name: str) -> TextFile:
    """`data` as text; `name` is for the message. Raises `NotTextError`.

    A byte order mark decides, then UTF-8, then the encoding that fits best. Whatever is chosen
    gives back exactly `data` when it is encoded again.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _exactly(data[len(mark) :], encoding)) is not None:
            return TextFile(text, encoding, mark, certain=True, digest=digest_of(data))
    if is_binary(data):
        raise NotTextError(f"{name} is a binary file", hint="Use a program that knows its format.")
    if (text := _exactly(data, "utf-8")) is not None:
        return TextFile(text, "utf-8", b"", certain=True, digest=digest_of(data))
    return _guessed(data, name)


def readable_text(data: bytes) -> str:
    """`data` as text to be read and not written back; what fits no encoding stays visible."""
    try:
        return clean(decode_file(data, "the file").text)
    except NotTextError:
        return decode(data)


def _exactly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
        return text if text.encode(encoding) == data else None
    except UnicodeError:
        return None


def _guessed(data: bytes, name: str) -> TextFile:
    for encoding, certain in likely_encodings(data):
        text = _exactly(data, encoding)
        if text is not None:
            return TextFile(text, encoding, b"", certain=certain, digest=digest_of(data))
    raise NotTextError(
        f"{name} is neither UTF-8 nor text in an encoding that can be recognised",
        hint="Convert it to UTF-8 first, for example with iconv.",
    )


def _new_characters(before: str, after: str) -> str:
    """The first non-ASCII character of `after` that `before` does not hold; empty if none."""
    if after.isascii():
        return ""
    known = set(before)
    return next((c for c in after if not c.isascii() and c not in known), "")

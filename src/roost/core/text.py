"""Text made safe: for the database and the wire, for the terminal, and cut without breaking it."""

import codecs
import re
from typing import Final

from roost.core.encodings import readable_encoding

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
REPLACEMENT: Final = "\ufffd"
ECHOED: Final = 120
"""Characters of a name that an error repeats."""
_GAP: Final = " … "


def clean(text: str) -> str:
    """`text` as valid UTF-8: lone surrogates become U+FFFD and NUL becomes its visible picture.

    This is the one gate for text that enters Roost: model arguments, tool output, file names, mail.
    """
    if text.isascii():
        return text.replace("\x00", "\u2400") if "\x00" in text else text
    return _SURROGATE.sub(REPLACEMENT, text).replace("\x00", "\u2400")


def terminal_safe(text: str) -> str:
    """`text` without anything a terminal could obey: C0, C1 and DEL become visible pictures.

    Tab and newline stay, carriage return before a newline is dropped.
    """
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<{code:02x}>"


def reveal(text: str) -> str:
    """`text` for an approval prompt: controls, bidirectional and zero-width characters escaped."""
    return _INVISIBLE.sub(lambda m: f"\\u{ord(m.group()):04x}", terminal_safe(text))


def cut(text: str, limit: int, mark: str = "…") -> str:
    """At most `limit` characters of `text`, with `mark` as the last of them when it was cut."""
    return text if len(text) <= limit else (text[: max(0, limit - len(mark))] + mark)[:limit]


def without_middle(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: its beginning, and a third of them of its end."""
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - len(_GAP)]}{_GAP}{text[len(text) - end :]}"


def echo(given: str) -> str:
    """What somebody gave as a name, as an error repeats it: clean, and short enough to be read."""
    return without_middle(clean(given), ECHOED)


def decode(data: bytes) -> str:
    """`data` as text: UTF-8 if it is, else the encoding that fits the whole of it best.

    Bytes that fit nothing stay visible as U+FFFD. The choice is made once for all of `data`.
    """
    try:
        return clean(data.decode("utf-8"))
    except UnicodeDecodeError:
        return clean(data.decode(readable_encoding(data), errors="replace"))


class StreamDecoder:
    """UTF-8 text from chunks that may end inside a character; invalid bytes become U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The characters completed by `data`; with `final` also what is left over."""
        return clean(self._decoder.decode(data, final))

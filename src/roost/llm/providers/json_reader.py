"""JSON read while it comes: a string as its characters, an object as its text up to its end."""

import re
from typing import Final

import msgspec

from roost.core.text import REPLACEMENT

_STOP: Final = re.compile(r'["\\]')
_STRUCTURE: Final = re.compile(r'["\\{}]')
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[0-9a-fA-F]{4}"
    r'|\\["\\/bfnrt]'
)
_UNFINISHED: Final = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3})?"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?"
)
"""What may become an escape, or a pair of them, with the next piece."""


class StringReader:
    """The inside of a JSON string, cut anywhere, as characters. Starts behind the opening quote."""

    def __init__(self) -> None:
        self.complete = False
        self._rest = ""

    def feed(self, text: str) -> str:
        """The characters that `text` completes; what follows the closing quote is ignored."""
        text, self._rest = self._rest + text, ""
        result = ""
        while text and not self.complete:
            found = _STOP.search(text)
            if found is None:
                return result + text
            result += text[: found.start()]
            text = text[found.start() :]
            if text.startswith('"'):
                self.complete = True
                return result
            if _UNFINISHED.fullmatch(text):
                self._rest = text
                return result
            escape = _ESCAPE.match(text)
            taken = escape.end() if escape else 1
            result += _unescaped(text[:taken])
            text = text[taken:]
        return result


def _unescaped(escape: str) -> str:
    try:
        return msgspec.json.decode(f'"{escape}"', type=str)
    except msgspec.DecodeError:
        return REPLACEMENT if escape.startswith("\\u") else escape


class ObjectReader:
    """The text of a JSON object, from its first brace to the brace that closes it."""

    def __init__(self) -> None:
        self.complete = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> str:
        """The part of `text` that belongs to the object."""
        if self.complete:
            return ""
        position = 0
        if self._escaped:
            self._escaped = False
            position = 1
        while found := _STRUCTURE.search(text, position):
            position = found.end()
            match found.group():
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    self._escaped = position == len(text)
                    position += 1
                case brace if not self._in_string:
                    self._depth += 1 if brace == "{" else -1
                    if self._depth == 0:
                        self.complete = True
                        return text[:position]
                case _:
                    pass
        return text

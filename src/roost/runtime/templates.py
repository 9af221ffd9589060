"""The words of a command's template: what stands behind its name is filled in. Pure."""

import re
import shlex
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

_WORD: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_NUMBERED: Final = re.compile(r"\$([1-9]\d*)")
_ALL: Final = "$ARGUMENTS"
_PLACE: Final = re.compile(rf"{_NUMBERED.pattern}|{re.escape(_ALL)}")
_SHELL: Final = re.compile(r"!`([^`]+)`")
_SPECIAL: Final = re.compile(r'([\\"$`])')
"""What a backslash takes the meaning from within double quotes."""


class ShellPiece(Struct, frozen=True):
    """A command line of a template, whose output takes its place."""

    command: str


Piece = str | ShellPiece


def words_of(arguments: str) -> list[str]:
    """The words of a command line; quotes hold several together."""
    return [next(filter(None, match.groups()), "") for match in _WORD.finditer(arguments)]


def placeholders(template: str) -> list[str]:
    """`$1`, `$2` … in the order of their numbers, then `$ARGUMENTS`: what the user may give."""
    numbers = sorted({int(number) for number in _NUMBERED.findall(template)})
    return [f"${number}" for number in numbers] + [_ALL] * (_ALL in template)


def filled(template: str, arguments: str) -> tuple[Piece, ...]:
    """The pieces of `template` with its placeholders filled.

    The highest numbered one takes all remaining words. Without any placeholder the arguments
    follow the template. What is filled in is never expanded again, and in a command line of the
    template it is quoted: it cannot become a command.
    """
    given = _Given(template, arguments)
    pieces: list[Piece] = []
    at = 0
    for match in _SHELL.finditer(template):
        pieces += [given.into_words(template[at : match.start()])]
        pieces += [ShellPiece(given.into_command(match.group(1)))]
        at = match.end()
    pieces.append(given.into_words(template[at:]))
    if not placeholders(template) and arguments.strip():
        pieces.append(f"\n\n{arguments.strip()}")
    return tuple(piece for piece in pieces if piece)


class _Given:
    """What the user gave, for the placeholders of one template."""

    def __init__(self, template: str, arguments: str) -> None:
        self._arguments = arguments
        self._words = words_of(arguments)
        self._last = max((int(number) for number in _NUMBERED.findall(template)), default=0)

    def _chosen(self, match: re.Match[str]) -> Sequence[str]:
        if match.group() == _ALL:
            return self._words
        number = int(match.group(1))
        return self._words[number - 1 :] if number == self._last else self._words[number - 1 :][:1]

    def into_words(self, text: str) -> str:
        """`text` with its placeholders filled as they are."""

        def fill(match: re.Match[str]) -> str:
            return self._arguments if match.group() == _ALL else " ".join(self._chosen(match))

        return _PLACE.sub(fill, text)

    def into_command(self, text: str) -> str:
        """The same of a command line, where what is filled in stays words."""

        def fill(match: re.Match[str]) -> str:
            chosen = self._chosen(match)
            match _quote_at(text, match.start()):
                case "":
                    return shlex.join(chosen)
                case "'":
                    return " ".join(chosen).replace("'", "'\\''")
                case '"':
                    return _SPECIAL.sub(r"\\\1", " ".join(chosen))

        return _PLACE.sub(fill, text)


def _quote_at(text: str, end: int) -> Literal["", "'", '"']:
    """Within which quotes of a shell the place `end` lies."""
    quote: Literal["", "'", '"'] = ""
    escaped = False
    for letter in text[:end]:
        if escaped:
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif letter in {"'", '"'} and quote in {"", letter}:
            quote = "" if quote else ("'" if letter == "'" else '"')
    return quote

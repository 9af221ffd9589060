"""What must be known to the letter: addresses, assignments, ids, versions, numbers. Pure."""

import re
from collections.abc import Iterator
from typing import Final

LINE: Final = 240
"""Characters of a line that is kept for what stands in it."""
PIECE: Final = 480
"""Characters of a few such lines together."""
ALIKE: Final = 3
"""Lines of one text that differ in numbers alone and are kept, the first ones."""
PIECES: Final = 60
"""Of one text at most: as many from its beginning as from its end."""
SCANNED: Final = 100_000
"""Characters of one text that are looked at, its beginning and its end."""
_STRONG: Final = (
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>`）)\]]{3,}"
    r"|\b[A-Z][A-Z0-9_]{2,}=\S+"
    r"|\b(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}:\d{2,5}\b|\blocalhost:\d{2,5}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b"
    r"|\b[0-9a-f]{7,64}\b(?<![0-9]{7})"
    r"|\bv?\d+\.\d+\.\d+[\w.+-]*"
    r"|\b(?=[A-Z-]*\d)[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b"
    r"|\b[A-Z0-9]{4,}(?:-[A-Z0-9]{4,})+\b"
    r"|`[^`\n]{3,80}`"
    r"|(?<![\w.])\d{4,}(?!\w|\.\d)"
)
EXACT: Final = re.compile(_STRONG, re.ASCII)  # a number is one beside Chinese too
_TELLING: Final = re.compile(
    _STRONG + r"|(?<![\w/])~?/(?:[\w.@+-]+/)+[\w.@+-]+|\b[A-Za-z_][\w.-]*=[^\s=]+"
    r"|\b[A-Za-z][\w-]*: *[\w./+-]*\d",
    re.ASCII,
)
_CHANGING: Final = re.compile(r"\b[0-9a-f]{7,}\b|\d+", re.ASCII)


def stretches(text: str) -> Iterator[str]:
    """The lines of `text`, long ones in several of at most `LINE` characters, which end with a
    sentence or a word if one ends there.
    """
    for line in map(str.strip, text.splitlines()):
        at = 0
        while len(line) - at > LINE:
            end = _end(line, at + LINE // 2, at + LINE)
            yield line[at:end].strip()
            at = end
        if line[at:].strip():
            yield line[at:].strip()


def _end(line: str, start: int, stop: int) -> int:
    for marks in (". ", "。", "；", " ", ","):
        found = line.rfind(marks, start, stop)
        if found > 0:
            return found + 1
    return stop


def telling(text: str) -> list[str]:
    """The lines of what a program printed that hold an exact value, some of them in each piece. Of
    lines that are alike but for their numbers the first few stand for all.
    """
    alike: dict[str, int] = {}
    lines: list[str] = []
    for line in stretches(_ends(text)):
        if not _TELLING.search(line):
            continue
        shape = _CHANGING.sub("0", line)
        alike[shape] = alike.get(shape, 0) + 1
        if alike[shape] <= ALIKE:
            lines.append(line)
    pieces = _joined(lines)
    if len(pieces) <= PIECES:
        return pieces
    return pieces[: PIECES // 2] + pieces[-(PIECES // 2) :]


def _ends(text: str) -> str:
    return text if len(text) <= SCANNED else text[: SCANNED // 2] + "\n" + text[-SCANNED // 2 :]


def _joined(lines: list[str]) -> list[str]:
    pieces: list[str] = []
    for line in lines:
        if pieces and len(pieces[-1]) + len(line) < PIECE:
            pieces[-1] += f"\n{line}"
        else:
            pieces.append(line)
    return pieces

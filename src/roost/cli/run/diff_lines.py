"""A unified diff for people: coloured, and cut to a bounded number of lines."""

import re
from typing import Final

from roost.cli.terminal import Colour, Look
from roost.core.text import cut

MOST_LINES: Final = 40
LONGEST_LINE: Final = 200
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_COLOURS: Final[dict[str, Colour]] = {"+": "green", "-": "red", "@": "cyan"}


def diff_lines(diff: str, look: Look, most: int = MOST_LINES) -> list[str]:
    """The hunks of `diff`, indented, without the file heads; what is left out is counted."""
    body = _hunks(diff)
    shown = [f"    {_painted(cut(line, LONGEST_LINE), look)}" for line in body[:most]]
    if len(body) > most:
        shown.append(look.paint(f"    … {len(body) - most} more lines", "dim"))
    return shown


def _hunks(diff: str) -> list[str]:
    """The lines of all hunks. Their heads say how long they are, so no line is taken for a head."""
    lines: list[str] = []
    old = new = 0
    for line in diff.split("\n"):
        if old <= 0 and new <= 0:
            if head := _HUNK.match(line):
                old, new = (int(count) if count else 1 for count in head.groups())
                lines.append(line)
            continue
        if not line.startswith("\\"):
            old -= not line.startswith("+")
            new -= not line.startswith("-")
        lines.append(line.removesuffix("\r"))
    return lines


def _painted(line: str, look: Look) -> str:
    colour = _COLOURS.get(line[:1])
    return look.paint(line, colour) if colour else line

"""Lines as editors count them: ended by `\\n`, `\\r\\n` or `\\r`, and by nothing else.

`str.splitlines` also splits at form feeds, U+2028 and others, and so disagrees with every editor,
with ripgrep and with the numbers that a model was shown.
"""

import re
from collections import Counter
from typing import Final, NamedTuple

_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r)|([^\r\n]+)")
_END: Final = re.compile(r"\r\n|\n|\r")


class Line(NamedTuple):
    """A line and what ends it."""

    text: str
    end: str
    """`\\n`, `\\r\\n`, `\\r`, or empty after the last line of a file that ends without one."""


def split_lines(text: str) -> list[Line]:
    """The lines of `text`; joining all their parts gives `text` again."""
    if "\r" not in text:
        pieces = text.split("\n")
        last = pieces.pop()
        lines = [Line(piece, "\n") for piece in pieces]
        return [*lines, Line(last, "")] if last else lines
    return [Line(m[1] or m[3] or "", m[2] or "") for m in _LINE.finditer(text)]


def unified_ends(text: str) -> str:
    """`text` with every line end as `\\n`."""
    return _END.sub("\n", text) if "\r" in text else text


def line_ends(text: str) -> list[str]:
    """All line ends of `text` in order."""
    return _END.findall(text)


def usual_end(text: str) -> str:
    """The line end that `text` uses most; `\\n` if it has none."""
    counts = Counter(line_ends(text))
    return counts.most_common(1)[0][0] if counts else "\n"

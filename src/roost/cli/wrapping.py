"""Texts of the help, as wide as the screen and no wider than one reads well."""

import re
import shutil
import textwrap
from collections.abc import Iterator
from typing import Final

WIDEST: Final = 100
"""Cells of a line of help at most, however wide the screen is."""
_ROW: Final = re.compile(r"( +\S+(?: \S+)* {2,})(\S.*)")
"""A line of a table: what is explained, and the explanation."""
_BELOW: Final = " " * 6
"""Before an explanation that has no room beside what it explains."""


def columns() -> int:
    """Cells of a line of help."""
    return max(40, min(WIDEST, shutil.get_terminal_size().columns)) - 2


def wrapped(text: str, width: int) -> str:
    """`text` in lines of at most `width` cells.

    Lines that are not indented are filled up paragraph by paragraph, the second column of a table
    is kept below itself or below the first, and other indented lines, such as examples, stay as
    they are.
    """
    return "\n".join(_lines(text.split("\n"), width))


def _lines(lines: list[str], width: int) -> Iterator[str]:
    paragraph: list[str] = []
    for line in lines:
        if line and not line.startswith(" "):
            paragraph.append(line)
            if line.endswith(":"):
                yield from _filled(paragraph, width)
                paragraph = []
            continue
        yield from _filled(paragraph, width)
        paragraph = []
        yield from _row(line, width)
    yield from _filled(paragraph, width)


def _filled(paragraph: list[str], width: int) -> list[str]:
    return textwrap.wrap(" ".join(paragraph), width, break_on_hyphens=False)


def _row(line: str, width: int) -> list[str]:
    row = _ROW.fullmatch(line)
    if len(line) <= width or row is None:
        return [line]
    fits_beside = len(row[1]) <= width // 2
    first = row[1] if fits_beside else _BELOW
    lines = textwrap.wrap(
        row[2],
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )
    return lines if fits_beside else [row[1].rstrip(), *lines]

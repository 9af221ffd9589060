"""How lists are written: tables whose columns line up, whatever script the text is in, and JSON."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from wcwidth import wcswidth, wcwidth

from roost.core.amounts import counted
from roost.core.text import terminal_safe

GAP: Final = "  "
_NARROWEST: Final = 12
_ROOM: Final = 30
"""Cells of the last column for which others make room."""


def table(
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    starts: Sequence[str] = (),
    *,
    spare: Sequence[str] = (),
) -> list[str]:
    """`rows` as lines; the first is the head. With `width` the last column is cut to fit, after
    those whose heads are in `spare` were left out one by one.

    `starts` stand as they are before the first cell of each row, for example the lines of a tree.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    for row, start in zip(cells, starts, strict=False):
        row[0] = start + row[0]
    for head in spare:
        widths = _widths(cells)
        if width is not None and _before_last(widths) + min(_ROOM, widths[-1]) > width:
            at = cells[0].index(head)
            cells = [[*row[:at], *row[at + 1 :]] for row in cells]
    widths = _widths(cells)
    if width is not None:
        widths[-1] = min(widths[-1], max(_NARROWEST, width - _before_last(widths)))
    return [
        GAP.join(_fit(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _widths(cells: list[list[str]]) -> list[int]:
    return [max(width_of(cell) for cell in column) for column in zip(*cells, strict=True)]


def _before_last(widths: list[int]) -> int:
    """Cells of a line before its last column."""
    return sum(widths[:-1]) + len(GAP) * (len(widths) - 1)


def cut_words(shown: int, there_are: int, noun: str) -> str:
    """What is said below a list that was cut: `50 sessions of 1,203; -n 1203 shows all`."""
    return f"{counted(shown, noun)} of {there_are:,}; -n {there_are} shows all\n"


def as_json(value: Any) -> str:
    """`value` as the lists show it with `--format json`: indented, for people and programs."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def one_line(text: str) -> str:
    """`text` without anything that would begin a new line or move a terminal."""
    return " ".join(terminal_safe(text).split())


def width_of(text: str) -> int:
    """The cells that `text` takes."""
    return len(text) if text.isascii() else max(0, wcswidth(text))


def _fit(text: str, size: int) -> str:
    """`text` in exactly `size` cells."""
    if width_of(text) > size:
        text = cut_to(text, size)
    return text + " " * (size - width_of(text))


def cut_to(text: str, size: int) -> str:
    """`text` in at most `size` cells."""
    if width_of(text) <= size:
        return text
    taken = ""
    used = 0
    for character in text:
        used += max(0, wcwidth(character))
        if used > size - 1:
            break
        taken += character
    return taken + "…"


def age(then: int, now: int) -> str:
    """How long ago `then` was, roughly; both in milliseconds since the epoch."""
    seconds = max(0, now - then) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "now"

"""Finding the place that a model quoted, exactly or with the small slips that models make.

Line ends never matter. Steps are tried in order and the first that finds anything decides, so a
looser step cannot compete with an exact match. A step only locates: what is written there is built
in `rebuild` from the characters that stand in the file.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final, Literal, NamedTuple

from roost.workspace import folding
from roost.workspace.lines import unified_ends

_BLANKS: Final = r"[^\S\n]*"
_LINE_START: Final = r"(?<![^\n])"
_LINE_END: Final = r"(?![^\n])"
_MAX_PLACES: Final = 10_000
_TAB_WIDTHS: Final = (4, 2, 8, 3)

Step = Literal["exact", "trailing blanks", "typography", "indentation"]
STEPS: Final[tuple[Step, ...]] = ("exact", "trailing blanks", "typography", "indentation")
Reindent = Callable[[str], str | None]
"""Turns the indentation that a model wrote into the file's; None where that is impossible."""


class Place(NamedTuple):
    """Where a quotation was found; offsets into `Haystack.text`."""

    start: int
    end: int
    reindent: Reindent


class Haystack:
    """A text with its line ends unified, and the way back to the text as it is."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = unified_ends(raw)

    @cached_property
    def _pairs(self) -> list[int]:
        """Offsets, in the unified text, of the line ends that were two characters."""
        if len(self.raw) == len(self.text):
            return []
        return [m.start() - i for i, m in enumerate(re.finditer("\r\n", self.raw))]

    def raw_offset(self, offset: int) -> int:
        """The offset in the raw text of a character of the unified text."""
        return offset + bisect_left(self._pairs, offset)

    def line_of(self, offset: int) -> int:
        """The number, from 1, of the line at `offset` of the unified text."""
        return self.text.count("\n", 0, offset) + 1


def find(haystack: Haystack, quoted: str, *, whole_lines: bool = False) -> tuple[Step, list[Place]]:
    """All places of `quoted` (line ends unified), by the first step that finds any.

    Overlapping places are all given. With `whole_lines` a place starts and ends with a line, and
    an empty quotation stands for an empty line; without, it must not be empty.
    """
    for step in STEPS:
        places = list(_by(step, haystack, quoted, whole_lines=whole_lines))
        if places:
            return step, places
    return "exact", []


def _by(step: Step, haystack: Haystack, quoted: str, *, whole_lines: bool) -> Iterator[Place]:
    if step == "exact" and not whole_lines:
        yield from _literal(haystack.text, quoted)
        return
    expression = _expression(step, quoted)
    if expression is None:
        return
    if whole_lines:
        expression = f"{_LINE_START}{expression}{_LINE_END}"
    for match in _overlapping(re.compile(expression), haystack.text):
        if step != "indentation":
            yield Place(*match.span(), _unchanged)
        elif reindent := _reindent(quoted.split("\n"), match[0].split("\n")):
            yield Place(*match.span(), reindent)


def _literal(text: str, quoted: str) -> Iterator[Place]:
    start = text.find(quoted)
    count = 0
    while start >= 0 and count < _MAX_PLACES:
        yield Place(start, start + len(quoted), _unchanged)
        start = text.find(quoted, start + 1)
        count += 1


def _overlapping(expression: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    start = 0
    for _ in range(_MAX_PLACES):
        match = expression.search(text, start)
        if match is None:
            return
        yield match
        start = match.start() + 1
        if start > len(text):
            return


def _unchanged(indentation: str) -> str:
    return indentation


def _expression(step: Step, quoted: str) -> str | None:
    if not quoted.strip():
        # Blank text fits anywhere once blanks are ignored.
        return re.escape(quoted) if step == "exact" else None
    lines = quoted.split("\n")
    match step:
        case "exact":
            return re.escape(quoted)
        case "trailing blanks":
            return _loose_ends(lines, re.escape)
        case "typography":
            return _loose_ends(lines, folding.pattern)
        case "indentation":
            return _loose_starts(lines)


def _loose_ends(lines: list[str], literal: Callable[[str], str]) -> str:
    """Every line may have other blanks at its end. A last line without any may end mid-line."""
    stripped = [literal(line.rstrip()) for line in lines]
    ending = _BLANKS + _LINE_END if lines[-1] != lines[-1].rstrip() else ""
    return f"{_BLANKS}\n".join(stripped) + ending


def _loose_starts(lines: list[str]) -> str:
    """Every line may be indented otherwise; the first and last must be whole lines.

    An empty first or last piece stands for a line end alone and not for a blank line.
    """
    bodies = [f"{_BLANKS}{folding.pattern(line.strip())}{_BLANKS}" for line in lines]
    if not lines[0]:
        bodies[0] = ""
    if not lines[-1]:
        bodies[-1] = ""
    start = _LINE_START if lines[0] else ""
    return start + "\n".join(bodies) + (_LINE_END if lines[-1] else "")


def _reindent(quoted: list[str], found: list[str]) -> Reindent | None:
    """The one rule that turns every quoted indentation into the found one, if there is one."""
    pairs = {
        (indentation_of(q), indentation_of(f))
        for q, f in zip(quoted, found, strict=True)
        if q.strip()
    }
    for rule in _rules(min(pairs, key=lambda pair: len(pair[0]))):
        if all(rule(ours) == theirs for ours, theirs in pairs):
            return rule
    return None


def indentation_of(line: str) -> str:
    """The blanks in front of `line`."""
    return line[: len(line) - len(line.lstrip())]


def _rules(sample: tuple[str, str]) -> Iterator[Reindent]:
    quoted, found = sample
    if found.endswith(quoted):
        added = found.removesuffix(quoted)
        yield lambda blanks: added + blanks
    if quoted.endswith(found):
        removed = quoted.removesuffix(found)
        yield lambda blanks: blanks[len(removed) :] if blanks.startswith(removed) else None
    for width in _TAB_WIDTHS:
        for exchange in (_exchanging(" " * width, "\t"), _exchanging("\t", " " * width)):
            base = exchange(quoted)
            if base is not None and found.endswith(base):
                yield _after(found.removesuffix(base), exchange)


def _after(added: str, exchange: Reindent) -> Reindent:
    def rule(blanks: str) -> str | None:
        exchanged = exchange(blanks)
        return None if exchanged is None else added + exchanged

    return rule


def _exchanging(unit: str, other: str) -> Reindent:
    def rule(blanks: str) -> str | None:
        count = len(blanks) // len(unit)
        return other * count if blanks == unit * count else None

    return rule

"""Differences of texts in bounded time.

`difflib` takes minutes on large files with many equal lines. Here lines that occur once on each
side anchor the comparison ("patience diff"), `difflib` only sees the small gaps between anchors,
and a gap that is still too big is shown as replaced.
"""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from roost.core.text import cut
from roost.workspace.lines import Line, split_lines

_MAX_PAIRS: Final = 100_000
"""Pairs of equal items that a gap may have for `difflib` to be let at it (some 50 ms)."""
_LINE_CHARS: Final = 2000

_MAX_DEPTH: Final = 8
_CONTEXT: Final = 3

Tag = Literal["equal", "replace", "delete", "insert"]


class Change(NamedTuple):
    """Items `old_start:old_end` of one sequence against `new_start:new_end` of the other."""

    tag: Tag
    old_start: int
    old_end: int
    new_start: int
    new_end: int


class FileDiff(Struct, frozen=True):
    """What changed in a file, for people and models."""

    text: str
    """Unified diff; empty if nothing changed."""
    additions: int
    deletions: int
    cut: bool = False
    """`text` was shortened to the size limit; the counts are complete."""


Span = tuple[int, int, int, int]


def changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Change]:
    """How to turn `old` into `new`: equal stretches and differences, in order, without gaps."""
    merged: list[Change] = []
    for change in _compared(old, new, (0, len(old), 0, len(new)), 0):
        if merged and merged[-1].tag == "equal" == change.tag:
            last = merged.pop()
            merged.append(last._replace(old_end=change.old_end, new_end=change.new_end))
        else:
            merged.append(change)
    return merged


def _compared(
    old: Sequence[Hashable], new: Sequence[Hashable], span: Span, depth: int
) -> Iterator[Change]:
    a, a_end, b, b_end = span
    start, start_new = a, b
    while a < a_end and b < b_end and old[a] == new[b]:
        a, b = a + 1, b + 1
    if a > start:
        yield Change("equal", start, a, start_new, b)
    tail = 0
    while a < a_end - tail and b < b_end - tail and old[a_end - 1 - tail] == new[b_end - 1 - tail]:
        tail += 1
    yield from _between(old, new, (a, a_end - tail, b, b_end - tail), depth)
    if tail:
        yield Change("equal", a_end - tail, a_end, b_end - tail, b_end)


def _between(
    old: Sequence[Hashable], new: Sequence[Hashable], span: Span, depth: int
) -> Iterator[Change]:
    """The changes of a span whose first items differ, and whose last items do."""
    a, a_end, b, b_end = span
    if a == a_end or b == b_end:
        if a < a_end or b < b_end:
            yield Change("delete" if a < a_end else "insert", a, a_end, b, b_end)
        return
    pairs = _pairs(old[a:a_end], new[b:b_end])
    if 0 < pairs <= _MAX_PAIRS:
        matcher = difflib.SequenceMatcher(None, old[a:a_end], new[b:b_end], autojunk=False)
        for tag, i, i_end, j, j_end in matcher.get_opcodes():
            yield Change(tag, a + i, a + i_end, b + j, b + j_end)
        return
    anchors = _anchors(old, new, span) if pairs and depth < _MAX_DEPTH else []
    if not anchors:
        yield Change("replace", a, a_end, b, b_end)
        return
    for i, j in [*anchors, (a_end, b_end)]:
        yield from _compared(old, new, (a, i, b, j), depth + 1)
        if i < a_end:
            yield Change("equal", i, i + 1, j, j + 1)
        a, b = i + 1, j + 1


def _pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    """How many pairs of equal items there are: what `difflib` has to look at."""
    counts = Counter(new)
    return sum(counts[item] for item in old if item in counts)


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], span: Span) -> list[tuple[int, int]]:
    """Positions of items that occur once on both sides, as many as keep their order."""
    a, a_end, b, b_end = span
    places = _single(new, b, b_end)
    pairs = [(i, places[item]) for item, i in _single(old, a, a_end).items() if item in places]
    # Longest increasing run of the new positions, by patience sorting.
    tops: list[int] = []
    piles: list[tuple[int, int]] = []
    back: dict[tuple[int, int], tuple[int, int] | None] = {}
    for pair in pairs:
        pile = bisect_left(tops, pair[1])
        back[pair] = piles[pile - 1] if pile else None
        tops[pile : pile + 1] = [pair[1]]
        piles[pile : pile + 1] = [pair]
    chain: list[tuple[int, int]] = []
    step = piles[-1] if piles else None
    while step is not None:
        chain.append(step)
        step = back[step]
    return chain[::-1]


def _single(items: Sequence[Hashable], start: int, end: int) -> dict[Hashable, int]:
    counts = Counter(items[start:end])
    return {items[i]: i for i in range(start, end) if counts[items[i]] == 1}


def unified(name: str, before: str, after: str, *, limit: int = 50_000) -> FileDiff:
    """The difference of two texts of the file `name`, with at most about `limit` characters."""
    old, new = split_lines(before), split_lines(after)
    found = changes(old, new)
    differences = [c for c in found if c.tag != "equal"]
    additions = sum(c.new_end - c.new_start for c in differences)
    deletions = sum(c.old_end - c.old_start for c in differences)
    if not differences:
        return FileDiff(text="", additions=0, deletions=0)
    pieces = [f"--- {name}\n+++ {name}\n"]
    room = limit
    for hunk in _hunks(found):
        for piece in _rendered(hunk, old, new):
            room -= len(piece)
            if room < 0:
                pieces.append("… the rest of the difference is left out\n")
                return FileDiff("".join(pieces), additions, deletions, cut=True)
            pieces.append(piece)
    return FileDiff(text="".join(pieces), additions=additions, deletions=deletions)


def _hunks(found: list[Change]) -> Iterator[list[Change]]:
    """Groups of changes whose context lines touch, with the context cut to three lines."""
    hunk: list[Change] = []
    for position, change in enumerate(found):
        if change.tag != "equal":
            hunk.append(change)
            continue
        length = change.old_end - change.old_start
        first, last = position == 0, position == len(found) - 1
        if hunk and (last or length > 2 * _CONTEXT):
            yield [*hunk, _head(change)]
            hunk = []
        if not hunk:
            hunk = [] if last else [_tail(change)]
        elif not first:
            hunk.append(change)
    if any(change.tag != "equal" for change in hunk):
        yield hunk


def _head(change: Change) -> Change:
    keep = min(_CONTEXT, change.old_end - change.old_start)
    return change._replace(old_end=change.old_start + keep, new_end=change.new_start + keep)


def _tail(change: Change) -> Change:
    keep = min(_CONTEXT, change.old_end - change.old_start)
    return change._replace(old_start=change.old_end - keep, new_start=change.new_end - keep)


def _rendered(hunk: list[Change], old: list[Line], new: list[Line]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    before = _range(first.old_start, last.old_end)
    after = _range(first.new_start, last.new_end)
    yield f"@@ -{before} +{after} @@\n"
    for change in hunk:
        if change.tag == "equal":
            yield from _marked(" ", old[change.old_start : change.old_end])
            continue
        yield from _marked("-", old[change.old_start : change.old_end])
        yield from _marked("+", new[change.new_start : change.new_end])


def _range(start: int, end: int) -> str:
    # Unified diffs name an empty range by the line before it.
    return f"{start + 1},{end - start}" if end > start else f"{start},0"


def _marked(mark: str, lines: list[Line]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{cut(line.text, _LINE_CHARS)}\n"
        if not line.end:
            yield "\\ No newline at end of file\n"

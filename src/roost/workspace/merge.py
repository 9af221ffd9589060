"""Three-way merge of bytes, line by line: clean or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

from roost.workspace.diff import changes


class _Hunk(NamedTuple):
    """Lines `start:end` of the base, and what stands in their place."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """`base` with what both sides changed in it; None if they changed the same or adjoining lines.

    A change that both sides made alike is made once.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines = _lines(base)
    hunks = sorted({*_hunks(lines, _lines(ours)), *_hunks(lines, _lines(theirs))})
    pieces: list[bytes] = []
    at = 0
    for number, hunk in enumerate(hunks):
        if number and hunk.start <= hunks[number - 1].end:
            return None
        pieces += lines[at : hunk.start]
        pieces += hunk.lines
        at = hunk.end
    return b"".join([*pieces, *lines[at:]])


def _lines(data: bytes) -> list[bytes]:
    """With their ends; joined they are `data` again."""
    pieces = data.split(b"\n")
    last = pieces.pop()
    return [*(piece + b"\n" for piece in pieces), *([last] if last else [])]


def _hunks(base: Sequence[bytes], side: Sequence[bytes]) -> list[_Hunk]:
    found: list[_Hunk] = []
    for one in changes(base, side):
        if one.tag == "equal":
            continue
        hunk = _Hunk(one.old_start, one.old_end, tuple(side[one.new_start : one.new_end]))
        if found and found[-1].end == hunk.start:
            last = found.pop()
            hunk = _Hunk(last.start, hunk.end, last.lines + hunk.lines)
        found.append(hunk)
    return found

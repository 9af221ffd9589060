"""Replacing a quoted piece of a text by another, and saying clearly why it cannot be done."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.core.errors import RoostError, UsageError
from roost.core.text import cut
from roost.workspace.lines import unified_ends
from roost.workspace.matching import Haystack, Place, Step, find
from roost.workspace.rebuild import replacement

_NUMBERED: Final = re.compile(r"^\s*\d+\s*[|:\t→]", re.MULTILINE)
_LISTED_LINES: Final = 20
_HINT_LINES: Final = 20_000
"""A file with more lines is not searched for a similar place."""


class Edit(Struct, frozen=True):
    """What a model asks for: `old` becomes `new`."""

    old: str
    new: str
    all: bool = False
    """Replace every place instead of the only one."""


class Edited(Struct, frozen=True):
    """A text after its edits."""

    text: str
    lines: tuple[int, ...]
    """The numbers of the lines where the last edit was made, as they were before it."""
    steps: tuple[Step, ...]
    """How each edit was found; `exact` is as it should be."""


class MatchError(RoostError):
    """The quoted text is nowhere in the file, or in more than one place."""


def apply_edits(text: str, edits: Sequence[Edit]) -> Edited:
    """`text` after all of `edits`, each made on the result of the one before; all or none.

    Raises `UsageError` for an edit that asks for nothing and `MatchError`, whose message names the
    edit if there are several.
    """
    if not edits:
        raise UsageError("there is no edit", hint="Give at least one.")
    lines: tuple[int, ...] = ()
    steps: list[Step] = []
    for number, edit in enumerate(edits, start=1):
        try:
            text, lines, step = _applied(text, edit)
        except (UsageError, MatchError) as error:
            if len(edits) == 1:
                raise
            raise type(error)(
                f"edit {number} of {len(edits)}: {error.message}",
                hint=f"{error.hint} Nothing was changed, the other edits included.",
            ) from error
        steps.append(step)
    return Edited(text=text, lines=lines, steps=tuple(steps))


def _applied(text: str, edit: Edit) -> tuple[str, tuple[int, ...], Step]:
    quoted, wanted = unified_ends(edit.old), unified_ends(edit.new)
    if not quoted:
        raise UsageError(
            "the text to replace is empty",
            hint="Quote the place to change; to create a file or replace all of it, write it.",
        )
    if quoted == wanted:
        raise UsageError("old and new text are the same", hint="Nothing needs to change.")
    haystack = Haystack(text)
    step, places = find(haystack, quoted)
    places = _chosen(haystack, quoted, places, every=edit.all)
    changed = _replaced(haystack, places, quoted, wanted)
    if changed == text:
        raise UsageError("the edit changes nothing", hint="The file already reads like that.")
    return changed, tuple(haystack.line_of(place.start) for place in places), step


def _chosen(haystack: Haystack, quoted: str, places: list[Place], *, every: bool) -> list[Place]:
    if not places:
        raise missing(haystack, quoted)
    if every:
        kept: list[Place] = []
        for place in places:
            if not kept or place.start >= kept[-1].end:
                kept.append(place)
        return kept
    if len(places) > 1:
        raise ambiguous(haystack, places)
    return places


def _replaced(haystack: Haystack, places: list[Place], quoted: str, wanted: str) -> str:
    pieces: list[str] = []
    done = 0
    for place in places:
        text = replacement(haystack, place, quoted, wanted)
        if text is None:
            raise missing(haystack, quoted)
        pieces += (haystack.raw[done : haystack.raw_offset(place.start)], text)
        done = haystack.raw_offset(place.end)
    return "".join([*pieces, haystack.raw[done:]])


def ambiguous(haystack: Haystack, places: Sequence[Place]) -> MatchError:
    """The refusal of a quotation that fits several places, with their line numbers."""
    lines = [haystack.line_of(place.start) for place in places[:_LISTED_LINES]]
    listed = ", ".join(map(str, lines)) + (", …" if len(places) > len(lines) else "")
    return MatchError(
        f"the text to replace occurs {len(places)} times, at lines {listed}",
        hint="Quote more of the surrounding lines so that it is unique, or ask to replace all.",
    )


def missing(haystack: Haystack, quoted: str) -> MatchError:
    """The refusal of a quotation that fits nowhere, with the most similar place if there is one."""
    hint = "Read the file again and quote it exactly."
    if len(_NUMBERED.findall(quoted)) == quoted.strip("\n").count("\n") + 1:
        hint = "Leave out the line numbers that reading shows in front of the lines."
    if near := _nearest(haystack.text.split("\n"), quoted.strip("\n").split("\n")):
        first, last, shown = near
        hint += f" The most similar place is at lines {first} to {last}:\n{shown}"
    return MatchError("the text to replace is not in the file", hint=hint)


def _nearest(lines: list[str], quoted: list[str]) -> tuple[int, int, str] | None:
    """First and last number and text of the stretch of lines that is most like `quoted`."""
    if len(lines) > _HINT_LINES:
        return None
    start = _most_common_lines(lines, quoted)
    if start is None:
        start = _most_similar_line(lines, quoted)
    if start is None:
        return None
    stretch = lines[start : start + len(quoted)]
    shown = "\n".join(cut(line, 200) for line in stretch[:_LISTED_LINES])
    return start + 1, start + len(stretch), shown


def _most_common_lines(lines: list[str], quoted: list[str]) -> int | None:
    """Where the stretch starts that shares most non-blank lines with `quoted`, place by place."""
    wanted: dict[str, list[int]] = {}
    for position, line in enumerate(quoted):
        if line.strip():
            wanted.setdefault(line.strip(), []).append(position)
    votes = Counter(
        number - position
        for number, line in enumerate(lines)
        for position in wanted.get(line.strip(), ())[:_LISTED_LINES]
        if number >= position
    )
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _most_similar_line(lines: list[str], quoted: list[str]) -> int | None:
    position = max(range(len(quoted)), key=lambda i: len(quoted[i].strip()))
    sample = quoted[position].strip()[:200]
    alike = [line.strip() for line in lines if abs(len(line.strip()) - len(sample)) < len(sample)]
    close = difflib.get_close_matches(sample, list(dict.fromkeys(alike))[:2000], n=1)
    if not close:
        return None
    return max(0, next(i for i, line in enumerate(lines) if line.strip() == close[0]) - position)

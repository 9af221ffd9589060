"""Applying the hunks of one file: each finds its place by the lines it quotes."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roost.workspace.edit import MatchError, ambiguous, missing
from roost.workspace.lines import split_lines, usual_end
from roost.workspace.matching import Haystack, Place, Step, find
from roost.workspace.patch import Hunk
from roost.workspace.rebuild import replacement


class _Splice(NamedTuple):
    """Raw text that takes the place of a stretch of the haystack."""

    start: int
    end: int
    text: str


def apply_hunks(text: str, hunks: Iterable[Hunk]) -> tuple[str, list[Step]]:
    """`text` after all `hunks`, and how each found its place.

    A hunk belongs below the one before it unless its lines stand only above. A place that is not
    the only one is refused. Raises `MatchError` with the hunk's line in the patch.
    """
    haystack = Haystack(text)
    splices: list[_Splice] = []
    steps: list[Step] = []
    for hunk in hunks:
        try:
            step, splice = _splice(haystack, hunk, splices)
        except MatchError as error:
            raise MatchError(
                f"patch line {hunk.number}: {error.message}", hint=error.hint
            ) from error
        splices.append(splice)
        steps.append(step)
    return _spliced(haystack, splices), steps


def _spliced(haystack: Haystack, splices: list[_Splice]) -> str:
    pieces: list[str] = []
    done = 0
    for splice in sorted(splices, key=lambda s: s.start):
        pieces += (haystack.raw[done : haystack.raw_offset(splice.start)], splice.text)
        done = haystack.raw_offset(splice.end)
    return "".join([*pieces, haystack.raw[done:]])


def _splice(haystack: Haystack, hunk: Hunk, earlier: list[_Splice]) -> tuple[Step, _Splice]:
    position = earlier[-1].end if earlier else 0
    if not hunk.old:
        return "exact", _insertion(haystack, hunk, position)
    quoted = "\n".join(hunk.old)
    step, found = find(haystack, quoted, whole_lines=True)
    places = [p for p in found if _is_free(haystack, p, earlier)]
    if hunk.at_end:
        last = len(haystack.text.removesuffix("\n"))
        places = [p for p in places if p.end >= last] or places
    if not places:
        raise missing(haystack, quoted)
    place = _chosen(haystack, hunk, places, position)
    return step, _replaced(haystack, hunk, place)


def _is_free(haystack: Haystack, place: Place, earlier: list[_Splice]) -> bool:
    if place.start == place.end == len(haystack.text) > 0:
        return False  # after the last line end there is no further line
    return all(place.end < s.start or place.start >= s.end for s in earlier)


def _chosen(haystack: Haystack, hunk: Hunk, places: list[Place], position: int) -> Place:
    candidates = [p for p in places if p.start >= position] or places
    if len(candidates) > 1 and hunk.anchors:
        # Each stretch of lines that the anchors lead to offers the first place below it.
        offered = (
            next((p for p in candidates if p.start >= above), None)
            for above in _anchored(haystack, hunk, position)
        )
        candidates = list(dict.fromkeys(p for p in offered if p is not None)) or candidates
    if len(candidates) > 1:
        raise ambiguous(haystack, candidates)
    return candidates[0]


def _anchored(haystack: Haystack, hunk: Hunk, position: int) -> list[int]:
    """Offsets of the lines that match the last anchor, below matches of the others in order."""
    lines = list(_offsets(haystack))
    below = 0
    found: list[int] = []
    for anchor in hunk.anchors:
        for same in (str, str.rstrip, str.strip):
            found = [at for at, line in lines if at >= below and same(line) == same(anchor)]
            if found:
                break
        else:
            raise MatchError(
                f"the line after @@ is not in the file: {anchor.strip()!r}",
                hint="Quote a line exactly, or leave the words after @@ out.",
            )
        below = found[0] + 1
    return [at for at in found if at >= position] or found


def _offsets(haystack: Haystack) -> Iterator[tuple[int, str]]:
    at = 0
    for line in haystack.text.split("\n"):
        yield at, line
        at += len(line) + 1


def _replaced(haystack: Haystack, hunk: Hunk, place: Place) -> _Splice:
    quoted, wanted = "\n".join(hunk.old), "\n".join(hunk.new)
    if not hunk.new:
        # With the lines goes one line end: their own, or at the end of the file the one before.
        if place.end < len(haystack.text):
            place, quoted = place._replace(end=place.end + 1), quoted + "\n"
        elif place.start > 0:
            place, quoted = place._replace(start=place.start - 1), "\n" + quoted
    text = replacement(haystack, place, quoted, wanted)
    if text is None:
        raise missing(haystack, quoted)
    return _Splice(place.start, place.end, text)


def _insertion(haystack: Haystack, hunk: Hunk, position: int) -> _Splice:
    """New lines below the anchor, or at the end of the file if there is none."""
    text = haystack.text
    end = usual_end(haystack.raw)
    at = len(text)
    if hunk.anchors and not hunk.at_end:
        places = _anchored(haystack, hunk, position)
        if len(places) > 1:
            raise ambiguous(haystack, [Place(at, at, str) for at in places])
        following = text.find("\n", places[0])
        at = following + 1 if following >= 0 else len(text)
        if following >= 0:
            before = haystack.raw[: haystack.raw_offset(at)]
            end = split_lines(before[-2:])[-1].end or end
    lines = end.join(hunk.new)
    if at == len(text) and text and not text.endswith("\n"):
        return _Splice(at, at, end + lines)
    return _Splice(at, at, lines + end)

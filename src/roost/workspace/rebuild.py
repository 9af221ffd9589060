"""What a place reads after a change, made from the characters that stand there.

A model asks for "this becomes that" in its own words of the place. Only the difference between
this and that is carried over: untouched lines, line ends, blanks at line ends and typographic
characters stay as they are in the file.
"""

from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct

from roost.workspace.diff import changes
from roost.workspace.folding import folded, units
from roost.workspace.lines import line_ends, split_lines, unified_ends, usual_end
from roost.workspace.matching import Haystack, Place, Reindent, indentation_of


class _Region(Struct, frozen=True):
    """The found stretch of the file, cut at its line ends."""

    found: list[str]
    quoted: list[str]
    ends: list[str]
    """One less than `found`: what follows the last piece is not part of the region."""
    default_end: str
    """For the first inserted line where no neighbour in the region has an end."""
    reindent: Reindent

    def end_after(self, position: int | None) -> str | None:
        """The line end that follows a found piece, if it has one in the region."""
        if position is None or position >= len(self.ends):
            return None
        return self.ends[position]


class _Piece(Struct, frozen=True):
    text: str
    source: int | None
    """The found piece that it stays or becomes; None for an inserted one."""


def replacement(haystack: Haystack, place: Place, quoted: str, wanted: str) -> str | None:
    """The raw text that stands at `place` once `quoted` has become `wanted` (ends unified).

    None if the file's indentation cannot express a wanted line.
    """
    start, end = haystack.raw_offset(place.start), haystack.raw_offset(place.end)
    region = _Region(
        found=haystack.text[place.start : place.end].split("\n"),
        quoted=quoted.split("\n"),
        ends=line_ends(haystack.raw[start:end]),
        default_end=_neighbour_end(haystack.raw, start, end),
        reindent=place.reindent,
    )
    return _joined(region, wanted.split("\n"))


def rewritten(before: str, content: str) -> str:
    """The text of a file whose whole content becomes `content`: lines that stay keep their end."""
    if "\r" not in before and "\r" not in content:
        return content
    ends = line_ends(before)
    if not ends:
        return content
    pieces = unified_ends(before).split("\n")
    region = _Region(pieces, pieces, ends, usual_end(before), lambda blanks: blanks)
    return _joined(region, unified_ends(content).split("\n")) or ""


def _neighbour_end(raw: str, start: int, end: int) -> str:
    """The end of the line that the region ends in, else of the line before the region."""
    line_end = min((i for i in (raw.find("\r", end), raw.find("\n", end)) if i >= 0), default=-1)
    if line_end >= 0:
        return "\r\n" if raw.startswith("\r\n", line_end) else raw[line_end]
    before = split_lines(raw[max(0, start - 65536) : start])
    return next((line.end for line in reversed(before) if line.end), "\n")


def _joined(region: _Region, wanted: list[str]) -> str | None:
    pieces = _pieces(region, wanted)
    if pieces is None:
        return None
    out: list[str] = []
    above = region.ends[0] if region.ends else region.default_end
    for piece in pieces[:-1]:
        end = region.end_after(piece.source) or above
        if not piece.text and out and above == "\r" and end == "\n":
            end = "\r"  # together the two would be the end of one line
        above = end
        out += (piece.text, above)
    return "".join([*out, pieces[-1].text])


def _pieces(region: _Region, wanted: list[str]) -> list[_Piece] | None:
    pieces: list[_Piece] = []
    for change in changes(region.quoted, wanted):
        sources = range(change.old_start, change.old_end)
        if change.tag == "equal":
            pieces += [_Piece(region.found[i], i) for i in sources]
            continue
        lines = wanted[change.new_start : change.new_end]
        for source, line in list(zip_longest(sources, lines))[: len(lines)]:
            text = _written(region, source, line)
            if text is None:
                return None
            pieces.append(_Piece(text, source))
    return pieces


def _written(region: _Region, source: int | None, line: str) -> str | None:
    """The wanted `line` in the file's indentation and, where it changes one, that line's words."""
    blanks = indentation_of(line)
    if source is None:
        return _indented(region.reindent, blanks, line)
    found, quoted = region.found[source], region.quoted[source]
    if found == quoted:
        return line
    ours, theirs = indentation_of(quoted), indentation_of(found)
    inner = _carried_over(found[len(theirs) :], quoted[len(ours) :], line[len(blanks) :])
    if blanks == ours:
        return theirs + inner
    return _indented(region.reindent, blanks, blanks + inner)


def _indented(reindent: Reindent, blanks: str, line: str) -> str | None:
    if not line.strip():
        return line
    changed = reindent(blanks)
    return None if changed is None else changed + line[len(blanks) :]


def _carried_over(found: str, quoted: str, wanted: str) -> str:
    """`found` with the difference between `quoted` and `wanted` applied, unit by unit."""
    theirs, ours, new = units(found), units(quoted), units(wanted)
    if not _same(theirs, ours):
        return wanted
    out: list[str] = []
    for change in changes(ours, new):
        if change.tag == "equal":
            out += theirs[change.old_start : change.old_end]
        else:
            out += new[change.new_start : change.new_end]
    return "".join(out + theirs[len(ours) :])


def _same(theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether both fold to the same, blanks at the end aside."""
    pairs = zip_longest(theirs, ours, fillvalue=" ")
    return all(folded(a) == folded(b) or (a + b).isspace() for a, b in pairs)

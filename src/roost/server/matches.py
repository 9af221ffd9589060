"""Lines found by content in the shape of ripgrep's JSON, which is OpenCode's."""

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from roost.core.text import clean
from roost.server.wire import Submatch, TextMatch, Words
from roost.workspace.search import FoundLine


def text_matches(lines: Iterable[FoundLine], pattern: str, folder: Path) -> list[TextMatch]:
    """`lines` with their places; paths are relative to `folder`."""
    matches: list[TextMatch] = []
    for path, group in groupby(lines, key=lambda line: line.path):
        found = list(group)
        offsets = _offsets(path, {line.line for line in found})
        name = Words(clean(path.relative_to(folder).as_posix()))
        matches += [
            TextMatch(
                path=name,
                lines=Words(clean(line.text)),
                line_number=line.line,
                absolute_offset=offsets.get(line.line, 0),
                submatches=_submatches(clean(line.text), pattern),
            )
            for line in found
        ]
    return matches


def _offsets(path: Path, wanted: set[int]) -> dict[int, int]:
    """Where in its file each wanted line (from 1) begins, in bytes."""
    offsets: dict[int, int] = {}
    place = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number in wanted:
                    offsets[number] = place
                place += len(line)
                if len(offsets) == len(wanted):
                    break
    except OSError:
        return offsets  # it is gone since it was searched
    return offsets


def _submatches(text: str, pattern: str) -> list[Submatch]:
    """Where in `text` a pattern without special characters stands, in bytes.

    For other patterns nothing is told: matching them again here could take for ever.
    """
    if re.escape(pattern) != pattern and not pattern.replace(" ", "").isalnum():
        return []
    found: list[Submatch] = []
    start = text.find(pattern)
    while start >= 0:
        before = len(text[:start].encode())
        found.append(Submatch(Words(pattern), before, before + len(pattern.encode())))
        start = text.find(pattern, start + len(pattern))
    return found

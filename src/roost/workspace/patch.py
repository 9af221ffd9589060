"""The patch format of `apply_patch`: several files, lines found by their content.

The grammar is the one that Codex published and OpenCode reads, with the liberties that models take:
a here-document or code fence around it, blank lines without the leading space, line numbers in
`@@`.
"""

import re
from typing import Final

from msgspec import Struct

from roost.core.errors import UsageError

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_FILE: Final = re.compile(r"\*\*\* (Add|Update|Delete) File:[ \t]*(.*)")
_MOVE: Final = re.compile(r"\*\*\* Move to:[ \t]*(.*)")
_END_OF_FILE: Final = "*** End of File"
_RANGES: Final = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)? @@ ?")


class Hunk(Struct, frozen=True):
    """Consecutive lines of a file and what they become."""

    number: int
    """The line of the patch where it starts, for messages."""
    anchors: tuple[str, ...]
    """Lines that stand, in this order, somewhere above the place (after `@@`)."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False
    """The old lines are the last of the file."""


class AddFile(Struct, frozen=True):
    """Create a file."""

    path: str
    content: str


class DeleteFile(Struct, frozen=True):
    """Delete a file."""

    path: str


class UpdateFile(Struct, frozen=True):
    """Change a file, move it, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


FilePatch = AddFile | DeleteFile | UpdateFile


def patch_paths(patch: tuple[FilePatch, ...]) -> list[str]:
    """Every path that a patch touches, as the model wrote it."""
    paths: list[str] = []
    for part in patch:
        paths.append(part.path)
        if isinstance(part, UpdateFile) and part.move_to is not None:
            paths.append(part.move_to)
    return paths


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """The parts of the patch `text`. Raises `UsageError` with the number of the wrong line."""
    return _Parser(text.replace("\r\n", "\n").split("\n")).parsed()


class _Parser:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._last = len(lines)

    def parsed(self) -> tuple[FilePatch, ...]:
        stripped = [line.strip() for line in self._lines]
        if _BEGIN not in stripped:
            raise _wrong(1, "the patch does not begin", f"The first line must be {_BEGIN!r}.")
        self._at = stripped.index(_BEGIN) + 1
        if _END not in stripped[self._at :]:
            raise _wrong(
                len(stripped), "the patch does not end", f"The last line must be {_END!r}."
            )
        self._last = len(stripped) - 1 - stripped[::-1].index(_END)
        parts: list[FilePatch] = []
        while self._skip_blank():
            parts.append(self._part())
        if not parts:
            raise _wrong(self._at, "the patch is empty", "Name at least one file.")
        return tuple(parts)

    @property
    def _line(self) -> str | None:
        """The line to be read next; None at the end of the patch."""
        return self._lines[self._at] if self._at < self._last else None

    def _skip_blank(self) -> bool:
        while (line := self._line) is not None and not line.strip():
            self._at += 1
        return self._line is not None

    def _part(self) -> FilePatch:
        header = _FILE.match((self._line or "").strip())
        if header is None:
            raise self._wrong(
                "a line that belongs to no file",
                "Start with '*** Add File: ', '*** Update File: ' or '*** Delete File: '.",
            )
        kind, path = header[1], header[2].strip()
        if not path:
            raise self._wrong("a file without a name", f"Write '*** {kind} File: PATH'.")
        self._at += 1
        if kind == "Delete":
            return DeleteFile(path)
        return AddFile(path, self._added()) if kind == "Add" else self._update(path)

    def _added(self) -> str:
        lines: list[str] = []
        while (line := self._line) is not None and not _is_header(line):
            if line.startswith("+"):
                lines.append(line[1:])
            elif line.strip():
                raise self._wrong("a line of a new file without +", "Put + in front of each line.")
            else:
                lines += [""] if self._followed_by_added() else []
            self._at += 1
        return "".join(f"{line}\n" for line in lines)

    def _followed_by_added(self) -> bool:
        """Whether the blank line here stands between lines of the new file."""
        rest = self._lines[self._at + 1 : self._last]
        return next((line for line in rest if line.strip()), "").startswith("+")

    def _update(self, path: str) -> UpdateFile:
        move_to = None
        if moved := _MOVE.match((self._line or "").strip()):
            move_to = moved[1].strip()
            if not move_to:
                raise self._wrong("a move without a target", "Write '*** Move to: PATH'.")
            self._at += 1
        hunks: list[Hunk] = []
        while (line := self._line) is not None and not _is_header(line):
            if not line.strip() and not self._followed_by_hunk():
                self._at += 1
                continue
            hunks.append(self._hunk())
        if not hunks and move_to is None:
            raise self._wrong(f"an update of {path} without a change", "Add lines with - and +.")
        return UpdateFile(path, tuple(hunks), move_to)

    def _followed_by_hunk(self) -> bool:
        rest = self._lines[self._at : self._last]
        following = next((line for line in rest if line.strip()), "*** ")
        return not _is_header(following)

    def _hunk(self) -> Hunk:
        number = self._at + 1
        anchors = self._anchors()
        old: list[str] = []
        new: list[str] = []
        at_end = False
        while (line := self._line) is not None and not _is_header(line) and line[:2] != "@@":
            if line.strip() == _END_OF_FILE:
                self._at += 1
                at_end = True
                break
            self._sort(line, old, new)
            self._at += 1
        if self._line is None or _is_header(self._line) or at_end:
            _drop_blank_tail(old, new)
        if not old and not new:
            raise _wrong(number, "a change without lines", "Add lines with a space, - or +.")
        return Hunk(number, anchors, tuple(old), tuple(new), at_end=at_end)

    def _anchors(self) -> tuple[str, ...]:
        anchors: list[str] = []
        while (line := self._line) is not None and line[:2] == "@@":
            text = _RANGES.sub("", line[2:].removeprefix(" "), count=1)
            text = text.removesuffix(" @@")
            if text.strip() and text.strip() != "@@":
                anchors.append(text)
            self._at += 1
        return tuple(anchors)

    def _sort(self, line: str, old: list[str], new: list[str]) -> None:
        sign, text = line[:1], line[1:]
        if sign not in {"+", "-", " ", ""}:
            raise self._wrong(
                f"a line that starts with {sign!r}",
                "In an update each line starts with a space (kept), - (removed) or + (added).",
            )
        if sign != "+":
            old.append(text)
        if sign != "-":
            new.append(text)

    def _wrong(self, what: str, hint: str) -> UsageError:
        return _wrong(self._at + 1, what, hint)


def _is_header(line: str) -> bool:
    return _FILE.match(line.strip()) is not None


def _drop_blank_tail(old: list[str], new: list[str]) -> None:
    """Blank lines before the next file are spacing of the patch, not context."""
    while old and new and not old[-1] and not new[-1]:
        del old[-1], new[-1]


def _wrong(number: int, what: str, hint: str) -> UsageError:
    return UsageError(f"patch line {number}: {what}", hint=hint)

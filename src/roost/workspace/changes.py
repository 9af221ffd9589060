"""Planned changes of files, and the one way to carry them out: all of them or none.

A plan holds what the file was when it was planned, so a person can be shown the difference and
asked before anything is written. Whatever happened to the file meanwhile makes the plan void.
"""

import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import ConflictError, NotFoundError, RoostError
from roost.core.failpoints import failpoint
from roost.workspace.atomic import StagedFile, remove_file
from roost.workspace.diff import FileDiff, unified
from roost.workspace.edit import Edit, apply_edits
from roost.workspace.files import file_digest, read_bytes, read_text
from roost.workspace.ledger import ReadLedger
from roost.workspace.locks import PathLocks
from roost.workspace.matching import Step
from roost.workspace.rebuild import rewritten
from roost.workspace.textfile import NotTextError, TextFile, digest_of, new_text

FILE_LOCKS: Final = PathLocks()
"""Files belong to the whole process, and so do the locks on them."""


class FileChange(Struct, frozen=True):
    """One file before and after."""

    real: Path
    before: TextFile | None
    """None where no file exists; then none may exist when the change is made."""
    after: str | None
    """The whole new text; None deletes the file."""
    diff: FileDiff
    like: TextFile | None = None
    """For a new file: the file whose encoding it takes, if not UTF-8."""
    mode: int | None = None
    """For a new file: permission bits, if not the usual ones."""
    steps: tuple[Step, ...] = ()
    """How each edit found its place; empty for other changes."""

    @property
    def data(self) -> bytes | None:
        """The bytes to be written. Raises `EncodingError`."""
        if self.after is None:
            return None
        return (self.before or self.like or new_text("")).encode(self.after)


def present_text(real: Path) -> TextFile | None:
    """The text of the file at `real`, or None if nothing is there. Raises as `read_text` does."""
    try:
        return read_text(real)
    except NotFoundError:
        return None


def present_content(real: Path) -> TextFile | None:
    """Like `present_text`, but a file that is no text counts as one whose text cannot be shown."""
    try:
        return present_text(real)
    except NotTextError:
        return TextFile("", "latin-1", b"", certain=False, digest=file_digest(real) or "")


def plan_change(
    real: Path, before: TextFile | None, after: str | None, *, steps: tuple[Step, ...] = ()
) -> FileChange:
    """The change of `before` into exactly `after`."""
    old = before.text if before else ""
    return FileChange(real, before, after, unified(str(real), old, after or ""), steps=steps)


def plan_write(real: Path, content: str, ledger: ReadLedger) -> FileChange:
    """Make `content` the whole text of `real`, new or not; lines that stay keep their line end.

    Raises `StaleError`, and `NotTextError` if what is there is no text.
    """
    before = present_text(real)
    if before is None:
        return plan_change(real, None, content)
    ledger.require_current(real, before)
    if before.bom:
        content = content.removeprefix("\ufeff")
    return plan_change(real, before, rewritten(before.text, content))


def plan_edits(real: Path, edits: Sequence[Edit], ledger: ReadLedger) -> FileChange:
    """Apply `edits` to `real`. Raises as `apply_edits` and `read_text` do, and `StaleError`."""
    before = read_text(real)
    ledger.require_current(real, before)
    edited = apply_edits(before.text, edits)
    return plan_change(real, before, edited.text, steps=edited.steps)


def commit(changes: Sequence[FileChange], ledger: ReadLedger) -> None:
    """Carry out all of `changes`, or none of them if anything fails.

    Raises `ConflictError` if a file is not what it was when its change was planned. Afterwards the
    actor of `ledger` counts as having read what was written.
    """
    pairs = [(change, change.data) for change in changes]
    with FILE_LOCKS.held(change.real for change in changes), ExitStack() as made:
        missing = [p for change in changes for p in _missing_parents(change.real)]
        made.callback(_remove_empty, missing)
        with ExitStack() as stack:
            staged = [
                (change, _staged(change, data, stack))
                for change, data in pairs
                if change.before is None or data is None or digest_of(data) != change.before.digest
            ]
            _carry_out(changes, staged)
        made.pop_all()
    for change, data in pairs:
        if data is None:
            ledger.forget(change.real)
        else:
            seen = not change.steps or ledger.knows_all(change.real)
            ledger.note(change.real, digest_of(data), change.after, complete=seen)


def _staged(change: FileChange, data: bytes | None, stack: ExitStack) -> StagedFile | None:
    if data is None:
        return None
    return stack.enter_context(StagedFile(change.real, data, mode=change.mode))


def _carry_out(
    changes: Sequence[FileChange], staged: Sequence[tuple[FileChange, StagedFile | None]]
) -> None:
    for change in changes:
        _require_unchanged(change)
    originals = {c.real: _original(c.real) for c in changes if c.before is not None}
    done: list[FileChange] = []
    try:
        # Deletions come last: until then every content exists somewhere.
        for change, file in sorted(staged, key=lambda pair: pair[1] is None):
            _require_unchanged(change)
            if file is None:
                remove_file(change.real)
            else:
                file.put()
            done.append(change)
            failpoint("file.put")
    except BaseException as error:
        _roll_back(done, originals, error)
        raise


def _original(real: Path) -> tuple[bytes, int]:
    return read_bytes(real), stat.S_IMODE(real.lstat().st_mode)


def _require_unchanged(change: FileChange) -> None:
    expected = change.before.digest if change.before else None
    if file_digest(change.real) != expected:
        happened = "appeared" if expected is None else "changed"
        raise ConflictError(
            f"{change.real} {happened} while the change was prepared; nothing was written",
            hint="Read it again before you change it.",
        )


def _roll_back(
    done: Sequence[FileChange], originals: dict[Path, tuple[bytes, int]], cause: BaseException
) -> None:
    for change in reversed(done):
        try:
            if change.before is None:
                remove_file(change.real)
                continue
            data, mode = originals[change.real]
            with StagedFile(change.real, data, mode=mode) as file:
                file.put()
        except RoostError as error:
            raise RoostError(
                f"{change.real} could not be set back: {error.message}",
                hint="It keeps its new content; the other files are as they were.",
            ) from cause


def _missing_parents(real: Path) -> list[Path]:
    """Folders of `real` that do not exist yet, the deepest first."""
    return [parent for parent in real.parents if not parent.exists()]


def _remove_empty(directories: Sequence[Path]) -> None:
    for directory in sorted(set(directories), key=lambda p: -len(p.parts)):
        with suppress(OSError):  # never made, or somebody put something in it
            directory.rmdir()

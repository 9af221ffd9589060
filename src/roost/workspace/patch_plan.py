"""What a parsed patch makes of the files: planned changes, or a refusal that names the line."""

import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from roost.core.errors import ConflictError, NotFoundError
from roost.workspace.changes import FileChange, plan_change, present_content, present_text
from roost.workspace.edit import MatchError
from roost.workspace.hunks import apply_hunks
from roost.workspace.ledger import ReadLedger
from roost.workspace.matching import Step
from roost.workspace.patch import AddFile, DeleteFile, FilePatch, UpdateFile
from roost.workspace.textfile import TextFile

Resolve = Callable[[str], Path]
"""The real path for a path of the patch; raises what the guard raises."""


def plan_patch(
    patch: Iterable[FilePatch], resolve: Resolve, ledger: ReadLedger
) -> list[FileChange]:
    """The changes that `patch` asks for, one a file. Nothing is written.

    Raises `NotFoundError`, `ConflictError` (a new file that exists, a stale one), `NotTextError`
    and `MatchError`.
    """
    planner = _Planner(resolve, ledger)
    for part in patch:
        planner.add(part)
    return planner.changes()


class _Planner:
    """The files as they will be after the parts so far; later parts see what earlier ones did."""

    def __init__(self, resolve: Resolve, ledger: ReadLedger) -> None:
        self._resolve = resolve
        self._ledger = ledger
        self._before: dict[Path, TextFile | None] = {}
        self._after: dict[Path, str | None] = {}
        self._moved: dict[Path, Path] = {}
        """New path to old."""
        self._steps: dict[Path, tuple[Step, ...]] = {}

    def add(self, part: FilePatch) -> None:
        real = self._resolve(part.path)
        match part:
            case AddFile():
                self._require_absent(real)
                self._after[real] = part.content
            case DeleteFile():
                self._present(real, present_content)
                self._after[real] = None
            case UpdateFile():
                self._update(real, part)
            case _:
                assert_never(part)

    def changes(self) -> list[FileChange]:
        return [
            self._change(real, before, self._after[real])
            for real, before in self._before.items()
            if before is not None or self._after[real] is not None
        ]

    def _change(self, real: Path, before: TextFile | None, after: str | None) -> FileChange:
        change = plan_change(real, before, after, steps=self._steps.get(real, ()))
        source = self._moved.get(real)
        if before is not None or source is None or self._before[source] is None:
            return change
        mode = stat.S_IMODE(source.lstat().st_mode)
        return replace(change, like=self._before[source], mode=mode)

    def _load(self, real: Path, read: Callable[[Path], TextFile | None]) -> str | None:
        """The text of `real` after the parts so far; None if there is no such file."""
        if real not in self._before:
            before = read(real)
            if before is not None:
                self._ledger.require_current(real, before)
            self._before[real] = before
            self._after[real] = before.text if before else None
        return self._after[real]

    def _present(self, real: Path, read: Callable[[Path], TextFile | None]) -> str:
        text = self._load(real, read)
        if text is None:
            raise NotFoundError(f"{real} does not exist", hint="Add it instead, or check the path.")
        return text

    def _require_absent(self, real: Path) -> None:
        if self._load(real, present_content) is not None:
            raise ConflictError(f"{real} exists already", hint="Update it instead.")

    def _update(self, real: Path, part: UpdateFile) -> None:
        text = self._present(real, present_text)
        try:
            text, steps = apply_hunks(text, part.hunks)
        except MatchError as error:
            raise MatchError(f"{part.path}: {error.message}", hint=error.hint) from error
        if part.move_to is not None:
            target = self._resolve(part.move_to)
            if target != real:
                self._require_absent(target)
                self._after[real] = None
                self._moved[target] = self._moved.get(real, real)
                real = target
        self._after[real] = text
        self._steps[real] = (*self._steps.get(real, ()), *steps)

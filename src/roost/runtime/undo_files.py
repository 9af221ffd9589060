"""The part of undo that reads and writes files; all of it is for a thread, and may be slow."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.sessions.file_changes import LISTED, ChangedFile, FileDiff, changed_files
from roost.workspace.snapshot_changes import COUNTED, Changes, Sides, patch_text
from roost.workspace.snapshot_models import DiffLimits, Patch, SnapshotDiff
from roost.workspace.snapshot_plan import RevertPlan
from roost.workspace.snapshots import Snapshots

_DIFF_CHARS: Final = 64 * 1024
"""Of the difference that a session shows while its end is taken back."""
_SHOWN: Final = DiffLimits(files=LISTED, file_chars=256 * 1024, chars=4 * 1024 * 1024)


class Prepared(Struct, frozen=True):
    """A revert that can be carried out."""

    plan: RevertPlan
    lost: int
    """Patches of which nothing is kept any more: their changes stay."""


def prepare(snapshots: Snapshots, patches: Sequence[Patch], undos: Sequence[Patch]) -> Prepared:
    """Plan to take back `patches`, once `undos`, which came after them, are taken back.

    Raises `SnapshotLostError` if of `undos` nothing is kept, and `StorageError`.
    """
    changes = Changes(snapshots.store)
    kept = [one for one in patches if changes.is_kept(one)]
    return Prepared(snapshots.plan(kept, undos), len(patches) - len(kept))


def changed_by(store: Path, patches: Sequence[Patch]) -> list[ChangedFile]:
    """What `patches` changed in all, with the lines that came and went."""
    changes = Changes(store)
    files = dict(sorted(changes.files(patches).items())[:LISTED])
    counted = changes.diff(files, COUNTED)
    return changed_files(files, {one.path: (one.additions, one.deletions) for one in counted})


def diffs(store: Path, files: dict[str, Sides], hide: Callable[[str], str]) -> list[FileDiff]:
    """`files` with their differences, as clients know them; `hide` takes secrets out of texts."""
    return [_shown(one, hide) for one in Changes(store).diff(files, _SHOWN)]


def diffs_of(store: Path, patches: Sequence[Patch], hide: Callable[[str], str]) -> list[FileDiff]:
    """The same for what `patches` changed."""
    return diffs(store, Changes(store).files(patches), hide)


def _shown(one: SnapshotDiff, hide: Callable[[str], str]) -> FileDiff:
    return FileDiff(one.path, one.additions, one.deletions, one.status, hide(patch_text(one)))


def diff_text(store: Path, undos: Sequence[Patch], hide: Callable[[str], str]) -> str:
    """What `undos` did, as one unified diff of bounded size; a file for which there is no room is
    there by its name.
    """
    pieces: list[str] = []
    room = _DIFF_CHARS
    for one in diffs_of(store, undos, hide):
        text = one.patch
        if not text or len(text) > room:
            text = f"--- a/{one.file}\n+++ b/{one.file}\n"
        room -= len(text)
        pieces.append(text)
    return "".join(pieces)

"""What differs between two snapshots, file by file, in bounded size."""

from collections.abc import Callable, Iterable

from roost.core.text import clean, decode
from roost.workspace.diff import changes
from roost.workspace.lines import split_lines
from roost.workspace.snapshot_models import OPAQUE, DiffLimits, Entry, SnapshotDiff, Status
from roost.workspace.snapshot_trees import Difference, Trees
from roost.workspace.textfile import is_binary


def tree_diff(
    trees: Trees, before: bytes, after: bytes, limits: DiffLimits, conceal: Callable[[str], bool]
) -> list[SnapshotDiff]:
    """The files in which two trees differ, by path. Raises `SnapshotLostError`."""
    return diff_of(trees, trees.compare(before, after), limits, conceal)


def diff_of(
    trees: Trees,
    differences: Iterable[Difference],
    limits: DiffLimits,
    conceal: Callable[[str], bool],
) -> list[SnapshotDiff]:
    """The files of `differences`, with their texts within `limits`. Raises `SnapshotLostError`."""
    found: list[SnapshotDiff] = []
    room = limits.chars
    for number, difference in enumerate(differences):
        if number >= limits.files:
            found.append(bare(difference))
            continue
        one = _compared(trees, difference, min(room, limits.file_chars), conceal)
        room -= len(one.before) + len(one.after)
        found.append(one)
    return found


def bare(difference: Difference) -> SnapshotDiff:
    """A file without its texts, and without its lines being counted."""
    path, old, new = difference
    return SnapshotDiff(
        path=clean(path),
        status=_status(old, new),
        additions=0,
        deletions=0,
        before="",
        after="",
        cut=True,
    )


def _compared(
    trees: Trees, difference: Difference, room: int, conceal: Callable[[str], bool]
) -> SnapshotDiff:
    path, old, new = difference
    sides = [trees.content(one) if one and one.mode != OPAQUE else b"" for one in (old, new)]
    unkept = any(one is not None and one.mode == OPAQUE for one in (old, new))
    binary = unkept or any(is_binary(side) for side in sides)
    if binary:
        additions = deletions = 0
        before = after = ""
    else:
        before, after = (decode(side) for side in sides)
        additions, deletions = _counted(before, after)
    cut = len(before) + len(after) > room or conceal(clean(path))
    return SnapshotDiff(
        path=clean(path),
        status=_status(old, new),
        additions=additions,
        deletions=deletions,
        before="" if cut else before,
        after="" if cut else after,
        binary=binary,
        cut=cut,
    )


def _counted(before: str, after: str) -> tuple[int, int]:
    """Lines added and lines taken away."""
    differences = [c for c in changes(split_lines(before), split_lines(after)) if c.tag != "equal"]
    return (
        sum(c.new_end - c.new_start for c in differences),
        sum(c.old_end - c.old_start for c in differences),
    )


def _status(old: Entry | None, new: Entry | None) -> Status:
    if old is None:
        return "added"
    return "modified" if new is not None else "deleted"

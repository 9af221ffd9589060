"""What several patches changed in all: each file before the first of them and after the last."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from roost.core.text import clean
from roost.workspace.diff import unified
from roost.workspace.snapshot_diff import bare, diff_of
from roost.workspace.snapshot_models import (
    DiffLimits,
    Entry,
    Patch,
    SnapshotDiff,
    SnapshotLostError,
)
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_plan import differences
from roost.workspace.snapshot_trees import Trees

COUNTED: Final = DiffLimits(files=10_000, file_chars=0, chars=0)
"""For those who want to know how many lines came and went, and no texts."""
_PATCH_CHARS: Final = 50_000


class Sides(NamedTuple):
    """A file before and after; None where it was not."""

    before: Entry | None
    after: Entry | None


def joined(earlier: Mapping[str, Sides], later: Mapping[str, Sides]) -> dict[str, Sides]:
    """The files of `later`, each as it was before `earlier` where that knows it too."""
    return {
        path: Sides(earlier[path].before if path in earlier else sides.before, sides.after)
        for path, sides in later.items()
    }


class Changes:
    """Reads patches from the store of a project. For any thread; not for several at once."""

    def __init__(self, store: Path) -> None:
        self._trees = Trees(ObjectStore(store))

    def files(self, patches: Iterable[Patch]) -> dict[str, Sides]:
        """What `patches` changed, the oldest first, by path; not what ended as it began, nor what
        snapshots that are gone would tell.
        """
        found: dict[str, Sides] = {}
        for patch in patches:
            with suppress(SnapshotLostError, ValueError):
                told = differences(self._trees, patch)
                one = {clean(path): Sides(old, new) for path, old, new in told}
                found |= joined(found, one)
        return {path: sides for path, sides in found.items() if sides.before != sides.after}

    def is_kept(self, patch: Patch) -> bool:
        """Whether the store still tells what a patch changed."""
        try:
            list(differences(self._trees, patch))
        except (SnapshotLostError, ValueError):
            return False
        return True

    def diff(
        self,
        files: Mapping[str, Sides],
        limits: DiffLimits,
        conceal: Callable[[str], bool] = lambda _: False,
    ) -> list[SnapshotDiff]:
        """The texts of `files` within `limits`, by path; of what is lost there are none."""
        found: list[SnapshotDiff] = []
        for path, sides in sorted(files.items()):
            difference = (path, sides.before, sides.after)
            try:
                found += diff_of(self._trees, [difference], limits, conceal)
            except SnapshotLostError:
                found.append(bare(difference))
            limits = _less(limits, found[-1])
        return found


def _less(limits: DiffLimits, used: SnapshotDiff) -> DiffLimits:
    chars = max(0, limits.chars - len(used.before) - len(used.after))
    return DiffLimits(files=max(0, limits.files - 1), file_chars=limits.file_chars, chars=chars)


def patch_text(one: SnapshotDiff, limit: int = _PATCH_CHARS) -> str:
    """A file as a unified diff, with at most about `limit` characters; empty for what is no text,
    concealed, or too long to be shown.
    """
    if one.binary or one.cut:
        return ""
    text = unified(one.path, one.before, one.after, limit=limit)
    if text.cut or not text.text:
        return ""
    old = "/dev/null" if one.status == "added" else f"a/{one.path}"
    new = "/dev/null" if one.status == "deleted" else f"b/{one.path}"
    _, _, body = text.text.split("\n", 2)
    return f"--- {old}\n+++ {new}\n{body}"

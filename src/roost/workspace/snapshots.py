"""Snapshots of a project's files, so that what an agent did to them can be undone.

They lie in a private git repository below Roost's data, written without git; the user's own
repository is never touched, and none is needed. A snapshot is the id of a tree. It holds every file
that no `.gitignore` names, links as links, up to the limits of `SnapshotLimits`; of what is too
large, of other repositories in the folder and of what cannot be read it holds that it is there.

Files that hold secrets, such as `.env`, belong to it where git would take them too: an edit of such
a file is what a user wants to undo most. They are on the same disk already, below the same user;
the store is readable by nobody else, and a file that others may not read comes back as such.
`diff` shows nothing of files that its caller conceals.

How to use it, from a thread (everything here does file I/O and may wait for it):

- Around a tool of unknown reach, such as a command: `track()` right before and right after it, so
  that only what changed while it ran is taken for its doing, and not what the user did meanwhile.
  `compare(before, after)` makes the `Patch` to be kept. Tools that name their files beforehand
  need no look at others: see `snapshot_written.py`; `follow` tells the snapshot after them.
- To undo: `plan` the patches, the oldest first; show `plan.report`; keep `plan.report.undo`; then
  `apply`. To undo that: `unrevert` its report. All of it works after a restart.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from roost.core.clock import now_ms
from roost.core.errors import StorageError, UsageError
from roost.core.text import clean
from roost.workspace import snapshot_index, snapshot_prune
from roost.workspace.snapshot_diff import tree_diff
from roost.workspace.snapshot_forced import ForcedPaths
from roost.workspace.snapshot_index import INDEXES, Folder, foretold, id_of, write_trees
from roost.workspace.snapshot_models import (
    DiffLimits,
    Entry,
    Patch,
    Pruned,
    RevertReport,
    SnapshotDiff,
    SnapshotLimits,
    SnapshotLostError,
    TooManyFilesError,
)
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_plan import RevertPlan, carry_out, plan_revert
from roost.workspace.snapshot_roots import Roots
from roost.workspace.snapshot_scan import Scanner, paths_below
from roost.workspace.snapshot_trees import Trees
from roost.workspace.snapshot_watch import Told

_SAVED_EVERY: Final = 30.0
"""Seconds between two savings of the index, which cost about a microsecond a file."""
_NOTED_EVERY: Final = 3_600_000
"""Milliseconds after which a snapshot that is handed out again is noted again."""
_DAY: Final = 24 * 3600.0
KEPT_FOR: Final = 7 * _DAY
"""Seconds that a snapshot is kept which nobody names, by default."""
_PRUNING: Final = 5.0
"""Seconds that one `prune` takes at most, by default."""
_HEX: Final = frozenset("0123456789abcdef")


def store_of(data: Path, project_id: str) -> Path:
    """Where the snapshots of a project lie; all its working trees share them."""
    return data / "snapshots" / project_id


class Snapshots:
    """The snapshots of the files below `root`, kept in the folder `store`.

    Several processes may work on one store at once. Nothing below `excluded` is looked at (Roost's
    own data), nor the store itself. `warn` is told in words what users should know: that snapshots
    were lost, or that none can be made. Methods may be called from any thread.
    """

    def __init__(
        self,
        root: Path,
        store: Path,
        *,
        warn: Callable[[str], None],
        excluded: Iterable[Path] = (),
        limits: SnapshotLimits | None = None,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.store = Path(os.path.realpath(store))
        self._limits = limits or SnapshotLimits()
        self._warn = warn
        self._objects = ObjectStore(self.store)
        self._roots = Roots(self._objects)
        outside = [Path(os.path.realpath(one)) for one in (store, *excluded)]
        self._halt = threading.Event()
        self._scanner = Scanner(self.root, self._objects, self._limits, outside, self._halt.is_set)
        self._forced = ForcedPaths(self.root)
        self._told = Told(self.root)
        self._lock = threading.RLock()
        self._index: Folder | None = None
        self._begun = False
        self._complete = False
        self._unseen: set[str] = set()
        self._last: str | None = None
        self._foretold: str | None = None
        self._state: tuple[int, int] | None = None
        self._noted_at = 0
        self._saved = 0.0
        self._unsaved = False
        self._refused = False

    def track(self, changed: Iterable[Path | str] | None = None) -> str | None:
        """Make a snapshot and give its id, a tree of git: the same for the same files.

        `changed` names what may have changed since the last call, absolute or relative to the root:
        only that is looked at; nothing at all if it is empty. None: anything may have changed. An
        id of None: no snapshot can be made of this folder, and `warn` was told why.
        Raises `StorageError` (a full disk) and `NotFoundError` (the folder is gone).
        """
        with self._lock:
            if self._refused:
                return None
            named = self._told_names() if changed is None else paths_below(self.root, changed)
            doubt = changed is None and named is not None and self._told.is_due
            if named is not None:
                named += self._unseen
            if self._last and named == [] and not doubt and self._is_current() and self._is_noted():
                return self._last
            try:
                found = self._tracked(named)
                if doubt:
                    whole = self._tracked(None)
                    self._told.confirm(found, whole)
                    return whole
                return found
            except TooManyFilesError as error:
                self._refused = True
                self._forget()
                self._warn(f"{error.message}. {error.hint}")
                return None
            except StorageError:
                self._forget()
                if not self._prepare():
                    raise
                return self._tracked(None)
            except BaseException:
                self._forget()
                raise

    @property
    def last(self) -> str | None:
        """The newest snapshot that was made or foretold here, if any; waits for nothing."""
        return self._foretold or self._last

    def follow(self, changed: Iterable[Path | str]) -> str | None:
        """The snapshot after `changed` were written, where that is known at once: None before the
        first look at all files, and while another look goes on. Raises as `track` does.
        """
        if not self._complete or not self._lock.acquire(blocking=False):
            return None
        try:
            return self.track(changed)
        finally:
            self._lock.release()

    def foretell(self, after: Mapping[str, Entry | None]) -> str | None:
        """The snapshot that there will be once files are as in `after`, by path; without a look at
        them, so only of files that are kept already. None where `follow` must tell.

        It is stored by the next look that finds the files so, and not before.
        """
        if not self._complete or not self._lock.acquire(blocking=False):
            return None
        try:
            if not (self._index and self._is_current() and foretold(self._index, after)):
                return None
            self._unseen.update(after)  # whether it came so is seen at the next look
            self._foretold = id_of(self._index).hex()
            return self._foretold
        finally:
            self._lock.release()

    def patch(self, since: str, changed: Iterable[Path | str] | None = None) -> Patch | None:
        """What changed since the snapshot `since`, with a new snapshot; None if none can be made.

        Raises as `track` and `compare` do.
        """
        now = self.track(changed)
        return None if now is None else self.compare(since, now)

    def compare(self, before: str, after: str) -> Patch:
        """Which files differ between two snapshots. Raises `SnapshotLostError`."""
        if before == after:
            return Patch(before, after, ())
        found = self._trees().compare(_id(before), _id(after))
        return Patch(before, after, tuple(clean(path) for path, _, _ in found))

    def diff(
        self,
        before: str,
        after: str,
        *,
        limits: DiffLimits | None = None,
        conceal: Callable[[str], bool] = lambda _: False,
    ) -> list[SnapshotDiff]:
        """The files that differ between two snapshots, with their texts within `limits`.

        `conceal` is asked by path whether the content of a file may not be shown.
        Raises `SnapshotLostError`.
        """
        return tree_diff(self._trees(), _id(before), _id(after), limits or DiffLimits(), conceal)

    def plan(self, patches: Sequence[Patch], undos: Sequence[Patch] = ()) -> RevertPlan:
        """Plan to make the files of `patches`, the oldest first, what they were before them.

        `undos` are what earlier reverts did since, perhaps in part: that is taken back first.

        What the user changed since stays: another place of the same text by a merge, otherwise the
        file is left alone and reported as a conflict. The report's `undo` is stored already.
        Raises `SnapshotLostError` and `StorageError`.
        """
        for one in (*patches, *undos):
            _require_ids((one.before, one.after))
        with self._lock:
            self._prepare()
            with self._roots.shared():
                objects = ObjectStore(self.store)
                plan = plan_revert(self.root, objects, patches, self._limits.file_bytes, undos)
                self._roots.note(now_ms(), plan.report.undo.before, plan.report.undo.after)
        return plan

    def apply(self, plan: RevertPlan) -> RevertReport:
        """Carry out a plan, each file at once or not at all, and tell what was done.

        A file that changed since the plan was made is left alone and reported. After a kill in the
        middle the same patches can be reverted again, which does the rest.
        """
        report = carry_out(self.root, ObjectStore(self.store), plan, self._limits.file_bytes)
        with self._lock:
            self._unseen.update(one.path for one in plan.files)
        return report

    def preview(self, patches: Sequence[Patch]) -> RevertReport:
        """What `revert` would do now. Raises as `plan` does."""
        return self.plan(patches).report

    def revert(self, patches: Sequence[Patch]) -> RevertReport:
        """`plan` and `apply` at once. Raises as `plan` does."""
        return self.apply(self.plan(patches))

    def unrevert(self, report: RevertReport) -> RevertReport:
        """Bring back exactly what a revert replaced; by the same rules, and so undone the same way.

        Raises as `plan` does.
        """
        return self.revert([report.undo])

    def prune(
        self, keep: Iterable[str], older_than: float = KEPT_FOR, *, seconds: float = _PRUNING
    ) -> Pruned:
        """Remove what neither a snapshot of `keep` needs nor one of the last `older_than` seconds.

        `keep` are ids that sessions still name, of all working trees of the project. Works for
        about `seconds` and goes on at the next call; a step waits for it a few milliseconds at
        most. Raises `StorageError`.
        """
        _require_ids(kept := list(keep))
        return snapshot_prune.prune(self.store, kept, older_than, seconds)

    def close(self) -> None:
        """End a look that is under way, which then raises `LookEndedError`, and save what is
        remembered of the files, so that the next start need not read them all.
        """
        self._halt.set()
        with self._lock, suppress(OSError):  # it is a memory: without it the files are read again
            self._told.close()
            if self._unsaved and self._complete:
                self._save()

    def _told_names(self) -> list[str] | None:
        """What the kernel says has changed; None: anything may have."""
        names = self._told.names()
        # The user's repository may hold other ignored files than before.
        ruled = self._complete and not self._scanner.force(self._forced.current())
        return names if ruled else None

    def _tracked(self, named: list[str] | None) -> str:
        self._prepare()
        with self._roots.shared():
            top = self._known()
            if named is None or not self._complete:
                self._scanner.force(self._forced.current())
                with self._objects.batch():
                    self._scanner.everything(top)
                    tree = write_trees(self._objects, top)
                self._complete = True
                self._told.looked(top, whole=True)
            else:
                self._scanner.named(top, named)
                while fresh := self._told.looked(top, whole=False):
                    self._scanner.named(top, fresh)
                tree = write_trees(self._objects, top)
            self._unseen.clear()
            self._foretold = None
            self._unsaved |= self._scanner.new_files > 0
            found = tree.hex()
            if found != self._last or not self._is_noted():
                self._noted_at = now_ms()
                self._roots.note(self._noted_at, found)
                self._last = found
        if named is None and self._unsaved and time.monotonic() - self._saved > _SAVED_EVERY:
            with suppress(OSError):  # as in `close`
                self._save()
        return found

    def _prepare(self) -> bool:
        """Make the store if it is not there; True if there was one and it had to be made anew."""
        if self._is_current():
            return False
        had, self._begun = self._begun, True
        lost = self._objects.prepare() and had
        if lost:
            self._warn(
                f"the snapshots in {self.store} were deleted or damaged and begin anew: what was"
                " changed before this moment cannot be undone"
            )
        return lost

    def _known(self) -> Folder:
        """The index, without what was removed from the store since it was last looked at."""
        state = self._roots.state()
        if self._index is not None:
            if state == self._state:
                return self._index
            if self._state and self._last and self._roots.boundary() < self._noted_at:
                # Others lost objects. All that is in the index is in the last snapshot, too.
                self._objects.look_for_packs()
                self._state = state
                return self._index
        stored = self._objects.all_ids()
        if self._index is None:
            self._complete = False
            self._index = snapshot_index.load_nearest(self._index_file(), stored)
        elif not snapshot_index.drop_lost(self._index, stored):
            self._complete = False
        self._state, self._last = state, None
        return self._index

    def _save(self) -> None:
        if self._index is not None:
            snapshot_index.save(self._objects, self._index_file(), self._index)
            self._saved, self._unsaved = time.monotonic(), False

    def _index_file(self) -> Path:
        name = hashlib.sha1(os.fsencode(self.root), usedforsecurity=False).hexdigest()
        return self.store / INDEXES / name[:16]

    def _is_current(self) -> bool:
        """Whether the store is as it was when it was last looked at."""
        return self._state is not None and self._roots.state() == self._state

    def _is_noted(self) -> bool:
        """Whether the last snapshot is known to have been handed out lately."""
        return 0 <= now_ms() - self._noted_at < _NOTED_EVERY

    def _forget(self) -> None:
        self._index, self._last, self._state, self._complete = None, None, None, False

    def _trees(self) -> Trees:
        return Trees(ObjectStore(self.store))


def _id(text: str) -> bytes:
    """The bytes of an id. Raises `UsageError` for what is none."""
    if len(text) != 40 or not _HEX.issuperset(text):
        raise UsageError(f"{clean(text)[:80]!r} is no snapshot", hint="Give what `track` gave.")
    return bytes.fromhex(text)


def _require_ids(texts: Iterable[str]) -> None:
    for text in texts:
        _id(text)


__all__ = [
    "KEPT_FOR",
    "DiffLimits",
    "Patch",
    "Pruned",
    "RevertPlan",
    "RevertReport",
    "SnapshotDiff",
    "SnapshotLimits",
    "SnapshotLostError",
    "Snapshots",
    "store_of",
]

"""Removing objects that no snapshot needs which somebody may still ask for.

Everything long is done while others write: what is alive is found, packs are written anew. What is
removed is removed in small bites, alone, each after a look at what was handed out meanwhile.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from roost.core.clock import now_ms
from roost.workspace.snapshot_index import INDEXES
from roost.workspace.snapshot_models import OPAQUE, TREE, Pruned, SnapshotLostError
from roost.workspace.snapshot_objects import ObjectStore, storage_faults
from roost.workspace.snapshot_packs import Pack
from roost.workspace.snapshot_roots import Roots
from roost.workspace.snapshot_trees import decode_tree

_BITE: Final = 50
"""Files that are removed while others wait; a few milliseconds."""
_PATIENCE: Final = 0.01
"""Seconds between two attempts to be alone."""


class _OutOfTimeError(Exception):
    """The time that was given is over."""


class _Pruning:
    """One run over a store."""

    def __init__(
        self, folder: Path, keep: Iterable[str], boundary: int, clock: Callable[[], float]
    ) -> None:
        self._objects = ObjectStore(folder)
        self._roots = Roots(self._objects)
        self._keep = frozenset(keep)
        self._boundary = boundary
        self._left = clock
        self._live: set[bytes] = set()
        self._position = 0
        self.removed = 0

    def run(self) -> None:
        for root in self._keep:
            self._mark(bytes.fromhex(root))
        self._mark_noted()
        with self._alone():
            self._clear_unfinished()
            self._roots.forget(self._boundary, self._keep)
            self._position = self._roots.noted()[1]
        dead = [(one, path) for one, path in self._objects.loose() if one not in self._live]
        for at in range(0, len(dead), _BITE):
            with self._alone():
                self._remove(dead[at : at + _BITE])
        for pack in self._objects.packs():
            self._prune_pack(pack)

    def _prune_pack(self, pack: Pack) -> None:
        live = [one for one in pack.ids() if one in self._live]
        if len(live) * 2 > pack.count:
            return
        elsewhere = self._copied(pack, live)
        with self._alone():
            if not self._live.isdisjoint(set(pack.ids()) - elsewhere):
                return  # somebody asked for one of them meanwhile
            self._roots.renew(self._boundary)
            # Without its index a pack does not exist, so that goes first.
            for suffix in (".idx", ".keep", ".pack"):
                pack.index.with_suffix(suffix).unlink(missing_ok=True)
            self.removed += pack.count - len(elsewhere)

    def _copied(self, pack: Pack, live: list[bytes]) -> set[bytes]:
        """Write the objects that live into a place of their own."""
        if not live:
            return set()
        fresh = ObjectStore(self._objects.folder)
        with self._roots.shared(), fresh.batch():
            for one in live:
                self._require_time()
                offset = pack.offset(one)
                assert offset is not None
                fresh.write(*pack.read(offset))
        return set(live)

    def _remove(self, dead: list[tuple[bytes, Path]]) -> None:
        self._roots.renew(self._boundary)
        for one, path in dead:
            if one not in self._live:
                path.unlink(missing_ok=True)
                self.removed += 1

    def _clear_unfinished(self) -> None:
        """Nobody writes now, so whoever began these files is dead."""
        for path in self._objects.unfinished():
            path.unlink(missing_ok=True)
        names = {path.stem for path in (self._objects.folder / "objects/pack").glob("*.idx")}
        for path in (self._objects.folder / "objects/pack").glob("pack-*"):
            if path.stem not in names:
                path.unlink(missing_ok=True)
        for path in (self._objects.folder / INDEXES).glob("*"):
            if path.stat().st_mtime * 1000 < self._boundary:
                path.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Keep all others from writing, as soon as none does, and see what they handed out."""
        while True:
            self._require_time()
            with self._roots.alone() as alone:
                if alone:
                    self._mark_noted()
                    yield
                    return
            time.sleep(_PATIENCE)

    def _mark_noted(self) -> None:
        noted, self._position = self._roots.noted(self._position)
        for when, root in noted:
            if when >= self._boundary:
                self._mark(bytes.fromhex(root))

    def _mark(self, root: bytes) -> None:
        waiting = [root]
        while waiting:
            tree = waiting.pop()
            if tree in self._live:
                continue
            self._require_time()
            self._live.add(tree)
            with suppress(SnapshotLostError, ValueError):
                for entry in decode_tree(self._objects.read(tree, "tree")).values():
                    if entry.mode == TREE:
                        waiting.append(entry.id)
                    elif entry.mode != OPAQUE:
                        self._live.add(entry.id)

    def _require_time(self) -> None:
        if self._left() <= 0:
            raise _OutOfTimeError


def prune(folder: Path, keep: Iterable[str], older_than: float, seconds: float) -> Pruned:
    """Remove from the store at `folder` what neither a tree of `keep` needs nor one that was
    handed out in the last `older_than` seconds; works for about `seconds` at most.

    Meant for a thread of its own. Raises `StorageError`.
    """
    if not folder.is_dir():
        return Pruned(0, complete=True)
    end = time.monotonic() + seconds
    boundary = now_ms() - round(older_than * 1000)
    pruning = _Pruning(folder, keep, boundary, lambda: end - time.monotonic())
    try:
        with storage_faults(folder):
            pruning.run()
    except _OutOfTimeError:
        return Pruned(pruning.removed, complete=False)
    return Pruned(pruning.removed, complete=True)

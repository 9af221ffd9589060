"""Notes what calls of tools change in files: in the session's messages, as patches, in the
transaction that also tells clients what the session changed in all.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import RoostError, StorageError
from roost.core.failpoints import failpoint
from roost.core.finishing import see_through
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.runtime.undo_shelf import NOT_LOOKED_AT, FileStore
from roost.sessions import file_changes
from roost.sessions.file_changes import LISTED, ChangedFile, changed_files
from roost.sessions.parts import PatchPart, Span
from roost.tools.change_record import ChangeRecord, NoRecord
from roost.turn.recorder import Recorder
from roost.workspace.changes import FileChange
from roost.workspace.snapshot_changes import COUNTED, Changes, Sides, joined
from roost.workspace.snapshot_models import NO_FILES, LookEndedError, Patch
from roost.workspace.snapshot_written import Written

logger = logging.getLogger(__name__)
_LAST_SECONDS: Final = 30.0
"""How long it may take to see what a command changed that was stopped."""
_LOST: Final = "what a command changed was not noted"
Known = Mapping[str, ChangedFile]


class UndoLog:
    """Keeps files for the turns of one session. None: nothing is kept."""

    def __init__(self, files: FileStore | None, database: Database) -> None:
        self._files = files
        self._database = database
        self._known: dict[str, ChangedFile | None] = {}
        """What the session had changed in files before this turn did; None: nothing."""

    @property
    def last(self) -> str | None:
        """See `roost.turn.world.UndoLog`."""
        return self._files.snapshots.last if self._files else None

    def begin(self) -> None:
        """See `roost.turn.world.UndoLog`."""
        if self._files:
            self._files.begin()

    def record(self, recorder: Recorder, part_id: str) -> ChangeRecord:
        """See `roost.turn.world.UndoLog`."""
        if self._files is None:
            return NoRecord()
        return _Record(self._files, self._database, recorder, part_id, self._known)


class _Foreseen(Struct, frozen=True):
    """A change that is about to be made: its part, and what the session then changed in all."""

    written: Written
    part: PatchPart
    files: list[ChangedFile]
    known: Known
    """What the session had changed in the same files before."""
    snapshot: str | None
    """Of all files once it is made, where that is known beforehand."""


class _Ran(Struct, frozen=True):
    """What a command changed."""

    patch: Patch
    sides: dict[str, Sides]


class _Record:
    """Notes the changes of one call."""

    def __init__(
        self,
        files: FileStore,
        database: Database,
        recorder: Recorder,
        part_id: str,
        known: dict[str, ChangedFile | None],
    ) -> None:
        self._files = files
        self._database = database
        self._recorder = recorder
        self._part_id = part_id
        self._all_known = known

    @asynccontextmanager
    async def writing(self, changes: Sequence[FileChange]) -> AsyncGenerator[None]:
        """What will be is stored before it is: a kill leaves nothing that cannot be taken back."""
        foreseen = await self._foresee(changes)
        if foreseen is None:
            await self._warn()
            yield
            return
        await self._recorder.put(foreseen.part, lambda tx: self._note(tx, foreseen.files))
        self._all_known.update((one.path, one) for one in foreseen.files)
        failpoint("undo.foreseen")
        try:
            yield
        except Exception:
            self._all_known.update(
                (one.path, foreseen.known.get(one.path)) for one in foreseen.files
            )
            await self._recorder.take_out(foreseen.part, lambda tx: self._forget(tx, foreseen))
            raise
        if foreseen.snapshot is not None:
            self._recorder.note_snapshot(None, foreseen.snapshot)
        else:
            await self._follow(foreseen, changes)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """All files are looked at before and after."""
        before = await self._look()
        await self._warn()
        began = now_ms()
        try:
            yield
        finally:
            if before is not None:
                await see_through(self._compare(before, began), _LOST, seconds=_LAST_SECONDS)

    async def _foresee(self, changes: Sequence[FileChange]) -> _Foreseen | None:
        paths = [clean(path) for path in map(self._files.written.path_of, changes) if path]
        known = await self._known(paths)
        try:
            return await asyncio.to_thread(self._foreseen, changes, known)
        except StorageError as error:
            self._files.warn(f"{error.message}. {error.hint}")
            return None

    def _foreseen(self, changes: Sequence[FileChange], known: Known) -> _Foreseen:
        written = self._files.written.foresee(changes)
        patch = written.patch or Patch(NO_FILES, NO_FILES, ())
        sides = {
            clean(path): Sides(before, written.after[path])
            for path, before in written.before.items()
            if before != written.after[path]
        }
        part = self._part(patch, sorted(sides), written.outside)
        files = self._counted(sides, known)
        snapshot = self._files.snapshots.foretell(written.after)
        return _Foreseen(written, part, files, known, snapshot)

    async def _follow(self, foreseen: _Foreseen, changes: Sequence[FileChange]) -> None:
        """Correct what was foreseen, and tell the snapshot after it where that is known."""

        def look() -> tuple[Written, str | None]:
            settled = self._files.written.settled(foreseen.written)
            return settled, self._files.snapshots.follow([one.real for one in changes])

        try:
            settled, snapshot = await asyncio.to_thread(look)
        except RoostError as error:
            logger.warning("%s", error)
            return
        self._recorder.note_snapshot(None, snapshot)
        if settled is not foreseen.written and settled.patch is not None:
            part = self._part(settled.patch, [], (), like=foreseen.part)
            await self._recorder.put(part)

    async def _look(self) -> str | None:
        """The snapshot before a command; None if none can be made."""
        if not self._files.looks:
            self._files.warn(NOT_LOOKED_AT)
            return None
        return await asyncio.to_thread(self._tracked)

    def _tracked(self) -> str | None:
        try:
            return self._files.snapshots.track()
        except LookEndedError:
            return None
        except RoostError as error:
            self._files.warn(f"{error.message}. {error.hint}")
            return None

    def _ran(self, before: str, began: int) -> _Ran | None:
        """What a command changed that began with the files as in `before`; None if nobody knows."""
        after = self._tracked()
        if after is None:
            return None
        patch = Patch(before, after, None, began, now_ms())
        sides = Changes(self._files.store).files([patch]) if after != before else {}
        return _Ran(patch, sides)

    async def _warn(self) -> None:
        """Tell clients what cannot be undone, and why, if there is news of that."""
        session_id = self._recorder.info.session_id
        for words in self._files.warnings():
            about = {"sessionID": session_id, "message": words}
            event = Event("undo.limited", about, session_id=session_id)
            await self._database.write(lambda tx, one=event: tx.emit(one))

    async def _compare(self, before: str, began: int) -> None:
        """Note what a command changed that began with the files as in `before`."""
        failpoint("undo.ran")
        ran = await asyncio.to_thread(self._ran, before, began)
        if ran is None:
            return
        self._recorder.note_snapshot(before, ran.patch.after)
        if not ran.sides:
            return
        known = await self._known(ran.sides)
        files = await asyncio.to_thread(self._counted, ran.sides, known)
        part = self._part(ran.patch, sorted(ran.sides))
        await self._recorder.put(part, lambda tx: self._note(tx, files))
        self._all_known.update((one.path, one) for one in files)
        failpoint("undo.noted")

    async def _known(self, paths: Collection[str]) -> Known:
        """What the session had changed in files of these paths; each is asked for once a turn."""
        memory, session_id = self._all_known, self._recorder.info.session_id
        if missing := [path for path in paths if path not in memory]:
            found = await self._database.read(
                lambda db: file_changes.earlier(db, session_id, missing)
            )
            memory.update((path, found.get(path)) for path in missing)
        return {path: one for path in paths if (one := memory[path]) is not None}

    def _counted(self, sides: Mapping[str, Sides], known: Known) -> list[ChangedFile]:
        """What the session changed in files in all, once it changed `sides`."""
        whole = joined({path: one.sides for path, one in known.items()}, sides)
        chosen = dict(sorted(whole.items())[:LISTED])
        counted = Changes(self._files.store).diff(chosen, COUNTED)
        return changed_files(chosen, {o.path: (o.additions, o.deletions) for o in counted})

    def _part(
        self,
        patch: Patch,
        paths: Sequence[str],
        outside: tuple[str, ...] = (),
        *,
        like: PatchPart | None = None,
    ) -> PatchPart:
        info = self._recorder.info
        named = tuple(clean(str(self._files.root / path)) for path in paths[:LISTED])
        return PatchPart(
            like.id if like else new_id("part"),
            info.session_id,
            info.id,
            patch.before,
            like.files if like else named,
            patch.after,
            Span(patch.began, patch.ended) if patch.began else None,
            self._part_id,
            patch.base,
            like.outside if like else outside,
        )

    def _note(self, tx: Transaction, files: Sequence[ChangedFile]) -> None:
        file_changes.note(tx, self._recorder.info.session_id, files)

    def _forget(self, tx: Transaction, foreseen: _Foreseen) -> None:
        paths = [one.path for one in foreseen.files]
        file_changes.put_back(tx, self._recorder.info.session_id, paths, foreseen.known)

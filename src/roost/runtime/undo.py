"""Takes back the end of a session, and brings it back: the conversation, and what its actors did to
files, never what somebody else did to them since.

What a revert is about to do to files is stored before it is begun. So a kill at any moment leaves a
session that says what it was being taken back to; whoever touches it next does the rest. From the
beginning on clients show the session as taken back; with the next prompt that is for good.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors.cancel import hold
from roost.actors.limits import ActorLimits
from roost.actors.owner import Owner
from roost.core.errors import BusyError, ConflictError, NotFoundError, RoostError, StorageError
from roost.core.failpoints import failpoint
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.inbox.conversation import find_message
from roost.runtime.desks import secrets_of
from roost.runtime.project import Projects
from roost.runtime.undo_change import Change, Place, Undone
from roost.runtime.undo_facts import Facts, back_facts, facts_at, facts_of
from roost.runtime.undo_files import diffs, diffs_of, prepare
from roost.runtime.undo_shelf import Shelf
from roost.sessions import file_changes, transcript, undo_store
from roost.sessions import store as sessions
from roost.sessions.file_changes import FileDiff
from roost.sessions.models import Session
from roost.workspace.snapshot_models import Patch

logger = logging.getLogger(__name__)
_ATTEMPTS: Final = 3
"""How often a revert is planned anew because somebody spoke meanwhile."""
_LOOK_SECONDS: Final = 0.1
"""How often it is looked whether another process has done its part."""
T = TypeVar("T")


class Undo:
    """Undo for all sessions, in this process.

    Methods raise `NotFoundError`, `UsageError`, `BusyError` while somebody is at work in the
    session, `ConflictError`, `SnapshotLostError` if what is needed is kept no longer, and
    `StorageError`.
    """

    def __init__(
        self,
        database: Database,
        projects: Projects,
        shelf: Shelf,
        owner: Owner,
        environment: Mapping[str, str],
    ) -> None:
        self._database = database
        self._projects = projects
        self._shelf = shelf
        self._owner = owner
        self._environment = environment
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Wait until what was begun has ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def preview(
        self, session_id: str, message_id: str, part_id: str | None = None, *, files: bool = True
    ) -> Undone:
        """What `revert` would do now; changes nothing."""
        await self._recover(session_id)
        facts = await self._database.read(lambda db: facts_of(db, session_id, message_id, part_id))
        return await self._previewed(facts, files=files)

    async def preview_return(self, session_id: str) -> Undone:
        """What `unrevert` would do now; changes nothing."""
        return await self._previewed(await self._back(session_id), files=True)

    async def revert(
        self, session_id: str, message_id: str, part_id: str | None = None, *, files: bool = True
    ) -> Undone:
        """Take a session back to before a message, or to before a part of it.

        What is taken back already may be more or less than that. Files that somebody changed since
        are left alone and told; without `files` all are. Nothing is final before the next prompt.
        """

        def read(db: Reader) -> Facts:
            return facts_of(db, session_id, message_id, part_id)

        await self._recover(session_id)
        return await self._alone(session_id, lambda: self._begun(read, files=files))

    async def unrevert(self, session_id: str) -> Undone:
        """Bring back all that is taken back; by the same rules."""
        await self._back(session_id)
        await self._recover(session_id)
        return await self._alone(
            session_id, lambda: self._begun(lambda db: back_facts(db, session_id), files=True)
        )

    async def finish(self, session_id: str) -> None:
        """Do the rest of what a dead process began, and wait for what a living one is doing."""
        while True:
            state = await self._database.read(lambda db: undo_store.find(db, session_id))
            if state is None or state.phase == "reverted":
                return
            if state.owner == self._owner.id or self._owner.is_dead(state.owner) is not False:
                await self._alone(session_id, lambda: self._finished(session_id))
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def changes(self, session_id: str, message_id: str | None = None) -> list[FileDiff]:
        """What a session changed in files, as far as it is not taken back, with differences; with
        `message_id` only what came of that prompt. Raises `NotFoundError` if it is not there.
        """
        if message_id is not None:
            return await self._changes_of(session_id, message_id)
        found = await self._database.read(lambda db: file_changes.of_session(db, session_id))
        if not found:
            return []
        session = await self._database.read(lambda db: sessions.get(db, session_id))
        sides = {one.path: one.sides for one in found}
        async with self._opened(session) as place:
            return await asyncio.to_thread(diffs, place.files.store, sides, place.hide)

    async def _changes_of(self, session_id: str, message_id: str) -> list[FileDiff]:
        def read(db: Reader) -> tuple[Session, list[Patch]]:
            actor_id = actors.front(db, session_id).actor_id
            first = transcript.seq_in(db, session_id, message_id)
            if first is None:
                find_message(db, session_id, message_id)  # it may wait to be heard
                return sessions.get(db, session_id), []
            later = (one.seq for one in undo_store.prompts(db, session_id, actor_id))
            end = next((seq for seq in later if seq > first), None)
            parts = undo_store.patches_between(db, session_id, first, end)
            return sessions.get(db, session_id), undo_store.known_patches(parts)

        session, patches = await self._database.read(read)
        if not patches:
            return []
        async with self._opened(session) as place:
            return await asyncio.to_thread(diffs_of, place.files.store, patches, place.hide)

    async def _recover(self, session_id: str) -> None:
        """Close what dead processes left open, so that it is known what they did."""

        def recover(tx: Transaction) -> None:
            for address in actors.restless(tx, session_id):
                claims.recover_actor(tx, address, self._owner.is_dead, ActorLimits())

        await self._database.write(recover)

    async def _back(self, session_id: str) -> Facts:
        facts = await self._database.read(lambda db: back_facts(db, session_id))
        if facts.state is None:
            raise NotFoundError(
                f"nothing of session {session_id} is taken back",
                hint="What is taken back can be brought back until the next prompt.",
            )
        return facts

    async def _alone(self, session_id: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do `work` to its end, whoever stops waiting for it, one at a time in a session."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())

        async def locked() -> T:
            async with lock:
                return await work()

        task = asyncio.create_task(locked())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _finished(self, session_id: str) -> None:
        state = await self._database.read(lambda db: undo_store.find(db, session_id))
        if state is None or state.phase == "reverted":
            return

        def read(db: Reader) -> Facts:
            if state.phase == "returning":
                return back_facts(db, session_id)
            return facts_at(db, session_id, state.cut)

        try:
            await self._begun(read, files=state.files, resuming=True)
        except StorageError:
            raise
        except RoostError as error:
            # Nobody may be kept waiting for files that cannot be set back any more.
            logger.warning("%s: files were not set back: %s", session_id, error.message)
            await self._begun(read, files=False, resuming=True)

    async def _begun(
        self, read: Callable[[Reader], Facts], *, files: bool, resuming: bool = False
    ) -> Undone:
        """Plan, store what is to be done, and do it. What is resumed began while nobody worked."""
        attempt = 0
        while True:
            attempt += 1
            facts = await self._database.read(read)
            async with self._place_of(facts, files=files) as place:
                change = await self._planned(facts, place, files=files)
                try:
                    await self._database.write(
                        lambda tx, one=change: self._begin(tx, one, resuming=resuming)
                    )
                except ConflictError:
                    if attempt == _ATTEMPTS:
                        raise
                    continue
                failpoint("undo.begun")
                return await self._carried_out(change)

    async def _planned(self, facts: Facts, place: Place | None, *, files: bool) -> Change:
        prepared = None
        if place is not None:
            snapshots = place.files.snapshots
            prepared = await asyncio.to_thread(prepare, snapshots, facts.patches, facts.undos)
        return Change(
            facts=facts, place=place, prepared=prepared, owner=self._owner.id, files=files
        )

    async def _carried_out(self, change: Change) -> Undone:
        done = await asyncio.to_thread(change.carry_out)
        session = await self._database.write(lambda tx: change.end(tx, done))
        failpoint("undo.ended")
        return change.told(done.files, session)

    def _begin(self, tx: Transaction, change: Change, *, resuming: bool) -> None:
        session_id = change.facts.session.id
        self._require_free(change)
        if not resuming:
            self._require_idle(tx, session_id)
        hold(tx, actors.front(tx, session_id).address)
        change.begin(tx)

    def _require_free(self, change: Change) -> None:
        """Raise `BusyError` while another process, which lives, sets files back or forth."""
        state = change.facts.state
        if state is None or state.phase == "reverted" or state.owner == self._owner.id:
            return
        if self._owner.is_dead(state.owner) is False:
            raise BusyError(
                f"another process is just setting back files of session {change.facts.session.id}",
                hint="Try it again in a moment.",
            )

    def _require_idle(self, tx: Transaction, session_id: str) -> None:
        busy = [actor.actor_id for actor in actors.not_idle(tx, session_id)]
        if busy:
            raise BusyError(
                f"session {session_id} is busy: {', '.join(busy)} is at work or has mail to read",
                hint="Wait until it is idle, or stop it first.",
            )

    async def _previewed(self, facts: Facts, *, files: bool) -> Undone:
        async with self._place_of(facts, files=files) as place:
            change = await self._planned(facts, place, files=files)
        return change.told(change.prepared.plan.report.files if change.prepared else ())

    @asynccontextmanager
    async def _place_of(self, facts: Facts, *, files: bool) -> AsyncGenerator[Place | None]:
        """Where the files of a session are kept; None if there is nothing to do with them."""
        if not files or not (facts.patches or facts.undos):
            yield None
            return
        async with self._opened(facts.session) as place:
            yield place

    @asynccontextmanager
    async def _opened(self, session: Session) -> AsyncGenerator[Place]:
        project = await self._projects.open(Path(session.directory))
        files = self._shelf.take(project, session.project_id)
        try:
            yield Place(files, secrets_of(project, self._environment).hide)
        finally:
            await self._shelf.give_back(files, session.project_id)

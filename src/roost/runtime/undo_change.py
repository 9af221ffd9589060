"""One revert, or one return from it: what is stored before files are touched, what is done to them,
and what is stored afterwards.
"""

from collections.abc import Callable

from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import ConflictError
from roost.core.failpoints import failpoint
from roost.db.transaction import Transaction
from roost.inbox import unsaid
from roost.runtime.undo_facts import Facts, left_of
from roost.runtime.undo_files import Prepared, changed_by, diff_text
from roost.runtime.undo_shelf import FileStore
from roost.sessions import file_changes, transcript, undo_store
from roost.sessions import store as sessions
from roost.sessions.file_changes import ChangedFile
from roost.sessions.models import LeftFile, Reverted, Session
from roost.sessions.undo_store import Cut, Phase, UndoState
from roost.workspace.snapshot_models import FileOutcome, Patch


class Place(Struct, frozen=True):
    """Where the files of a session are kept."""

    files: FileStore
    hide: Callable[[str], str]
    """Takes secrets out of what is shown of them."""


class Undone(Struct, frozen=True, kw_only=True):
    """What was taken back or brought back, or would be."""

    session: Session
    """As it is then; in a preview, as it is now."""
    cut: Cut | None
    """From where on; None: all that was taken back comes back."""
    messages: int
    prompts: tuple[str, ...]
    """What persons said in them."""
    files: tuple[FileOutcome, ...]
    notes: tuple[str, ...] = ()
    """What else is not taken back, in words."""

    @property
    def left(self) -> tuple[LeftFile, ...]:
        """The changed files that stay as they are."""
        return left_of(self.files)


class Done(Struct, frozen=True):
    """What became of the files."""

    files: tuple[FileOutcome, ...] = ()
    undos: tuple[Patch, ...] = ()
    """What this revert and those before it did to them."""
    changed: list[ChangedFile] | None = None
    """All that the session changed then; None: as before."""
    diff: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """A revert to the cut of `facts`, or without one the return from what was reverted."""

    facts: Facts
    place: Place | None
    """None: files are left alone."""
    prepared: Prepared | None
    owner: str
    files: bool
    """Files are wanted to be set back; there may be none."""

    @property
    def undos(self) -> tuple[Patch, ...]:
        """What will have been done to files, as soon as this is begun."""
        if self.prepared is None or not any(one.acts for one in self.prepared.plan.files):
            return self.facts.undos
        return (*self.facts.undos, self.prepared.plan.report.undo)

    def begin(self, tx: Transaction) -> None:
        """Store what is to be done. Raises `ConflictError` if it was planned on what is past."""
        facts, session_id = self.facts, self.facts.session.id
        known = (transcript.last_id(tx, session_id), undo_store.find(tx, session_id))
        if known != (facts.newest, facts.state):
            raise ConflictError(
                f"session {session_id} changed meanwhile", hint="Look at it and try again."
            )
        if facts.cut is not None:
            mail = unsaid.last_seq(tx)
            self._put(tx, "reverting", facts.cut, self.undos, mail)
            shown = Reverted(facts.cut.message_id, facts.cut.part_id)
            sessions.set_reverted(tx, session_id, shown, facts.cut.seq)
        elif facts.state is not None:
            self._put(tx, "returning", facts.state.cut, self.undos, facts.state.mail)
        sessions.touch(tx, session_id, now_ms())
        failpoint("undo.beginning")

    def carry_out(self) -> Done:
        """Set the files back; for a thread. Each is changed at once or not at all."""
        if self.place is None or self.prepared is None:
            return Done(undos=self.facts.undos)
        store, hide = self.place.files.store, self.place.hide
        report = self.place.files.snapshots.apply(self.prepared.plan)
        failpoint("undo.applied")
        return Done(
            files=report.files,
            undos=self.undos,
            changed=changed_by(store, self.facts.before),
            diff=diff_text(store, self.undos, hide) if self.facts.cut else None,
        )

    def end(self, tx: Transaction, done: Done) -> Session:
        """Store that it is done; the session as it is then."""
        facts, session_id = self.facts, self.facts.session.id
        failpoint("undo.ending")
        if done.changed is not None:
            file_changes.replace_all(tx, session_id, done.changed)
        if facts.cut is None:
            undo_store.remove(tx, session_id)
            return sessions.set_reverted(tx, session_id, None, None)
        self._put(tx, "reverted", facts.cut, done.undos, unsaid.last_seq(tx))
        told = self.told(done.files)
        shown = Reverted(
            facts.cut.message_id,
            facts.cut.part_id,
            snapshot=done.undos[0].before if done.undos else None,
            diff=done.diff or None,
            left=told.left,
            notes=told.notes,
        )
        return sessions.set_reverted(tx, session_id, shown, facts.cut.seq)

    def told(self, files: tuple[FileOutcome, ...], session: Session | None = None) -> Undone:
        """What it did, or would do, in `files`."""
        facts = self.facts
        kept = tuple(FileOutcome(one.path, "left", one.reason) for one in facts.left)
        notes = facts.notes
        if self.prepared is not None and self.prepared.lost:
            notes = (*notes, _lost(self.prepared.lost))
        return Undone(
            session=session or facts.session,
            cut=facts.cut,
            messages=facts.messages,
            prompts=tuple(one.text for one in facts.prompts),
            files=(*files, *kept) if self.files else (),
            notes=notes if self.files else (),
        )

    def _put(
        self, tx: Transaction, phase: Phase, cut: Cut, undos: tuple[Patch, ...], mail: int
    ) -> None:
        state = UndoState(
            phase=phase, cut=cut, undos=undos, owner=self.owner, mail=mail, files=self.files
        )
        undo_store.put(tx, self.facts.session.id, state)


def _lost(count: int) -> str:
    what = "one change" if count == 1 else f"{count} changes"
    return f"of {what} it is kept no longer what files were before: what is there stays"

"""The end of a session that was taken back goes for good once somebody speaks in it again."""

from roost.actors import store as actors
from roost.core.errors import BusyError
from roost.core.failpoints import failpoint
from roost.db.transaction import Reader, Transaction
from roost.inbox import store as inbox
from roost.inbox import unsaid
from roost.inbox.models import Address
from roost.sessions import store as sessions
from roost.sessions import transcript, undo_store


def is_under_way(db: Reader, session_id: str) -> bool:
    """Whether files of a session are just being set back or forth: then no turn may begin."""
    state = undo_store.find(db, session_id)
    return state is not None and state.phase != "reverted"


def clean_up(tx: Transaction, session_id: str) -> None:
    """Remove what is taken back of a session, so that nobody sees it again; cheap if nothing is."""
    state = undo_store.find(tx, session_id)
    if state is None:
        return
    failpoint("undo.cleaning")
    said = unsaid.seq_of_heard(tx, session_id, state.cut.message_id)
    removed = undo_store.remove_from(tx, session_id, state.cut)
    unsaid.forget_heard(tx, session_id, removed.messages)
    unsaid.forget_unheard(tx, session_id, said, state.mail)
    for actor_id in sorted(removed.actors):
        actor = actors.find(tx, Address(session_id, actor_id))
        if actor is not None and actor.mode == "subagent" and actor.status == "idle":
            actors.remove(tx, actor.address)
    undo_store.remove(tx, session_id)
    sessions.set_reverted(tx, session_id, None, None)
    failpoint("undo.cleaned")


def make_way(tx: Transaction, address: Address, key: str) -> None:
    """Remove what is taken back of a session for a new prompt, which is to have the id `key`.

    One that was accepted before, and is not taken back, is no new prompt. Raises `BusyError`.
    """
    known = inbox.by_key(tx, address, key)
    state = undo_store.find(tx, address.session_id)
    if known is not None and state is not None:
        seq = transcript.seq_of(tx, known.message_id or "")
        if seq is not None and seq < state.cut.seq:
            return
    if is_under_way(tx, address.session_id):
        raise BusyError(
            f"files of session {address.session_id} are just being set back",
            hint="Send it again in a moment.",
        )
    clean_up(tx, address.session_id)

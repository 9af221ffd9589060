"""Questions to what a session knows: a copy of its conversation that can only read answers one."""

from roost.actors import aside, family, store, turn_store
from roost.actors.ending import notice_key
from roost.actors.fenced import write_fenced
from roost.actors.models import Actor, Claim, Turn
from roost.actors.spawn import spawn_reader
from roost.actors.wait import wait_for_turn
from roost.core.errors import NotFoundError, RoostError, StaleFenceError, StorageError
from roost.core.finishing import make_or_undo, see_through
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.inbox.changes import consume, forget
from roost.inbox.models import Address
from roost.runtime import readers
from roost.runtime.readers import LEFT, NOTHING_YET, SECONDS, STOP_SECONDS
from roost.tools.actor_port import Stored
from roost.tools.session_port import Reply


async def ask_session(
    database: Database, bus: Bus, claim: Claim, child: Actor, question: str
) -> Reply:
    """The answer of a copy of what `child` knows by now; what fails becomes its text.

    Raises `StaleFenceError` when the turn that asks is lost.
    """

    async def abandon(reader: Actor | None) -> None:
        if reader is not None:
            await readers.abandon(
                database,
                bus,
                lambda change: write_fenced(database, claim, change),
                reader,
                lambda tx: _take_out(tx, claim.address, reader),
            )

    try:
        reader = await make_or_undo(
            database.write(lambda tx: _reader(tx, claim, child, question)),
            abandon,
            LEFT,
            seconds=2 * STOP_SECONDS,
        )
    except (StaleFenceError, StorageError):
        raise
    except RoostError as error:
        return Reply(error.message, fault=True)
    if reader is None:
        return Reply(NOTHING_YET)
    try:
        waited = await wait_for_turn(database, bus, claim, reader.address, 1, SECONDS)
    except NotFoundError as error:
        return Reply(error.message, fault=True)
    except BaseException:
        await see_through(abandon(reader), LEFT, seconds=2 * STOP_SECONDS)
        raise
    if waited.how != "ended" or waited.turn is None:
        await abandon(reader)
        why = "took too long" if waited.how == "timeout" else "was left, since you are wanted"
        return Reply(f"The question {why}.", fault=True)
    turn = waited.turn
    text, answered = await database.read(lambda db: aside.answer_of(db, reader, turn))
    return Reply(text, fault=not answered, stored=_thrown_away(claim, reader, turn))


def _take_out(tx: Transaction, asking: Address, reader: Actor) -> None:
    """Remove a copy that is at rest, with what the one who asked was told of it."""
    if (turn := aside.take_out(tx, reader)) is not None:
        forget(tx, asking, notice_key(turn.id))


def _take_out_leftovers(tx: Transaction, asking: Address, session_id: str) -> None:
    """Remove the copies of a session that stopped too late, or when their process died."""
    for one in family.children(tx, asking):
        if one.session_id != session_id or one.fronts or one.background or one.status != "idle":
            continue
        turn = turn_store.find_turn(tx, one.address, one.turns)
        if turn is not None and turn.outcome != "success":
            _take_out(tx, asking, one)


def _reader(tx: Transaction, claim: Claim, child: Actor, question: str) -> Actor | None:
    store.check_fence(tx, claim)
    if child.session_id != claim.address.session_id:
        _take_out_leftovers(tx, claim.address, child.session_id)
    brief = readers.brief_of(tx, child, question)
    return None if brief is None else spawn_reader(tx, claim, brief, child.session_id)


def _thrown_away(claim: Claim, reader: Actor, turn: Turn) -> Stored:
    """Takes the copy out once its answer is stored; the answer counts as the notice of it."""

    def stored(tx: Transaction, message_id: str) -> None:
        consume(tx, claim.address, notice_key(turn.id), message_id, claim.turn.id)
        _take_out(tx, claim.address, reader)

    return stored

"""Questions to what a session knows: a copy of its conversation that can only read answers one."""

from typing import Final

from roost.actors import family, store, turn_store
from roost.actors.cancel import cancel_tree
from roost.actors.ending import notice_key
from roost.actors.fenced import write_fenced
from roost.actors.models import Actor, Claim, Turn
from roost.actors.report import last_words
from roost.actors.spawn import Brief, spawn_reader
from roost.actors.wait import wait_for_turn
from roost.core.errors import NotFoundError, RoostError, StaleFenceError, StorageError
from roost.core.finishing import make_or_undo, see_through
from roost.core.text import cut
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.db.watching import until
from roost.events.bus import Bus
from roost.inbox.changes import consume, forget
from roost.inbox.models import Address
from roost.sessions import transcript
from roost.sessions.models import ModelName
from roost.tools.actor_port import Stored
from roost.tools.session_port import Reply

SECONDS: Final = 300.0
"""How long an answer may take."""
STOP_SECONDS: Final = 5.0
"""How long a copy whose answer nobody needs any more may take to stop."""
_STOP_POLL_SECONDS: Final = 1.0
_LEFT: Final = "a copy that was asked a question was not taken out with the call that asked"
READING: Final = ("read", "glob", "grep", "list")
"""The tools of a copy."""
NOTHING_YET: Final = "It has heard and said nothing yet, so it knows nothing beyond its task."
_QUESTION: Final = """\
You are a copy of yourself that was made to answer one question. Your work goes on elsewhere, and \
nothing that you do here changes it. You can read files, and nothing else; call no other tool. \
Answer from what you know, say what you do not know, and be brief.

The question:
{question}"""


async def ask_session(
    database: Database, bus: Bus, claim: Claim, child: Actor, question: str
) -> Reply:
    """The answer of a copy of what `child` knows by now; what fails becomes its text.

    Raises `StaleFenceError` when the turn that asks is lost.
    """

    async def abandon(reader: Actor | None) -> None:
        if reader is not None:
            await _abandoned(database, bus, claim, reader)

    try:
        reader = await make_or_undo(
            database.write(lambda tx: _reader(tx, claim, child, question)),
            abandon,
            _LEFT,
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
        await see_through(abandon(reader), _LEFT, seconds=2 * STOP_SECONDS)
        raise
    if waited.how != "ended" or waited.turn is None:
        await abandon(reader)
        why = "took too long" if waited.how == "timeout" else "was left, since you are wanted"
        return Reply(f"The question {why}.", fault=True)
    turn = waited.turn
    text = await database.read(lambda db: last_words(db, reader, turn.id, turn.result_message_id))
    stored = _thrown_away(claim, reader, turn)
    if turn.outcome != "success":
        why = turn.error.message if turn.error else f"its turn was {turn.outcome}"
        return Reply(f"It could not answer: {why}", fault=True, stored=stored)
    return Reply(text or "It answered nothing.", fault=not text, stored=stored)


async def _abandoned(database: Database, bus: Bus, claim: Claim, reader: Actor) -> None:
    """Stop a copy whose answer nobody needs any more, and take it out.

    One that does not stop in time is taken out when the next question is asked.
    """
    address = reader.address
    await write_fenced(database, claim, lambda tx: cancel_tree(tx, address, "forced"))
    await until(
        database,
        bus,
        lambda db: store.find(db, address),
        lambda actor: actor is None or actor.status == "idle",
        concerns=lambda event: event.session_id == address.session_id,
        poll=_STOP_POLL_SECONDS,
        seconds=STOP_SECONDS,
    )
    await write_fenced(database, claim, lambda tx: _take_out(tx, claim.address, reader))


def _take_out(tx: Transaction, asking: Address, reader: Actor) -> None:
    """Remove a copy that is at rest, with what the one who asked was told of it."""
    now = store.find(tx, reader.address)
    if now is None or now.status != "idle":
        return
    turn = turn_store.find_turn(tx, reader.address, now.turns)
    transcript.remove_slice(tx, reader.session_id, reader.actor_id)
    store.remove(tx, reader.address)
    if turn is not None:
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
    mark = transcript.last_closed(tx, child.session_id, child.actor_id)
    heard = transcript.last_user(tx, child.session_id, child.actor_id, mark) if mark else None
    if heard is None:
        return None
    brief = Brief(
        agent=heard.agent,
        description=f"ask: {cut(' '.join(question.split()), 40)}",
        task=_QUESTION.format(question=question),
        model=ModelName.of(child.model, child.variant) if child.model else heard.model,
        context="full",
        watermark=mark,
        background=False,
        tools=READING,
    )
    return spawn_reader(tx, claim, brief, child.session_id)


def _thrown_away(claim: Claim, reader: Actor, turn: Turn) -> Stored:
    """Takes the copy out once its answer is stored; the answer counts as the notice of it."""

    def stored(tx: Transaction, message_id: str) -> None:
        consume(tx, claim.address, notice_key(turn.id), message_id, claim.turn.id)
        _take_out(tx, claim.address, reader)

    return stored

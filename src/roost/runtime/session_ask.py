"""Questions to what a session knows: a copy of its conversation that can only read answers one."""

from typing import Final

from roost.actors import store
from roost.actors.cancel import cancel_tree
from roost.actors.ending import notice_key
from roost.actors.models import Actor, Claim, Turn
from roost.actors.report import last_words
from roost.actors.spawn import Brief, spawn_reader
from roost.actors.wait import wait_for_turn
from roost.core.errors import NotFoundError, RoostError, StaleFenceError, StorageError
from roost.core.text import cut
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus
from roost.inbox.changes import consume, forget
from roost.inbox.models import Address
from roost.sessions import transcript
from roost.sessions.models import ModelName, UserInfo
from roost.tools.actor_port import Stored
from roost.tools.session_port import Reply

SECONDS: Final = 300.0
"""How long an answer may take."""
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
    try:
        reader = await database.write(lambda tx: _reader(tx, claim, child, question))
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
        await database.write(lambda tx: cancel_tree(tx, reader.address, "forced"))
        raise
    if waited.how != "ended" or waited.turn is None:
        await database.write(lambda tx: cancel_tree(tx, reader.address, "forced"))
        why = "took too long" if waited.how == "timeout" else "was left, since you are wanted"
        return Reply(f"The question {why}.", fault=True)
    turn = waited.turn
    text = await database.read(lambda db: last_words(db, reader, turn.id, turn.result_message_id))
    stored = _thrown_away(claim, reader, turn)
    if turn.outcome != "success":
        why = turn.error.message if turn.error else f"its turn was {turn.outcome}"
        return Reply(f"It could not answer: {why}", fault=True, stored=stored)
    return Reply(text or "It answered nothing.", fault=not text, stored=stored)


def _reader(tx: Transaction, claim: Claim, child: Actor, question: str) -> Actor | None:
    mark = transcript.last_closed(tx, child.session_id, child.actor_id)
    heard = _last_heard(tx, child.address, mark) if mark else None
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


def _last_heard(db: Reader, address: Address, mark: str) -> UserInfo | None:
    seq = transcript.seq_of(db, mark) or 0
    known = transcript.load(db, address.session_id, address.actor_id, before=seq + 1)
    said = [one.info for one in known if isinstance(one.info, UserInfo)]
    return said[-1] if said else None


def _thrown_away(claim: Claim, reader: Actor, turn: Turn) -> Stored:
    """Takes the copy out once its answer is stored; the answer counts as the notice of it."""

    def stored(tx: Transaction, message_id: str) -> None:
        consume(tx, claim.address, notice_key(turn.id), message_id, claim.turn.id)
        now = store.find(tx, reader.address)
        if now is not None and now.status == "idle":
            transcript.remove_slice(tx, reader.session_id, reader.actor_id)
            store.remove(tx, reader.address)
            forget(tx, claim.address, notice_key(turn.id))

    return stored

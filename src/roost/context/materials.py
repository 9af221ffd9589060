"""Reads what the words for a conversation that was too long are made of."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from roost.actors import store
from roost.context import checkpoint_store as checkpoints
from roost.context.active import active_actors
from roost.context.activity import activity
from roost.context.boundary import Heard, Materials
from roost.context.checkpoint_store import Checkpoint, Gathered
from roost.context.ledger import Ledger, gathered
from roost.context.trimming import ends_of
from roost.db.transaction import Reader
from roost.goals import store as goals
from roost.inbox.models import Address
from roost.inbox.shown import is_prompt
from roost.sessions import effective, transcript
from roost.sessions.models import Message, UserInfo
from roost.tasks import store as tasks
from roost.tasks.models import TERMINAL

_HEARD: Final = 200
"""Messages that were said to an actor which are looked at."""
_EACH: Final = 7_000
"""Characters of one that are quoted."""
_ENDED_TASKS: Final = 30
"""Tasks that are over which are still told, the newest."""


class Collected(Struct, frozen=True):
    """Materials, and the ledger as it is from now on."""

    materials: Materials
    gathered: Gathered


def collect(
    db: Reader,
    address: Address,
    tail: Sequence[Message],
    *,
    account: str = "",
    remembered: tuple[tuple[str, str], ...] = (),
) -> Collected:
    """All that is known of the conversation of `address` before `tail`.

    `account` is what a model summed up just now; without it the newest checkpoint is taken.
    """
    session_id, actor_id = address.session_id, address.actor_id
    before = _place(db, session_id, tail)
    known = _known(db, address)
    new = effective.since(db, session_id, actor_id, known.message_id, before)
    ledger = gathered(new, known.ledger)
    covered = Gathered(ledger, new[-1].info.id if new else known.message_id)
    written = None if account else _written(db, address)
    goal = goals.active(db, session_id) if store.get(db, address).fronts else None
    shown = Materials(
        goal=goal.condition if goal else "",
        remembered=remembered,
        account=account or (written.body if written else ""),
        ledger=ledger,
        tasks=_tasks(db, session_id),
        actors=active_actors(db, address),
        heard=_heard(islice(effective.heard_before(db, session_id, actor_id, before), _HEARD)),
        activity=activity(new),
    )
    return Collected(shown, covered)


def _known(db: Reader, address: Address) -> Gathered:
    """What was gathered before; nothing if it goes on into what was taken back since."""
    known = checkpoints.ledger_of(db, address)
    return known if _is_there(db, address, known.message_id) else Gathered(Ledger(), "")


def _written(db: Reader, address: Address) -> Checkpoint | None:
    """The newest account that tells of nothing that was taken back since."""
    found = reversed(checkpoints.listed(db, address))
    written = (one for one in found if one.state == "written")
    return next((one for one in written if _is_there(db, address, one.message_id)), None)


def _is_there(db: Reader, address: Address, message_id: str) -> bool:
    return transcript.seq_in(db, address.session_id, message_id) is not None


def _place(db: Reader, session_id: str, tail: Sequence[Message]) -> int:
    """The `seq` before which everything is told in words."""
    first = transcript.seq_in(db, session_id, tail[0].info.id) if tail else None
    return first if first is not None else 2**62


def _tasks(db: Reader, session_id: str) -> tuple[str, ...]:
    all_tasks = tasks.listed(db, session_id)
    ended = [one for one in all_tasks if one.status in TERMINAL]
    dropped = {one.id for one in ended[:-_ENDED_TASKS]}
    return tuple(
        f"{one.id} [{one.status}] {one.summary}" for one in all_tasks if one.id not in dropped
    )


def _heard(messages: Iterable[Message]) -> tuple[Heard, ...]:
    said = ((one, one.own_words) for one in messages if isinstance(one.info, UserInfo))
    return tuple(
        Heard(one.info.id, ends_of(text, _EACH, one.info.id))
        for one, text in said
        if text and isinstance(one.info, UserInfo) and is_prompt(one.info)
    )

"""The SQL of what an actor and all below it have used since a moment, as their steps tell."""

from functools import reduce
from itertools import chain

import msgspec
from msgspec import Struct

from roost.actors import family
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.sessions.parts import Tokens


class Spent(Struct, frozen=True):
    """What a tree of actors has used."""

    actors: int = 0
    """Those that took a step."""
    steps: int = 0
    tokens: Tokens = Tokens()
    cost: float = 0.0
    """US dollars."""


class _Finish(Struct):
    tokens: Tokens = Tokens()
    cost: float = 0.0


class _Time(Struct):
    created: int


class _Head(Struct):
    time: _Time


def spent_since(db: Reader, address: Address, moment: int) -> Spent:
    """What `address` and all below it have used in steps begun since `moment` (milliseconds since
    the epoch).
    """
    everybody = (address, *(one.address for one in family.descendants(db, address)))
    by_actor = [steps for one in everybody if (steps := _steps(db, one, moment))]
    steps = list(chain.from_iterable(by_actor))
    tokens = reduce(Tokens.plus, (step.tokens for step in steps), Tokens())
    return Spent(len(by_actor), len(steps), tokens, sum(step.cost for step in steps))


def _steps(db: Reader, address: Address, moment: int) -> list[_Finish]:
    rows = db.all(
        "SELECT p.data AS finish, m.data AS head FROM turn t"
        " JOIN message m ON m.session_id = t.session_id AND m.actor_id = t.actor_id"
        " AND m.turn_id = t.id"
        " JOIN part p ON p.message_id = m.id AND p.type = 'step-finish'"
        " WHERE t.session_id = ? AND t.actor_id = ? AND (t.ended IS NULL OR t.ended >= ?)",
        (address.session_id, address.actor_id, moment),
    )
    return [
        msgspec.json.decode(row["finish"], type=_Finish)
        for row in rows
        if msgspec.json.decode(row["head"], type=_Head).time.created >= moment
    ]

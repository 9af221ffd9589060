"""What an actor and all below it have used since a moment, as their steps and judges tell."""

from functools import reduce
from itertools import chain

from msgspec import Struct

from roost.actors import family
from roost.db.transaction import Reader
from roost.goals import store as goals
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.sessions import transcript
from roost.sessions.parts import Tokens


class Spent(Struct, frozen=True):
    """What a tree of actors has used."""

    actors: int = 0
    """Those that took a step."""
    steps: int = 0
    tokens: Tokens = Tokens()
    cost: float = 0.0
    """US dollars."""


def spent_since_prompt(db: Reader, address: Address, message_id: str) -> Spent:
    """What `address` and all below it have used since the prompt `message_id` was accepted.

    Raises `NotFoundError` if that is not there any more.
    """
    return spent_since(db, address, inbox.get(db, message_id).created)


def spent_since(db: Reader, address: Address, moment: int) -> Spent:
    """What `address` and all below it have used in steps begun since `moment` (milliseconds since
    the epoch), and what judges of the goals of their sessions have.
    """
    everybody = (address, *(one.address for one in family.descendants(db, address)))
    by_actor = [
        steps
        for one in everybody
        if (steps := transcript.steps_since(db, one.session_id, one.actor_id, moment))
    ]
    steps = list(chain.from_iterable(by_actor))
    judged = goals.judged_since(db, {one.session_id for one in everybody}, moment)
    tokens = reduce(Tokens.plus, (step.tokens for step in steps), judged.tokens)
    cost = sum(step.cost for step in steps) + judged.cost
    return Spent(len(by_actor), len(steps), tokens, cost)

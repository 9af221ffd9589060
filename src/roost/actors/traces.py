"""What the other rows of a turn do not tell: what policies decided, why a call of the model was
tried again, what hooks said. Kept for who looks at a turn later; nothing in Roost goes by it.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from roost.actors.models import Outcome
from roost.core.clock import moment_of, now_ms
from roost.core.text import clean, cut
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader, Transaction

KEPT: Final = 500
"""Facts of one turn that are kept, the first ones: a turn that goes in circles must not fill the
database with that.
"""
WORDS: Final = 400
"""Characters that are kept of any words."""


class Decided(
    Struct, frozen=True, kw_only=True, tag="decision", rename=wire_name, omit_defaults=True
):
    """A policy did not leave things to go their usual way."""

    policy: str
    """Its name in the table of policies."""
    action: Literal["sample", "inject", "wait", "shorten", "stop"]
    message_id: str = ""
    """The step that was judged; empty: there was none yet."""
    budget: str = ""
    """What it spent one of; empty: nothing."""
    used: float = 0.0
    """How much of that is used now."""
    limit: float | None = None
    words: str = ""
    """What it says to the actor, or why it stops."""
    outcome: Outcome | None = None
    """Of a stop: how the turn ends."""
    hidden: int = 0
    """Steps that it takes out of the model's view."""
    until: int | None = None
    """Of a wait: when it ends at the latest (milliseconds since the epoch)."""


class Retried(Struct, frozen=True, kw_only=True, tag="retry", rename=wire_name, omit_defaults=True):
    """A call of the model failed and is tried again."""

    message_id: str
    attempt: int
    """How many have failed by now."""
    kind: str
    """The class of the error."""
    words: str
    wait: float
    """Seconds until the next try."""
    tries: int | None = None
    """Tries after the first failure that there are at most."""


class HookAsked(
    Struct, frozen=True, kw_only=True, tag="hook", rename=wire_name, omit_defaults=True
):
    """A hook was run."""

    on: str
    name: str
    seconds: float
    answer: Literal["", "continue", "cancel"] = ""
    """What it wants: that the actor goes on, that turn or step do not begin; empty: nothing."""
    words: str = ""
    """Why, or why it gave no answer."""
    failed: bool = False
    """It gave no answer."""


class Proposed(
    Struct, frozen=True, kw_only=True, tag="proposals", rename=wire_name, omit_defaults=True
):
    """Several candidates proposed a step, or it was not to be chosen from several."""

    message_id: str = ""
    """The step; empty: none was taken."""
    candidates: tuple[str, ...] = ()
    """What became of each: `used`, or why it was not."""
    taken: int | None = None
    """The candidate that was taken, from 1."""
    by: str = ""
    """Who chose it: `judge`, `agreement`, `default`."""
    model: str = ""
    """The judge, where one was asked."""
    words: str = ""
    """Why it was chosen, or why there was nothing to choose from."""
    seconds: float = 0.0
    tokens: int = 0
    """Of all candidates but the one that was taken, and of the judge."""
    cost: float = 0.0


Fact = Decided | Retried | HookAsked | Proposed


class Trace(Struct, frozen=True):
    """A fact and when it became one, in milliseconds since the epoch; None: it cannot be read."""

    at: int
    fact: Fact | None


_decoder = msgspec.json.Decoder(Fact)


def keep(tx: Transaction, turn_id: str, facts: tuple[Fact, ...]) -> None:
    """Store `facts` of a turn in their order, as far as there is room; none of one that is gone."""
    if not facts:
        return
    row = tx.one("SELECT max(seq) AS seq FROM turn_trace WHERE turn_id = ?", (turn_id,))
    last = int(row["seq"] or 0) if row else 0
    for seq, fact in enumerate(facts[: max(0, KEPT - last)], start=last + 1):
        tx.run(
            "INSERT INTO turn_trace (turn_id, seq, at, data) SELECT id, ?, ?, ? FROM turn"
            " WHERE id = ?",
            (seq, now_ms(), msgspec.json.encode(_short(fact)).decode(), turn_id),
        )


def _short(fact: Fact) -> Fact:
    return msgspec.structs.replace(fact, words=cut(clean(fact.words), WORDS))


def of_turn(db: Reader, turn_id: str) -> list[Trace]:
    """What is kept of a turn, in order."""
    rows = db.all("SELECT at, data FROM turn_trace WHERE turn_id = ? ORDER BY seq", (turn_id,))
    return [Trace(moment_of(row["at"]), _fact(row["data"])) for row in rows]


def _fact(data: str) -> Fact | None:
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None

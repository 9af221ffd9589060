"""What sessions are doing, with a killed process told from one that works."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.actors import store as actors
from roost.actors.claim import is_held
from roost.actors.models import Actor
from roost.actors.owner import has_died
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.permissions import asks
from roost.permissions.asks import Ask
from roost.sessions import store as sessions

Asking = Literal["waits for permission", "waits for an answer"]
State = Literal["", "running", "waiting", "interrupted", "archived"] | Asking
"""`waiting`: a prompt lies in its inbox; `interrupted`: its process ended in the middle."""
ASKING: Final[dict[asks.Kind, Asking]] = {
    "permission": "waits for permission",
    "question": "waits for an answer",
}
_STRENGTH: Final[tuple[State, ...]] = (
    "",
    "waiting",
    "interrupted",
    "running",
    "waits for an answer",
    "waits for permission",
)
"""What a session is said to be doing where its actors do different things: the last of these."""


class Watch(Struct, frozen=True):
    """Tells what actors are doing; `owners` is the folder of the processes' lock files."""

    owners: Path

    def is_running(self, actor: Actor) -> bool:
        """Whether a live process works on the actor."""
        return is_held(actor, now_ms(), lambda owner: has_died(self.owners, owner))

    def state(self, actor: Actor) -> State:
        """What the actor is doing, whether it asks for something or not."""
        if actor.status == "idle":
            return ""
        if actor.status == "pending":
            return "waiting"
        return "running" if self.is_running(actor) else "interrupted"

    def asking(self, db: Reader) -> dict[Address, list[Ask]]:
        """What waits for a person, the oldest first, by who asks.

        What a turn asked whose process is gone is left out: nobody waits for the answer.
        """
        found: dict[Address, list[Ask]] = {}
        for ask in asks.listed(db):
            actor = actors.find(db, Address(ask.session_id, ask.actor_id))
            if actor is not None and self.waits_for(actor, ask):
                found.setdefault(actor.address, []).append(ask)
        return found

    def waits_for(self, actor: Actor, ask: Ask) -> bool:
        """Whether the turn that asked still runs, in a process that lives."""
        is_same = actor.status == "running" and actor.current_turn == ask.turn_id
        return is_same and self.is_running(actor)

    def states(self, db: Reader) -> dict[str, State]:
        """The state of each session of which an actor is not idle, or that is above one that asks
        for something.
        """
        found: dict[str, State] = {}

        def note(session_id: str, state: State) -> None:
            found[session_id] = stronger(state, found.get(session_id, ""))

        for actor in actors.not_idle(db):
            note(actor.session_id, self.state(actor))
        for address, asked in self.asking(db).items():
            for session_id in _with_all_above(db, address.session_id):
                note(session_id, ASKING[asked[0].kind])
        return found

    def state_of(self, db: Reader, actor: Actor) -> State:
        """What the actor is doing, or that it asks for something."""
        asked = self.asking(db).get(actor.address)
        return ASKING[asked[0].kind] if asked else self.state(actor)

    def running(self, db: Reader, session_ids: Iterable[str]) -> list[Actor]:
        """The actors of these sessions that a live process works on."""
        busy = [actor for one in session_ids for actor in actors.not_idle(db, one)]
        return [actor for actor in busy if self.is_running(actor)]

    def others(self) -> bool:
        """Whether a process of the user lives that can run actors."""
        known = (path.stem for path in self.owners.glob("*.lock"))
        return any(has_died(self.owners, owner) is False for owner in known)


def stronger(one: State, other: State) -> State:
    """Which of two states is told of what is in both."""
    return one if _STRENGTH.index(one) > _STRENGTH.index(other) else other


def _with_all_above(db: Reader, session_id: str) -> list[str]:
    found: list[str] = []
    at: str | None = session_id
    while at is not None and at not in found:
        found.append(at)
        session = sessions.find(db, at)
        at = session.parent_id if session else None
    return found


def owners_folder(state: Path) -> Path:
    """Where processes keep their lock files, below the folder `state`."""
    return state / "owners"

"""What sessions are doing, with a killed process told from one that works."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from roost.actors import store as actors
from roost.actors.claim import is_held
from roost.actors.models import Actor
from roost.actors.owner import has_died
from roost.core.clock import now_ms
from roost.db.transaction import Reader

State = Literal["", "running", "waiting", "interrupted"]
"""`waiting`: a prompt lies in its inbox; `interrupted`: its process ended in the middle."""


class Watch(Struct, frozen=True):
    """Tells what actors are doing; `owners` is the folder of the processes' lock files."""

    owners: Path

    def is_running(self, actor: Actor) -> bool:
        """Whether a live process works on the actor."""
        return is_held(actor, now_ms(), lambda owner: has_died(self.owners, owner))

    def state(self, actor: Actor) -> State:
        """What the actor is doing."""
        if actor.status == "idle":
            return ""
        if actor.status == "pending":
            return "waiting"
        return "running" if self.is_running(actor) else "interrupted"

    def states(self, db: Reader, session_id: str | None = None) -> dict[str, State]:
        """The state of each session (or of that one) whose fronting actor is not idle."""
        busy = actors.not_idle(db, session_id)
        return {actor.session_id: self.state(actor) for actor in busy if actor.fronts}

    def running(self, db: Reader, session_ids: Iterable[str]) -> list[Actor]:
        """The actors of these sessions that a live process works on."""
        busy = [actor for one in session_ids for actor in actors.not_idle(db, one)]
        return [actor for actor in busy if self.is_running(actor)]


def owners_folder(state: Path) -> Path:
    """Where processes keep their lock files, below the folder `state`."""
    return state / "owners"

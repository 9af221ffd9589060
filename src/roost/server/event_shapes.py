"""What the events about actors, turns, mail and teams tell: for the OpenAPI document.

All other events are OpenCode's.
"""

from typing import Final

from msgspec import Struct

from roost.actors.models import Actor, CancelMode, Outcome, SessionStatus
from roost.actors.teams import Reached, Team
from roost.core.wire_names import wire_name
from roost.goals.models import Goal, Verdict
from roost.inbox.models import Address, State
from roost.server.wire import MailView, Stamp
from roost.sessions.models import MessageError
from roost.turn.ensemble_news import Phase
from roost.turn.stuck import Reason
from roost.turn.stuck_news import Choice


class AboutActor(Struct, frozen=True, rename=wire_name):
    """Of whom it tells."""

    session_id: str
    actor_id: str


class ActorRegistered(Struct, frozen=True, rename=wire_name):
    """An actor was made."""

    session_id: str
    actor: Actor


class ActorUpdated(ActorRegistered, frozen=True):
    """An actor runs as another agent from its next turn on."""


class ActorRemoved(AboutActor, frozen=True):
    """An actor that was made for one question is gone, with all that it said."""


class ActorStatus(AboutActor, frozen=True):
    """An actor began to work, waits to try its model again, or went to sleep."""

    status: SessionStatus


class ActorCancelling(AboutActor, frozen=True):
    """An actor was asked to stop."""

    mode: CancelMode


class ActorStalled(AboutActor, frozen=True):
    """An actor has given no sign of life for so many seconds. It is left alone."""

    last_activity: Stamp
    seconds: int


class TurnDelivered(AboutActor, frozen=True):
    """The result of a turn is there, although the turn goes on to what follows it."""

    turn_id: str
    outcome: Outcome
    message_id: str | None


class TurnEnded(TurnDelivered, frozen=True):
    """A turn has ended."""

    error: MessageError | None


class InboxArrived(Struct, frozen=True, rename=wire_name):
    """Something was said to an actor, or what waits for it was reworded."""

    session_id: str
    row: MailView


class InboxUpdated(Struct, frozen=True, rename=wire_name):
    """Mail was heard, taken back or expired."""

    session_id: str
    id: str
    state: State


class TeamCreated(Struct, frozen=True, rename=wire_name):
    """A team was made, by a session where one is named."""

    team: Team
    session_id: str | None = None


class TeamDeleted(Struct, frozen=True, rename=wire_name):
    """A team was removed."""

    team_id: str
    name: str


class TeamMemberLeft(AboutActor, frozen=True):
    """An actor left a team. Those of a deleted session leave without a word."""

    team_id: str
    name: str


class TeamMemberJoined(TeamMemberLeft, frozen=True):
    """An actor joined a team, or has another role in it."""

    role: str


class TeamMessage(Struct, frozen=True, rename=wire_name):
    """Something was said to a team, by an actor or a person, with a receipt for each member."""

    team_id: str
    name: str
    text: str
    role: str | None
    sender: Address | None
    receipts: list[Reached]
    session_id: str | None = None
    """Of the sender."""


class SessionGoal(Struct, frozen=True, rename=wire_name):
    """A session was given a goal, it was judged, paused, taken up again or cleared."""

    session_id: str
    goal: Goal
    verdict: Verdict | None
    """What the judge said, where that is the news."""


class SessionMaxMode(AboutActor, frozen=True, omit_defaults=True):
    """How far a round of proposals for a step has come, or why there is none."""

    message_id: str
    """The message that the step is to be; it does not exist before one is chosen."""
    phase: Phase
    candidates: int
    ended: int
    dropped: int
    """Those that have ended and cannot be taken."""
    seconds: float
    characters: tuple[int, ...] = ()
    """How much each has written by now, while they propose."""
    usable: int | None = None
    candidate: int | None = None
    """The one that was chosen, from 1."""
    by: str = ""
    reason: str = ""


class TryBestDetected(AboutActor, frozen=True):
    """An actor works and gets nowhere: its turn waits for a person, or it is told to try another
    way."""

    turn_id: str
    reason: Reason
    message: str
    evidence: dict[str, str | int]
    paused: bool
    choices: list[Choice]


class UndoLimited(Struct, frozen=True, rename=wire_name):
    """Something that a session's actors do to files cannot be undone, and why."""

    session_id: str
    message: str


EVENT_SHAPES: Final[dict[str, type[Struct]]] = {
    "actor.registered": ActorRegistered,
    "actor.updated": ActorUpdated,
    "actor.removed": ActorRemoved,
    "actor.status": ActorStatus,
    "actor.cancelling": ActorCancelling,
    "actor.stalled": ActorStalled,
    "turn.delivered": TurnDelivered,
    "turn.ended": TurnEnded,
    "session.goal": SessionGoal,
    "session.max_mode": SessionMaxMode,
    "session.try_best.detected": TryBestDetected,
    "inbox.arrived": InboxArrived,
    "inbox.updated": InboxUpdated,
    "team.created": TeamCreated,
    "team.deleted": TeamDeleted,
    "team.member.joined": TeamMemberJoined,
    "team.member.left": TeamMemberLeft,
    "team.message": TeamMessage,
    "undo.limited": UndoLimited,
}
"""The `properties` of an event by its `type`."""

"""What can be asked about the sessions that one directs: one struct an action.

The docstrings of the actions and the descriptions of their fields are read by models.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from roost.tools.actor_operations import DEFAULT_TIMEOUT_MS, Action, Kinds, Timeout

SessionId = Annotated[str, Meta(description="The id of a session of yours.")]


class Create(Action, frozen=True, tag="create"):
    """Begin a session with a task and go on at once; a notice tells you how its turn ends."""

    task: Annotated[str, Meta(description="Its whole brief. It knows nothing else.")]
    agent: (
        Annotated[
            str, Meta(description="What it works as, from the list above; build if left out.")
        ]
        | None
    ) = None
    model: (
        Annotated[str, Meta(description="ultra, standard, lite, or provider/model; seldom needed.")]
        | None
    ) = None
    title: Annotated[str, Meta(description="A few words, for people.")] | None = None
    dir: Annotated[str, Meta(description="Where it works; your own folder if left out.")] | None = (
        None
    )
    isolate: (
        Annotated[
            bool,
            Meta(
                description="It gets a working tree and a branch of its own, from the last commit:"
                " for work that is done beside other work on the same files."
            ),
        ]
        | None
    ) = None
    topic: (
        Annotated[
            str,
            Meta(
                description="What it is about. If a session of yours has this topic, the task goes"
                " to that one as a message."
            ),
        ]
        | None
    ) = None


class SendTo(Action, frozen=True, tag="send"):
    """Give a session more to do or to know. One at work hears it soon, any other is woken."""

    session_id: SessionId
    task: Annotated[str, Meta(description="What to say.")]


class Ask(Action, frozen=True, tag="ask"):
    """Ask what a session knows, without disturbing it: a copy of it that can only read answers."""

    session_id: SessionId
    question: Annotated[str, Meta(description="What you want to know.")]


class Join(Action, frozen=True, tag="join"):
    """Wait until all of these sessions are at rest, and read what came of each."""

    session_ids: Annotated[list[str], Meta(min_length=1, description="Which ones.")]
    timeout_ms: Timeout | None = None


class StatusOfSession(Action, frozen=True, tag="status"):
    """Look at one session. Waits for nothing."""

    session_id: SessionId


class ListSessions(Action, frozen=True, tag="list"):
    """All your sessions, one line each."""


class Dashboard(Action, frozen=True, tag="dashboard"):
    """All your sessions by how they stand, with working trees and what waits for an answer."""


class Switch(Action, frozen=True, tag="switch"):
    """Show a session to the user, in place of this one."""

    session_id: SessionId


class SetMode(Action, frozen=True, tag="setmode"):
    """Let a session work as another agent from its next turn on."""

    session_id: SessionId
    agent: Annotated[str, Meta(description="From the list above.")]


class CancelSession(Action, frozen=True, tag="cancel"):
    """Stop a session and all below it. Its working tree is removed if nothing is lost with it."""

    session_id: SessionId


class Approve(Action, frozen=True, tag="approve"):
    """Agree once to what a session asks, if the user's wishes leave no doubt."""

    request_id: Annotated[str, Meta(description="From the request, such as per_….")]


class GrantApproval(Action, frozen=True, tag="grant-approval"):
    """Agree to all that a session asks from now on, but for what needs a person."""

    session_id: Annotated[str, Meta(description="The id of a session of yours; * for all.")]


SessionOperation = (
    Create
    | SendTo
    | Ask
    | Join
    | StatusOfSession
    | ListSessions
    | Dashboard
    | Switch
    | SetMode
    | CancelSession
    | Approve
    | GrantApproval
)


class SessionInvocation(Struct, frozen=True, forbid_unknown_fields=True):
    """One action."""

    operation: Annotated[SessionOperation, Meta(description="What to do.")]


KINDS: Final[Kinds] = {
    "create": Create,
    "send": SendTo,
    "ask": Ask,
    "join": Join,
    "status": StatusOfSession,
    "list": ListSessions,
    "dashboard": Dashboard,
    "switch": Switch,
    "setmode": SetMode,
    "cancel": CancelSession,
    "approve": Approve,
    "grant-approval": GrantApproval,
}
"""Actions by name."""
JOIN_MS: Final = DEFAULT_TIMEOUT_MS

"""What can be asked about other actors: one struct an action, as a model writes it.

The docstrings of the actions and the descriptions of their fields are read by models.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

DEFAULT_TIMEOUT_MS: Final = 600_000
LONGEST_TIMEOUT_MS: Final = 3_600_000
LISTED_MODELS: Final = 50
"""Models that are listed unless a call says how many."""

Timeout = Annotated[
    int,
    Meta(
        ge=1,
        le=LONGEST_TIMEOUT_MS,
        description=f"In ms; {DEFAULT_TIMEOUT_MS} if left out, {LONGEST_TIMEOUT_MS} at most.",
    ),
]


class Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="action"):
    """What all of them have in common: their name stands in `action`."""


class Order(Action, frozen=True):
    """A child that is wanted."""

    subagent_type: Annotated[str, Meta(description="What it runs as, from the list above.")]
    description: Annotated[str, Meta(description="What it is to do in three to six words.")]
    prompt: Annotated[str, Meta(description="Its whole task. It knows nothing else.")]
    model: (
        Annotated[
            str,
            Meta(description="ultra, standard, lite, or one that `models` lists; seldom needed."),
        ]
        | None
    ) = None
    task_id: (
        Annotated[str, Meta(description="The task of your list that it works on, such as T1.")]
        | None
    ) = None
    command: (
        Annotated[str, Meta(description="The command of the user that led to it, if one did.")]
        | None
    ) = None
    context: (
        Annotated[
            Literal["none", "state", "full"],
            Meta(
                description="What it sees before the prompt: none (if left out) nothing, state a"
                " summary of your work so far, full this conversation up to here."
            ),
        ]
        | None
    ) = None
    output_schema: (
        Annotated[
            dict[str, Any],
            Meta(description="JSON Schema of its answer, which is then checked JSON."),
        ]
        | None
    ) = None


class Spawn(Order, frozen=True, tag="spawn"):
    """The default. Start an actor and go on at once; a notice tells you how it ends."""


class Run(Order, frozen=True, tag="run"):
    """The rare exception. Start an actor and wait until it ends; the answer is its result."""

    timeout_ms: Timeout | None = None


class StatusOf(Action, frozen=True, tag="status"):
    """Look at one actor, or at all of yours and what became of your messages. Waits for nothing."""

    actor_id: Annotated[str, Meta(description="Left out: all.")] | None = None


class Wait(Action, frozen=True, tag="wait"):
    """Wait until the turn of an actor ends or, without actor_id, until mail comes."""

    actor_id: Annotated[str, Meta(description="Left out: wait for mail.")] | None = None
    timeout_ms: Timeout | None = None


class WaitForMail(Action, frozen=True, tag="wait"):
    """Sleep until mail comes, at the end of this step."""

    timeout_ms: Timeout | None = None


class Cancel(Action, frozen=True, tag="cancel"):
    """Stop an actor and all that it started. One that has ended stays as it is."""

    actor_id: Annotated[str, Meta(description="Which one.")]
    mode: (
        Annotated[
            Literal["graceful", "forced"],
            Meta(
                description="graceful (if left out): it may report in one last step; forced: now."
            ),
        ]
        | None
    ) = None


class Send(Action, frozen=True, tag="send"):
    """Say something to an actor. One that runs hears it at its next step, any other is woken."""

    to_actor_id: Annotated[
        str, Meta(description="Such as explore-1, main or, from a child, parent.")
    ]
    content: Annotated[str, Meta(description="What to say.")]
    to_session_id: (
        Annotated[str, Meta(description="Where it is, if not in this session.")] | None
    ) = None
    reply_to: (
        Annotated[str, Meta(description="The id of the message that this one answers.")] | None
    ) = None


class Models(Action, frozen=True, tag="models"):
    """List what can be given as `model`."""

    vision: (
        Annotated[bool, Meta(description="Only models that read images, or only others.")] | None
    ) = None
    limit: (
        Annotated[int, Meta(ge=1, le=500, description=f"{LISTED_MODELS} if left out.")] | None
    ) = None


Operation = Spawn | Run | StatusOf | Wait | Cancel | Send | Models
TalkOperation = Send | StatusOf | WaitForMail


class Invocation(Struct, frozen=True, forbid_unknown_fields=True):
    """One action."""

    operation: Annotated[Operation, Meta(description="What to do.")]


class TalkInvocation(Struct, frozen=True, forbid_unknown_fields=True):
    """One action of an actor that starts no others."""

    operation: Annotated[TalkOperation, Meta(description="What to do.")]


class CommandLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One action as a line."""

    command: Annotated[
        str, Meta(description='One line, for example: actor send explore-1 "Look in docs/ too"')
    ]


Kinds = dict[str, type[Action]]
"""Actions by name."""
ALL: Final[Kinds] = {
    "spawn": Spawn,
    "run": Run,
    "status": StatusOf,
    "wait": Wait,
    "cancel": Cancel,
    "send": Send,
    "models": Models,
}
TALK: Final[Kinds] = {"send": Send, "status": StatusOf, "wait": WaitForMail}
"""What is left to an actor that starts no others."""

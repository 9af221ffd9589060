"""What the runtime tells an actor about another one: the columns, and the one table of wordings.

A notice is stored as columns and rendered when it is read; nobody parses the words back. That a
turn ended and that its task succeeded are different things and are worded differently.
"""

from typing import Final, Literal

from msgspec import Struct

from roost.core.wire_names import wire_name

NoticeKind = Literal[
    "completed",
    "finished",
    "unreported",
    "failed",
    "cancelled",
    "interrupted",
    "stalled",
    "undelivered",
]
"""`completed`: it reported success or part of it, or was not asked for a report; `finished`: it
reported failure or a block; `unreported`: it was asked and reported nothing that can be read;
`undelivered`: a message of the receiver's own never reached its reader."""

RESULT_LIMIT: Final = 30_000
"""Characters of a result that a notice carries."""


class NoticeBody(Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True):
    """How a turn of a background actor ended, or what became of a message."""

    notice: NoticeKind
    session_id: str
    actor_id: str
    agent: str = ""
    description: str = ""
    turn_id: str = ""
    turn: int = 0
    """Its number among the actor's turns."""
    status: str = ""
    """What the actor reported: `success`, `partial`, `failed`, `blocked`."""
    summary: str = ""
    result: str = ""
    """Its last words, or the answer in the format that was asked for."""
    left_out: int = 0
    """Characters of the result that are not in `result`."""
    error: str = ""
    open_tasks: tuple[str, ...] = ()
    """Its tasks that are not done, each as `T1 what`."""
    seconds: int = 0
    """Of a stall: how long nothing was heard."""
    resumed: bool = False
    """Of an interruption: it goes on by itself."""
    message_id: str = ""
    """Of an undelivered message: its id."""


ENDINGS: Final[dict[NoticeKind, str]] = {
    "completed": "completed.",
    "finished": "finished (status: {status}).",
    "unreported": "ended (status not reported).",
    "failed": "failed.",
    "cancelled": "was cancelled.",
    "interrupted": "was interrupted: the process that ran it stopped.",
    "stalled": "appears stalled (no activity for {seconds} s).",
    "undelivered": "never read your message {message}.",
}
"""How the first line of a notice ends."""

ADVICE: Final[dict[NoticeKind, str]] = {
    "stalled": "Look at it with `status`, ask it with `send`, or stop it with `cancel`.",
}
_RESUMED: Final = "It goes on by itself; you will hear how it ends."
_LEFT: Final = "It was left as it is; `send` it a message to let it go on."


def ending_of(body: NoticeBody) -> str:
    """How it ended, as the end of a sentence about the actor."""
    return ENDINGS[body.notice].format(
        status=body.status, seconds=body.seconds, message=body.message_id
    )


def subject(body: NoticeBody) -> str:
    """The first line: who, and how it ended. Plain text, for people and models alike."""
    ending = ending_of(body)
    if body.notice == "undelivered":
        return f"Actor {body.actor_id} {ending}"
    about = f'"{body.description}" ' if body.description else ""
    return f"Background actor {about}({body.agent} {body.actor_id}) {ending}"


def words(body: NoticeBody) -> str:
    """The whole notice as plain text."""
    lines = [subject(body)]
    if body.notice == "completed" and body.status:
        lines.append(f"Status: {body.status}")
    lines += [f"{name}: {text}" for name, text in _facts(body) if text]
    if body.notice == "interrupted":
        lines.append(_RESUMED if body.resumed else _LEFT)
    if advice := ADVICE.get(body.notice):
        lines.append(advice)
    return "\n".join(lines)


def _facts(body: NoticeBody) -> list[tuple[str, str]]:
    partial = body.notice in {"failed", "cancelled", "interrupted"}
    cut = f"\n[{body.left_out:,} more characters; `wait` with its actor_id gives the whole]"
    return [
        ("Summary", body.summary),
        ("Error", body.error),
        ("Not finished", "; ".join(body.open_tasks)),
        (
            "Partial result" if partial else "Result",
            body.result + (cut if body.left_out else "") if body.result else "",
        ),
    ]

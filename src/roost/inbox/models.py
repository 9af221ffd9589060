"""What can be said to an actor, and what became of it."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.inbox.notices import NoticeBody
from roost.sessions.models import ModelName
from roost.sessions.parts import AgentPart, CompactionPart, FilePart, SubtaskPart, TextPart

Kind = Literal["prompt", "brief", "message", "notice", "permission", "system"]
"""`prompt`: a person's words; `brief`: what a child was spawned for; `message`: another actor's
words; the rest is the runtime's own.
"""
RUNTIME_KINDS: Final = frozenset({"brief", "notice", "permission", "system"})
"""What no actor can send of itself."""
State = Literal["queued", "delivered", "rejected", "expired"]

PromptPart = TextPart | FilePart | AgentPart | SubtaskPart


class Address(Struct, frozen=True, rename=wire_name):
    """An actor."""

    session_id: str
    actor_id: str


class PromptBody(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """A prompt with everything its message will need; ids were chosen when it was accepted."""

    message_id: str
    agent: str
    model: ModelName
    parts: tuple[PromptPart, ...]
    created: int
    system: str | None = None
    tools: dict[str, bool] | None = None
    format: dict[str, Any] | None = None
    max_mode: bool | int | None = None


class NoteBody(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """Words that are not a prompt. Data, never markup: the renderer escapes them, unless they
    stand for what the actor has heard and said before (`mark`), with all foreign words quoted.
    """

    text: str
    subject: str = ""
    """One line that says what it is about."""
    origin: str = ""
    """Which part of the runtime said it, for example `length`."""
    mark: CompactionPart | None = None
    """From here on the words take the place of the conversation before them."""


Body = PromptBody | NoticeBody | NoteBody


class InboxRow(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """One thing said to one actor."""

    seq: int
    id: str
    receiver: Address
    kind: Kind
    body: Body
    state: State
    created: int
    sender: Address | None = None
    sender_turn: str | None = None
    reply_to: str | None = None
    key: str | None = None
    wake: bool = True
    message_id: str | None = None
    """The message it becomes; of what is no prompt, once it was heard."""
    turn_id: str | None = None
    """The turn that took it up."""
    delivered: int | None = None
    hops: int = 0
    """Messages from actor to actor since a person spoke, this one included."""


class Letter(Struct, frozen=True, kw_only=True):
    """What is to be sent."""

    receiver: Address
    kind: Kind
    body: Body
    sender: Address | None = None
    sender_turn: str | None = None
    reply_to: str | None = None
    key: str | None = None
    """Sending the same key to the same receiver again changes nothing."""
    wake: bool = True
    """Whether an idle receiver starts a turn for it."""
    hops: int = 0
    """See `InboxRow.hops`."""


class Receipt(Struct, frozen=True):
    """What the sender is told."""

    id: str
    seq: int
    new: bool
    """False when the key had been used before."""
    pending: bool = False
    """The receiver was idle and must be woken once this is committed."""


def encode_body(body: Body) -> str:
    """A body as JSON text."""
    return msgspec.json.encode(body).decode()


_SHAPES: Final[dict[str, type[Body]]] = {
    "prompt": PromptBody,
    "brief": PromptBody,
    "notice": NoticeBody,
}


def decode_body(kind: str, data: str) -> Body:
    """A body from JSON text; its shape follows from the row's kind."""
    return msgspec.json.decode(data, type=_SHAPES.get(kind, NoteBody))

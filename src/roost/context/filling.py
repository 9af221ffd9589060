"""What fills the window of a model, by kind. Pure.

A provider counts a request as a whole; what single parts of it take up is estimated, and what is
left over belongs to the tools and to what dialects put around things.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from roost.context.estimate import answers_in, said_in, tokens_in, tokens_of, used
from roost.core.wire_names import wire_name
from roost.sessions.effective import Slice, mark_of
from roost.sessions.models import Message, UserInfo

Kind = Literal["system", "tools", "shortened", "user", "model", "results"]
KINDS: Final[tuple[Kind, ...]] = ("system", "tools", "shortened", "user", "model", "results")


class Share(Struct, frozen=True, rename=wire_name):
    """What one kind takes up: `shortened` are the words in place of a conversation's beginning,
    `model` what it said and called, `results` what tools answered.
    """

    kind: Kind
    tokens: int
    messages: int


class Filling(Struct, frozen=True, rename=wire_name):
    """The next request of an actor, as far as it is known."""

    used: int
    counted: bool
    """A provider counted most of it; otherwise all of it is an estimate."""
    shares: tuple[Share, ...]


def filling_of(known: Slice, system: Sequence[str]) -> Filling:
    """What the effective slice `known` takes up behind the system prompt `system`."""
    messages = known.messages
    trim = known.mark.trim if known.mark else None
    counted = any(_is_counted(one) for one in messages[known.settled :])
    shares = {kind: [0, 0] for kind in KINDS}
    shares["system"][0] = sum(map(tokens_in, system))
    for at, message in enumerate(messages):
        shown = trim if at < known.settled else None
        for kind, tokens in _kinds(message, shown):
            shares[kind][0] += tokens
            shares[kind][1] += 1
    whole = sum(tokens for tokens, _ in shares.values())
    if counted:
        estimated, whole = whole, used(messages, known.settled, 0, trim)
        shares["tools"][0] = max(0, whole - estimated)
    return Filling(whole, counted, tuple(Share(kind, *shares[kind]) for kind in KINDS))


def _kinds(message: Message, trim: int | None) -> Iterable[tuple[Kind, int]]:
    if mark_of(message) is not None:
        yield "shortened", tokens_of(message, trim)
    elif isinstance(message.info, UserInfo):
        yield "user", tokens_of(message, trim)
    else:
        yield "model", said_in(message, trim)
        if answers := answers_in(message, trim):
            yield "results", answers


def _is_counted(message: Message) -> bool:
    info = message.info
    return not isinstance(info, UserInfo) and info.tokens.total > 0

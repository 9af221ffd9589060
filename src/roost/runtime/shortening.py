"""Shortens a conversation because a person asks for it: a prompt that no model answers."""

from typing import Final

from msgspec import Struct

from roost.core.errors import RoostError
from roost.core.wire_names import wire_name
from roost.runtime.models import PromptInput, TextInput
from roost.runtime.runtime import Runtime
from roost.sessions import effective
from roost.sessions.models import ModelName
from roost.turn.asked import ASKED

NAME: Final = "compact"
DESCRIPTION: Final = "shorten the conversation for the model; nothing of it is deleted"
WORDS: Final = "The user has the conversation shortened here; that needs no answer."
"""What the prompt says to the model."""


class Shortened(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """What became of a conversation. Tokens are estimates where no provider counted them."""

    session_id: str
    done: bool
    """False: there was nothing to shorten."""
    before: int = 0
    after: int = 0


async def shorten(
    runtime: Runtime,
    session_id: str,
    *,
    actor_id: str | None = None,
    message_id: str | None = None,
    model: ModelName | None = None,
) -> Shortened:
    """Have the conversation of an actor shortened, at its next step if it is at work.

    Raises `RoostError` where that fails.
    """
    given = PromptInput(
        parts=(TextInput(text=WORDS, synthetic=True),), message_id=message_id, model=model
    )
    accepted = await runtime.prompt(session_id, given, actor_id=actor_id, order=ASKED)
    result = await runtime.wait_turn(session_id, accepted.message_id)
    turn = result.turn
    found = await runtime.database.read(
        lambda db: effective.load(db, turn.session_id, turn.actor_id)
    )
    at = [message.info.id for message in found.messages[: found.settled]]
    if found.mark is not None and accepted.message_id in at:
        return Shortened(session_id, True, found.mark.before, found.mark.after)
    if turn.outcome != "success":
        raise RoostError(turn.error.message if turn.error else f"its turn was {turn.outcome}")
    return Shortened(session_id, False)


def in_words(done: Shortened) -> str:
    """What a person is told of it."""
    if not done.done:
        return "There is nothing to shorten yet."
    return (
        f"The conversation is shortened for the model from about {done.before:,} tokens to"
        f" {done.after:,}. Nothing of it is deleted."
    )

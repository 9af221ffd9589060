"""What is told when an actor gets nowhere: the evidence, and what a person can do about it."""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from roost.core.text import clean, cut
from roost.events.types import Event
from roost.sessions.models import Message, MessageError
from roost.sessions.parts import TextPart
from roost.turn.memory import Memory
from roost.turn.models import Action, Inject, Stop
from roost.turn.policies.try_best import WORDS, evidence_of
from roost.turn.stuck import Stuck
from roost.turn.world import World

BRIEF: Final = 600
"""Characters of what was asked for, in a brief for another program."""
GO_ON: Final = "Go on as before; this is getting somewhere."


class Choice(Struct, frozen=True, omit_defaults=True):
    """Something that a person can do."""

    id: Literal["another_way", "go_on", "hand_off"]
    label: str
    prompt: str = ""
    """What to say to the actor."""
    program: str = ""
    command: str = ""
    """What to type into a shell; nobody else runs it."""


def told(world: World, memory: Memory, action: Action) -> tuple[Action, Event | None]:
    """`action` with what a person can do, where it is because the actor is stuck, and its news."""
    if not isinstance(action, Inject | Stop) or action.stuck is None:
        return action, None
    choices = _choices(world, memory, action.stuck)
    about = {
        "sessionID": memory.claim.address.session_id,
        "actorID": memory.claim.address.actor_id,
        "turnID": memory.claim.turn.id,
        "reason": action.stuck.reason,
        "message": action.stuck.what,
        "evidence": evidence_of(action.stuck),
        "paused": isinstance(action, Stop),
        "choices": choices,
    }
    event = Event("session.try_best.detected", about, session_id=memory.claim.address.session_id)
    if isinstance(action, Stop) and action.error is not None:
        data = {**action.error.data, "choices": msgspec.to_builtins(choices)}
        action = msgspec.structs.replace(action, error=MessageError(action.error.name, data))
    return action, event


def _choices(world: World, memory: Memory, stuck: Stuck) -> list[Choice]:
    words = WORDS.format(what=stuck.what, error=stuck.error)
    over = world.hand_offs(_brief(memory, stuck))
    return [
        Choice("another_way", "Try another way", prompt=words),
        *(
            Choice("hand_off", f"Hand over to {name}", program=name, command=command)
            for name, command in over.items()
        ),
        Choice("go_on", "Go on", prompt=GO_ON),
    ]


def _brief(memory: Memory, stuck: Stuck) -> str:
    """What another program must know to take over, in one line."""
    prompt = next(
        (one for one in reversed(memory.messages) if one.info is memory.prompt),
        None,
    )
    asked = cut(" ".join(_said(prompt).split()), BRIEF)
    last = cut(" ".join(stuck.error.split()), BRIEF)
    lines = [
        f'The task: "{asked}".',
        f"Another agent worked on it in this folder and got nowhere: {stuck.what}.",
        f"The last that came of it: {last}" if last else "",
        "Look at the changes that are there, find out what is wrong, and finish the task.",
    ]
    return clean(" ".join(filter(None, lines)))


def _said(message: Message | None) -> str:
    parts = message.parts if message is not None else ()
    return " ".join(p.text for p in parts if isinstance(p, TextPart) and not p.synthetic)

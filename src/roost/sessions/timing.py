"""When things happened within a step, as far as its message tells. Pure; all times are
milliseconds since the epoch.
"""

from typing import Final

from roost.core.ids import stamp_of
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

_STAMP_BITS: Final = 36
"""Of the time in an id: it begins anew every 795 days."""
_COUNTER_BITS: Final = 12
_NEAR: Final = 86_400_000
"""An id that was made longer than this from its message is of another program's making."""


def made_at(identifier: str, near: int) -> int | None:
    """When an id was made, around `near`; None: it does not say."""
    stamp = stamp_of(identifier)
    if stamp is None:
        return None
    wrap = 1 << _STAMP_BITS
    away = ((stamp >> _COUNTER_BITS) - near + wrap // 2) % wrap - wrap // 2
    return near + away if abs(away) <= _NEAR else None


def first_content(message: Message) -> int | None:
    """When the first thing came that the model said or called; None: nobody knows."""
    created = message.info.time.created
    found = [_began(part, created) for part in message.parts]
    return min((one for one in found if one is not None), default=None)


def _began(part: Part, near: int) -> int | None:
    match part:
        case ReasoningPart():
            return part.time.start
        case TextPart(time=time) if time is not None and not part.synthetic:
            return time.start
        case ToolPart():
            return made_at(part.id, near)
        case _:
            return None


def answered(message: Message) -> int | None:
    """When the model had ended its answer: before the first call was run, else with the step."""
    runs = [run for part in message.parts if isinstance(part, ToolPart) and (run := started(part))]
    info = message.info
    return min(runs, default=info.time.completed if isinstance(info, AssistantInfo) else None)


def started(part: ToolPart) -> int | None:
    """When a call was run; None: it was not, or nobody knows."""
    match part.state:
        case ToolPending():
            return None
        case ToolRunning(time=time):
            return time.start
        case ToolCompleted(time=time) | ToolFailed(time=time):
            return time.start or None

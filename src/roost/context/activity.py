"""What was done last, a line each: for whoever has to go on without having seen it. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from roost.core.text import cut
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import TextPart, ToolCompleted, ToolFailed, ToolPart

MOST: Final = 200
"""Lines; the newest are kept."""
_WORDS: Final = 240
_ARGUMENT: Final = 80


def activity(messages: Sequence[Message]) -> tuple[str, ...]:
    """What the model said and which tools it used, the newest last."""
    lines: list[str] = []
    for message in reversed(messages):
        if isinstance(message.info, AssistantInfo) and not message.info.hidden:
            lines += reversed([line for part in message.parts if (line := _line(part))])
        if len(lines) >= MOST:
            break
    return tuple(reversed(lines[:MOST]))


def _line(part: object) -> str:
    match part:
        case TextPart(ignored=False, synthetic=False) if part.text.strip():
            return cut(" ".join(part.text.split()), _WORDS)
        case ToolPart():
            return f"{part.tool}({_arguments(part.state.input)}){_end(part)}"
        case _:
            return ""


def _arguments(given: dict[str, Any]) -> str:
    shown = (f"{name}={_short(value)}" for name, value in given.items())
    return ", ".join(shown)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return cut(" ".join(text.split()), _ARGUMENT)


def _end(part: ToolPart) -> str:
    match part.state:
        case ToolCompleted():
            return ""
        case ToolFailed() as state:
            return f" failed: {cut(' '.join(state.error.split()), _ARGUMENT)}"
        case _:
            return " was interrupted: look whether it had effects"

"""How many tokens something takes up, without a tokenizer. Pure.

Latin text has about four characters a token, code and JSON a few less; in scripts without spaces a
character is about a token of its own. Estimates err on the high side; what a provider reported of
a conversation always goes before them (see `used`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from roost.context.trimming import shows_files
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    FilePart,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)

_CHARACTERS: Final = 3.6
"""Of a token of Latin text, code and JSON among it."""
MEDIA: Final = 1_600
"""Tokens of an image, or of a page."""
_PER_MESSAGE: Final = 6
_PER_CALL: Final = 30


def tokens_in(text: str) -> int:
    """The tokens of `text`."""
    if text.isascii():
        return int(len(text) / _CHARACTERS) + 1
    more = len(text.encode("utf-8", "surrogatepass")) - len(text)
    wide = min(len(text), more // 2)
    return int((len(text) - wide) / _CHARACTERS) + wide + 1


def tokens_of(message: Message, trim: int | None = None) -> int:
    """The tokens of a message with what its tools answered, each text shown up to `trim`
    characters.
    """
    return _PER_MESSAGE + said_in(message, trim) + answers_in(message, trim)


def said_in(message: Message, trim: int | None = None) -> int:
    """The tokens of the words, files and calls of a message."""
    total = 0
    for part in message.parts:
        match part:
            case TextPart(ignored=False):
                total += _shown(part.text, trim)
            case ReasoningPart():
                total += tokens_in(part.text)
            case FilePart() if part.url.startswith("data:"):
                total += MEDIA if shows_files(trim) else _PER_CALL
            case ToolPart():
                total += _PER_CALL + _shown(_arguments(part), trim)
            case _:
                pass
    return total


def answers_in(message: Message, trim: int | None = None) -> int:
    """The tokens of what the tools of a message answered."""
    total = 0
    for part in message.parts:
        if not isinstance(part, ToolPart):
            continue
        match part.state:
            case ToolCompleted() as state:
                each = MEDIA if shows_files(trim) else _PER_CALL
                total += _shown(state.output, trim) + each * len(state.attachments or ())
            case ToolFailed() as state:
                total += _shown(state.error, trim)
            case _:
                pass
    return total


def _arguments(part: ToolPart) -> str:
    return msgspec.json.encode(part.state.input).decode()


def _shown(text: str, trim: int | None) -> int:
    return tokens_in(text if trim is None else text[:trim])


def sum_of(messages: Iterable[Message], trim: int | None = None) -> int:
    """The tokens of several messages."""
    return sum(tokens_of(message, trim) for message in messages)


def used(messages: Sequence[Message], settled: int, overhead: int, trim: int | None = None) -> int:
    """The tokens that the next request of an effective slice has.

    The newest step that a provider counted says it of all before it, its answer included; what came
    since is estimated. Steps among the first `settled` messages were counted in another
    conversation. Without a step `overhead` stands for the system prompt and the tools.
    """
    total = 0
    for at in range(len(messages) - 1, settled - 1, -1):
        message = messages[at]
        if counted := _counted(message):
            return total + counted + answers_in(message)
        total += tokens_of(message)
    return overhead + total + sum_of(messages[:settled], trim)


def _counted(message: Message) -> int:
    info = message.info
    if not isinstance(info, AssistantInfo) or info.error is not None:
        return 0
    return info.context or info.tokens.total

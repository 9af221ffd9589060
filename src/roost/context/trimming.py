"""Long texts of messages that stay in view when a conversation is shortened. Pure: the stored
messages keep every letter, and the mark in the middle says how to read it.
"""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from roost.sessions.models import Message
from roost.sessions.parts import (
    CompactionPart,
    FilePart,
    Part,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)

_HEAD: Final = 0.6
_END: Final = 0.3
_MARK: Final = "\n[… {left} characters left out here: `history` with `get` shows {where} whole …]\n"
_ARGUMENT: Final = "[… {left} characters left out …]"
_NO_FILE: Final = "[… {name} left out here: there is no room for it …]"
_MOST_FILES: Final = 8_000
"""Characters of a text below which there is no room for images either."""


def shortened(message: Message, mark: CompactionPart) -> Message:
    """`message` as `mark` has it shown: whole, unless it is older and the mark trims."""
    if mark.trim is None or message.info.id >= mark.message_id:
        return message
    return trimmed(message, mark.trim)


def trimmed(message: Message, limit: int) -> Message:
    """`message` with every text cut to about `limit` characters, its head and its end."""
    return Message(message.info, tuple(_part(part, limit) for part in message.parts))


def shows_files(limit: int | None) -> bool:
    """Whether images and documents stay in view where texts are cut to `limit` (None: to none)."""
    return limit is None or limit >= _MOST_FILES


def _part(part: Part, limit: int) -> Part:
    match part:
        case TextPart() if len(part.text) > limit:
            return msgspec.structs.replace(part, text=ends_of(part.text, limit, part.message_id))
        case FilePart() if part.url.startswith("data:") and not shows_files(limit):
            words = _NO_FILE.format(name=part.filename or part.mime)
            return TextPart(part.id, part.session_id, part.message_id, words, synthetic=True)
        case ToolPart(state=ToolCompleted() as state):
            kept = state.attachments if shows_files(limit) else None
            output = ends_of(state.output, limit, part.message_id)
            if state.attachments and not kept:
                output += "\n" + _NO_FILE.format(name="the image or document")
            changed = msgspec.structs.replace(
                state,
                input=_arguments(state.input, limit),
                output=output,
                attachments=kept,
            )
            return msgspec.structs.replace(part, state=changed)
        case ToolPart(state=ToolFailed() as state):
            changed = msgspec.structs.replace(
                state,
                input=_arguments(state.input, limit),
                error=ends_of(state.error, limit, part.message_id),
                metadata=None,
            )
            return msgspec.structs.replace(part, state=changed)
        case _:
            return part


def _arguments(given: Mapping[str, object], limit: int) -> dict[str, object]:
    return {name: _argument(value, limit) for name, value in given.items()}


def _argument(value: object, limit: int) -> object:
    """An argument with each text in it cut, however deep it lies."""
    match value:
        case str():
            return _ends(value, limit, _ARGUMENT)
        case dict():
            fields = cast("dict[str, object]", value)
            return {name: _argument(one, limit) for name, one in fields.items()}
        case list():
            return [_argument(one, limit) for one in cast("list[object]", value)]
        case _:
            return value


def ends_of(text: str, limit: int, where: str) -> str:
    """The head and the end of a text that is longer than `limit`, with where it stands whole."""
    return _ends(text, limit, _MARK.format(left="{left}", where=where))


def _ends(text: str, limit: int, mark: str) -> str:
    if len(text) <= limit:
        return text
    head, end = int(limit * _HEAD), int(limit * _END)
    return text[:head] + mark.format(left=len(text) - head - end) + text[len(text) - end :]

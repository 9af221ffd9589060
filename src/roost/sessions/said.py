"""What in a message can be looked for later: its texts by kind, in pieces of bounded size. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast, get_args

from msgspec import Struct

from roost.config.models import HistoryConfig, HistoryKind
from roost.sessions.exact import telling
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)

SaidKind = HistoryKind
KINDS: Final[tuple[SaidKind, ...]] = get_args(HistoryKind)
"""In an order that is kept: an index numbers them."""
USUAL: Final[tuple[SaidKind, ...]] = HistoryConfig().kinds
"""What can be found unless the configuration says otherwise."""
CHUNK: Final = 2_000
"""Characters of a piece."""
CHUNKS: Final = 24
"""Pieces of one text; what is longer is cut there."""
_DATA: Final = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]+")
_LOOKING: Final = frozenset({"memory", "history"})
"""Tools of which the calls repeat what was said elsewhere."""
_OF_FILES: Final = frozenset({"read", "grep", "glob", "list"})
"""Tools that tell what stands in files, where it can be read again."""


class Said(Struct, frozen=True):
    """One text of a message."""

    kind: SaidKind
    part: Part
    tool: str
    """Empty for what is no call."""
    text: str


def said_in(message: Message) -> Iterator[Said]:
    """The texts of a message, of every kind."""
    by_model = isinstance(message.info, AssistantInfo)
    for part in message.parts:
        yield from _of_part(part, by_model=by_model)


def searchable_in(message: Message) -> Iterator[Said]:
    """The texts of a message, and behind them, of what its tools answered, the telling lines."""
    yield from said_in(message)
    for part in message.parts:
        if isinstance(part, ToolPart) and part.tool not in _LOOKING | _OF_FILES:
            yield from _values_of(part)


def without_doubles(kinds: Sequence[SaidKind]) -> tuple[SaidKind, ...]:
    """`kinds` without lines of texts that are among them as a whole."""
    whole = "tool_output" in kinds
    return tuple(one for one in kinds if not (whole and one == "tool_value"))


def _values_of(part: ToolPart) -> Iterator[Said]:
    if isinstance(part.state, ToolCompleted):
        given = "\n".join(_words(part.state.input))
        for piece in telling(_without_data(part.state.output)):
            if piece not in given:  # the call itself is found by it
                yield Said("tool_value", part, part.tool, piece)


def _of_part(part: Part, *, by_model: bool) -> Iterator[Said]:
    match part:
        case TextPart(synthetic=False, ignored=False) if part.text.strip():
            kind: SaidKind = "assistant_text" if by_model else "user_text"
            yield Said(kind, part, "", _without_data(part.text))
        case ReasoningPart() if part.text.strip():
            yield Said("reasoning", part, "", _without_data(part.text))
        case ToolPart() if part.tool not in _LOOKING:
            yield from _of_call(part)
        case _:
            pass


def _of_call(part: ToolPart) -> Iterator[Said]:
    given = "\n".join(_words(part.state.input))
    if given.strip():
        yield Said("tool_input", part, part.tool, _without_data(given))
    match part.state:
        case ToolFailed(error=error) if error.strip():
            yield Said("tool_error", part, part.tool, _without_data(error))
        case ToolCompleted(output=output) if output.strip():
            yield Said("tool_output", part, part.tool, _without_data(output))
        case _:
            pass


def _words(value: Any) -> Iterator[str]:
    """Every text in JSON data, without the names of fields."""
    match value:
        case str():
            yield value
        case dict():
            for inner in cast("dict[str, Any]", value).values():
                yield from _words(inner)
        case list() | tuple():
            for inner in cast("list[Any]", value):
                yield from _words(inner)
        case _:
            pass


def _without_data(text: str) -> str:
    return _DATA.sub("[data]", text) if ";base64," in text else text


def chunks(text: str) -> list[str]:
    """`text` in at most `CHUNKS` pieces that end at a line, else at a space, if one is near."""
    pieces: list[str] = []
    while text and len(pieces) < CHUNKS:
        end = CHUNK
        if len(text) > CHUNK:
            end = max(text.rfind("\n", CHUNK // 2, CHUNK), text.rfind(" ", CHUNK * 3 // 4, CHUNK))
            end = end + 1 if end > 0 else CHUNK
        pieces.append(text[:end])
        text = text[end:]
    return pieces

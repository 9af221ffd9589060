"""A slice of stored messages as the messages of a request.

The view never alters what is stored. A stored message is turned into request messages once and
remembered, so that a step costs what is new in it and adapters recognise what they have encoded.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, takewhile
from typing import Final, assert_never

import msgspec

from roost.context.trimming import shortened
from roost.llm.models import (
    AssistantMessage,
    Media,
    Reasoning,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserContent,
    UserMessage,
)
from roost.llm.models import Message as Sent
from roost.sessions.effective import mark_of
from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.sessions.parts import (
    AgentPart,
    CompactionPart,
    FilePart,
    Part,
    PatchPart,
    ReasoningPart,
    RetryPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    UnknownPart,
)
from roost.sessions.unreadable import is_stand_in

NO_OUTPUT: Final = "(no output)"
STOPPED: Final = "[The tool was interrupted before it answered]"
FAILED: Final = "The tool failed without a word"
_SUBTASK: Final = (
    "The user has the agent {agent} started for this: {description}. What comes of it is the result"
    " of the call of `actor` that follows. Tell the user what matters of it, and go on with what"
    " else was asked."
)
_WORTH_KEEPING: Final = frozenset(
    {"MessageAbortedError", "MessageOutputLengthError", "LimitError", "StructuredOutputError"}
)
"""Errors after which the words of a step still count: it was only cut short, or the last one."""


class View:
    """The request messages of one actor's slice, built once per stored message."""

    def __init__(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._built: list[tuple[Sent, ...]] = []

    def build(self, messages: Sequence[Message]) -> tuple[Sent, ...]:
        """What the model is shown of an effective slice, oldest first."""
        known = self._known(tuple(messages))
        mark = mark_of(messages[0]) if messages else None
        self._built[known:] = [
            render(message if mark is None else shortened(message, mark))
            for message in messages[known:]
        ]
        self._messages = tuple(messages)
        return tuple(chain.from_iterable(self._built))

    def _known(self, messages: tuple[Message, ...]) -> int:
        """How many of the first messages are those of last time."""
        known = self._messages
        if messages[: len(known)] == known:  # almost always, and then quick: it is the same objects
            return len(known)
        pairs = zip(messages, known, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))


def render(message: Message) -> tuple[Sent, ...]:
    """One stored message as request messages; none if it says nothing."""
    match message.info:
        case UserInfo():
            content = tuple(_user_content(message.parts))
            return (UserMessage(content),) if content else ()
        case AssistantInfo() as info:
            return _assistant(info, message.parts)
        case _:
            assert_never(message.info)


def _user_content(parts: Iterable[Part]) -> Iterable[UserContent]:
    for part in parts:
        match part:
            case TextPart(ignored=False) if part.text.strip():
                yield Text(part.text)
            case FilePart() if (media := _media(part)) is not None:
                yield media
            case AgentPart():
                yield Text(f"@{part.name}")
            case SubtaskPart():
                yield Text(_SUBTASK.format(agent=part.agent, description=part.description))
            case UnknownPart():
                yield Text(f"[a part of type {part.type} that this program cannot read]")
            case _:
                pass


def _media(part: FilePart) -> Media | None:
    """An image or document; other files were put into words when the prompt was accepted."""
    head, _, data = part.url.partition(";base64,")
    usable = head.startswith("data:") and data.strip()
    return Media(part.mime, data, part.filename or "") if usable else None


def _assistant(info: AssistantInfo, parts: tuple[Part, ...]) -> tuple[Sent, ...]:
    calls = [part for part in parts if isinstance(part, ToolPart)]
    failed = info.error is not None and info.error.name not in _WORTH_KEEPING
    failed = failed and not is_stand_in(info)
    content = tuple(_assistant_content(parts, f"{info.provider_id}/{info.model_id}"))
    if info.hidden or (failed and not calls) or all(isinstance(x, Reasoning) for x in content):
        return ()
    said = AssistantMessage(content)
    if not calls:
        return (said,)
    return (said, ToolMessage(tuple(_result(part) for part in calls)))


def _assistant_content(parts: Iterable[Part], model: str) -> Iterable[Text | Reasoning | ToolCall]:
    for part in parts:
        match part:
            case TextPart(ignored=False) if part.text.strip():
                yield Text(part.text, part.metadata or {})
            case ReasoningPart() if part.text.strip() or part.metadata:
                yield Reasoning(part.text, model, part.metadata or {})
            case ToolPart():
                arguments = msgspec.json.encode(part.state.input).decode()
                yield ToolCall(part.call_id, part.tool, arguments, part.metadata or {})
            case (
                TextPart()
                | ReasoningPart()
                | FilePart()
                | AgentPart()
                | SubtaskPart()
                | StepStartPart()
                | StepFinishPart()
                | PatchPart()
                | RetryPart()
                | CompactionPart()
                | UnknownPart()
            ):
                pass
            case _:
                assert_never(part)


def _result(part: ToolPart) -> ToolResult:
    match part.state:
        case ToolCompleted() as state:
            media = tuple(filter(None, map(_media, state.attachments or ())))
            output = state.output if state.output.strip() else NO_OUTPUT
            return ToolResult(part.call_id, part.tool, output, media=media)
        case ToolFailed() as state:
            words = state.error if state.error.strip() else FAILED
            partial = (state.metadata or {}).get("output")
            if isinstance(partial, str) and partial:
                words = f"{words}\n\nOutput until then:\n{partial}"
            return ToolResult(part.call_id, part.tool, words, is_error=True)
        case ToolPending() | ToolRunning():
            return ToolResult(part.call_id, part.tool, STOPPED, is_error=True)
        case _:
            assert_never(part.state)

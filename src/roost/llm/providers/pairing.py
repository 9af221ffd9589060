"""Calls and results in pairs: no API takes one without the other, or anything between them.

History is repaired where it is stored; this is the last resort that keeps a request valid.
"""

from typing import Final

from roost.llm.models import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

START: Final = UserMessage((Text("(The start of the conversation is left out.)"),))
"""Put in front of a history that a user does not begin."""
CONTINUE: Final = UserMessage((Text("Continue."),))
"""Put behind a history that ends with the model's own words."""
_LOST: Final = "(no result: the call was interrupted, and it may have had effects)"


class Pairing:
    """Reads a history message by message and mends it."""

    def __init__(self) -> None:
        self._open: tuple[ToolCall, ...] = ()

    def feed(self, message: Message) -> tuple[Message, ...]:
        """What to send in place of `message`: usually itself.

        Results that no call asked for are left out, and calls without a result get one.
        """
        if isinstance(message, ToolMessage):
            mended = _answering(message, self._open) if self._open else None
            self._open = ()
            return () if mended is None else (mended,)
        before = self.missing()
        self._open = ()
        if isinstance(message, AssistantMessage):
            self._open = tuple(part for part in message.content if isinstance(part, ToolCall))
        return (message,) if before is None else (before, message)

    def missing(self) -> ToolMessage | None:
        """The results that the last calls still lack, as if they were interrupted."""
        return _answering(ToolMessage(()), self._open) if self._open else None


def _answering(message: ToolMessage, calls: tuple[ToolCall, ...]) -> ToolMessage:
    """`message` itself if it answers exactly `calls`, in order; else one that does."""
    if [result.id for result in message.results] == [call.id for call in calls]:
        return message
    known = {result.id: result for result in message.results}
    return ToolMessage(
        tuple(
            known.get(call.id) or ToolResult(call.id, call.name, _LOST, is_error=True)
            for call in calls
        )
    )

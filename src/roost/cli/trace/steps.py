"""The steps of a turn and the calls of tools in them, as entries of its timeline. Pure."""

from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from roost.cli.run.essence import Place, essence
from roost.cli.trace.entries import Called, Entry, Ran, Spent
from roost.core.text import cut
from roost.sessions import timing
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    TextPart,
    Tokens,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

SAID: Final = 500
"""Characters of what the model said that are kept in an entry."""


class Before(Struct, frozen=True):
    """What the steps of a turn have used, up to some place."""

    steps: int = 0
    tokens: Spent = Spent()
    cost: float = 0.0

    def plus(self, message: Message) -> "Before":
        """With the step of `message`."""
        info = message.info
        if not isinstance(info, AssistantInfo):
            return self
        tokens = self.tokens.plus(spent_of(info.tokens))
        return Before(self.steps + 1, tokens, self.cost + info.cost)


NOTHING: Final = Before()


def spent_of(tokens: Tokens) -> Spent:
    """Tokens as a timeline counts them."""
    cache = tokens.cache
    return Spent(
        tokens.input + cache.read + cache.write,
        cache.read,
        cache.write,
        tokens.output + tokens.reasoning,
        tokens.reasoning,
    )


def model_of(info: AssistantInfo) -> str:
    """The model of a step, with its variant."""
    ref = f"{info.provider_id}/{info.model_id}"
    return f"{ref} {info.variant}" if info.variant else ref


def called(message: Message, number: int, now: int | None) -> Entry:
    """The step that wrote `message`; `now`, if it is still being written."""
    info = message.info
    assert isinstance(info, AssistantInfo)
    begun = info.time.created

    def since(moment: int | None) -> float | None:
        return None if moment is None else max(0, moment - begun) / 1000

    answered = since(timing.answered(message))
    return Called(
        at=begun,
        number=number,
        message_id=info.id,
        model=model_of(info),
        first=since(timing.first_content(message)),
        answered=answered,
        elapsed=since(now) if answered is None else None,
        seconds=since(info.time.completed),
        tokens=spent_of(info.tokens),
        cost=info.cost,
        finish=info.finish or "",
        said=cut(_said(message), SAID),
        error=info.error.message if info.error is not None else "",
        hidden=info.hidden,
        degraded=info.degraded,
    )


def _said(message: Message) -> str:
    texts = (part.text.strip() for part in message.parts if isinstance(part, TextPart))
    return "\n".join(filter(None, texts))


def ran(message: Message, number: int, place: Place, now: int) -> list[Entry]:
    """The calls of tools in a step."""
    created = message.info.time.created
    return [
        _call(part, number, place, created, now)
        for part in message.parts
        if isinstance(part, ToolPart)
    ]


def _call(part: ToolPart, number: int, place: Place, created: int, now: int) -> Entry:
    state = part.state
    at = timing.started(part) or timing.made_at(part.id, created) or created
    said, name = essence(part.tool, state.input, place), f"{part.tool} "
    begun = Ran(
        at=at,
        step=number,
        message_id=part.message_id,
        call_id=part.id,
        tool=part.tool,
        about=said.removeprefix(name) if said != part.tool else "",
        state="pending",
    )
    match state:
        case ToolPending():
            return begun
        case ToolRunning():
            return replace(begun, state="running", seconds=max(0, now - at) / 1000)
        case ToolCompleted():
            code = state.metadata.get("exit")
            return replace(
                begun,
                state="completed",
                seconds=_span(state.time.start, state.time.end),
                bytes=len(state.output.encode("utf-8", "replace")),
                exit=code if isinstance(code, int) else None,
            )
        case ToolFailed():
            return replace(
                begun,
                state=_failed(state),
                seconds=_span(state.time.start, state.time.end),
                bytes=len(state.error.encode("utf-8", "replace")),
                error=state.error,
            )
        case _:
            assert_never(state)


def _failed(state: ToolFailed) -> str:
    metadata = state.metadata or {}
    if metadata.get("interrupted"):
        return "interrupted"
    return "denied" if metadata.get("denied") else "error"


def _span(start: int, end: int) -> float | None:
    return max(0, end - start) / 1000 if start else None

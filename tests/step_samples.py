"""Facts, steps and outcomes for tests of the policies."""

from typing import Any

import msgspec
from stage import answer_info, user_message

from roost.actors.models import Budgets
from roost.context.agents import Agent
from roost.llm.models import Model
from roost.sessions.models import Message, MessageError, MessageTime
from roost.sessions.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolTime,
)
from roost.turn.models import Completed, Facts, StepOutcome

WHERE = ("ses_1", "msg_1")
AGENT = Agent(name="build")
MODEL = Model("scripted", "one", "openai-chat", "http://127.0.0.1")
DONE = ToolTime(1, 2)


def words(text: str, **more: Any) -> TextPart:
    return TextPart("prt", *WHERE, text, **more)


def thought(text: str) -> ReasoningPart:
    return ReasoningPart("prt", *WHERE, text, Span(1, 2))


def ran(command: str = "ls", tool: str = "bash") -> ToolPart:
    state = ToolCompleted({"command": command}, "output", "", {}, DONE)
    return ToolPart("prt", *WHERE, "call_1", tool, state)


def failed(error: str = "no such file", **metadata: Any) -> ToolPart:
    return ToolPart("prt", *WHERE, "call_1", "bash", ToolFailed({}, error, DONE, metadata or None))


def step(*parts: Part, finish: str | None = "stop", error: Any = None, **more: Any) -> Message:
    shown = MessageError(error, {"message": "it broke"}) if error else None
    info = answer_info("ses_1", time=MessageTime(1, 2), finish=finish, error=shown, **more)
    return Message(info, parts)


def person(text: str = "do it") -> Message:
    return user_message("ses_1", words(text))


def mark(attempt: int = 1) -> Message:
    """What takes the place of a conversation that was too long."""
    said = runtime("what was said before")
    return Message(said.info, (CompactionPart("prt_m", "ses_1", "", True, attempt=attempt),))


def runtime(text: str = "a reminder") -> Message:
    return user_message("ses_1", words(text), person=False)


def mail(*kinds: str) -> Message:
    """Letters of these kinds, which were delivered together."""
    message = user_message("ses_1", words("news"), person=False)
    rows = [{"id": f"inb_{number}", "kind": kind} for number, kind in enumerate(kinds)]
    info = msgspec.structs.replace(message.info, provenance={"inbox": rows, "hops": 1})
    return Message(info, message.parts)


def facts(*messages: Message, **changes: Any) -> Facts:
    """The start of a step; by default a person has just spoken."""
    given: dict[str, Any] = {
        "agent": AGENT,
        "model": MODEL,
        "messages": messages or (person(),),
        "budgets": Budgets(),
        "steps": 0,
        "elapsed": 0.0,
        **changes,
    }
    return Facts(**given)


def after(outcome: StepOutcome | Message, *before: Message, **changes: Any) -> Facts:
    """The facts once a step has ended."""
    ended = Completed(outcome) if isinstance(outcome, Message) else outcome
    return facts(*(before or (person(),)), **changes).after(ended)

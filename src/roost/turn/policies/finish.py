"""What kind of step it was; an answer ends the turn, results of tools go back to the model.

First promise: a tool that ran always goes back to the model, whatever the finish reason says.
"""

import re
from typing import Final

from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import ReasoningPart, TextPart, ToolFailed, ToolPart
from roost.turn.models import Action, Facts, Sample, StepClass, Stop

_TEXT_CALL: Final = re.compile(
    r"<invoke name=|<parameter name=|</invoke>|<function_calls>|<tool_call>|<function=\w|"
    r"\[TOOL_CALLS\]"
)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
"""What is quoted: an answer about tool calls is not one."""


def classify(message: Message) -> StepClass:
    """The class of a step; the first that fits."""
    info = message.info
    assert isinstance(info, AssistantInfo)
    if any(_observed(part) for part in message.parts if isinstance(part, ToolPart)):
        return "continue"
    if info.error is not None or info.finish == "error":
        return "failed"
    text = spoken(message)
    if info.finish in {"tool-calls", "stop", "other"} and _TEXT_CALL.search(_CODE.sub("", text)):
        return "text-tool-call"
    if info.finish == "content-filter":
        return "filtered"
    if text:
        return "final"
    if any(isinstance(part, ReasoningPart) and part.text.strip() for part in message.parts):
        return "think-only"
    return "invalid"


def _observed(part: ToolPart) -> bool:
    """A call whose result the model must see; one that was interrupted has none."""
    state = part.state
    return not (isinstance(state, ToolFailed) and (state.metadata or {}).get("interrupted"))


def spoken(message: Message) -> str:
    """The words of a step that are meant for the user."""
    texts = (
        part.text
        for part in message.parts
        if isinstance(part, TextPart) and not part.synthetic and not part.ignored
    )
    return "\n".join(text for text in texts if text.strip()).strip()


def judge(facts: Facts) -> Action | None:
    """Stop after a final answer, go on after tools and at the start."""
    if facts.step is None:
        return Sample()
    match classify(facts.step):
        case "final":
            return Stop("success")
        case "continue":
            return Sample()
        case _:
            return None

"""What an actor is told when it begins to plan and when it may work again: once for each switch.

The words are stored behind the prompt that switches. So the system prompt and the tools are those
of any other work, and a request begins with the whole of the one before it.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from roost.context.system import prompt_text
from roost.sessions.models import Message
from roost.sessions.parts import TextPart

Mode = Literal["plan-mode", "plan-below", "plan-left"]
_MODES: Final[dict[str, Mode]] = {
    "plan-mode": "plan-mode",
    "plan-below": "plan-below",
    "plan-left": "plan-left",
}
_NO_PLAN: Final = "No plan was written."


class ModeNews(Struct, frozen=True):
    """What is to be said; `mode` is the origin of the words, by which they are found again."""

    mode: Mode
    words: str


def told(messages: Sequence[Message]) -> Mode | None:
    """The last that an actor was told of its mode, in `messages`, oldest first."""
    return next((mode for one in reversed(messages) if (mode := _told_in(one)) is not None), None)


def _told_in(message: Message) -> Mode | None:
    texts = (part for part in message.parts if isinstance(part, TextPart))
    return next((mode for one in texts if (mode := _MODES.get(_origin(one))) is not None), None)


def _origin(part: TextPart) -> str:
    """Which part of the runtime said it; empty for anybody else's words."""
    told: dict[str, Any] = (part.metadata or {}).get("origin") or {} if part.synthetic else {}
    return str(told.get("name", ""))


def mode_news(
    last: Mode | None, *, plans: bool, below: bool, plan: str, written: bool
) -> ModeNews | None:
    """What to tell one that was told `last`; None: it knows.

    `plans`: it plans itself; `below`: one above it does. `plan` names the file, and `written` says
    whether it is there.
    """
    if below:
        return None if last == "plan-below" else ModeNews("plan-below", prompt_text("plan_below"))
    if plans:
        words = prompt_text("plan_mode").replace("{plan}", plan)
        return None if last == "plan-mode" else ModeNews("plan-mode", words)
    if last in {None, "plan-left"}:
        return None
    named = f"The plan is in {plan}: read it before you begin." if written else _NO_PLAN
    return ModeNews("plan-left", prompt_text("plan_left").replace("{plan}", named))

"""Requests in plain words."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from roost.permissions.asks import Ask
from roost.permissions.words import in_words
from roost.tools.contract import Question

_ANSWERS: Final = {
    "once": "allowed once",
    "always": "allowed for good",
    "reject": "refused",
}


def what(ask: Ask) -> str:
    """What is asked for, in one line."""
    if ask.kind == "question":
        return " / ".join(one.question for one in questions_of(ask))
    return about(ask) or "something"


def about(ask: Ask) -> str:
    """What a permission is asked for: `running \\`make test\\``."""
    permission = str(ask.request.get("permission", ""))
    return ", ".join(in_words(permission, pattern) for pattern in patterns_of(ask))


def patterns_of(ask: Ask, key: str = "patterns") -> list[str]:
    """The patterns that a permission is asked for, or those that a lasting yes covers."""
    return [str(pattern) for pattern in ask.request.get(key, ())]


def questions_of(ask: Ask) -> tuple[Question, ...]:
    """The questions of a request."""
    return msgspec.convert(ask.request.get("questions", ()), tuple[Question, ...])


def answer_of(ask: Ask) -> str:
    """What has become of a request: `allowed once`, `refused`, `answered: SQLite`, `withdrawn`."""
    if ask.state == "withdrawn":
        return "withdrawn"
    answer: dict[str, Any] = ask.answer or {}
    if ask.kind == "permission":
        said = _ANSWERS.get(str(answer.get("reply")), "answered")
        return f"{said}: {message}" if (message := answer.get("message")) else said
    if answer.get("rejected"):
        return "left unanswered"
    return f"answered: {shown_answers(answer.get('answers', ()))}"


def shown_answers(answers: Sequence[Sequence[str]]) -> str:
    """The answers to questions, in one line."""
    return " / ".join(", ".join(chosen) or "(nothing)" for chosen in answers)

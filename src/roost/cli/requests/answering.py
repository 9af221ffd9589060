"""`roost requests answer`."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.requests.pending import named, require_waiting
from roost.cli.requests.told import tell_of
from roost.cli.requests.words import answer_of, questions_of
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.core.amounts import counted
from roost.core.errors import ConflictError, UsageError
from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.permissions import asks
from roost.permissions.asks import Ask
from roost.tools.contract import Question


class AnswerOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost requests answer`."""

    id: str
    answers: list[str]
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Answer. Raises `NotFoundError`, `UsageError`, and `ConflictError` if that was done before."""
    options = msgspec.convert(given, AnswerOptions)
    return run_at_home(given, lambda home: _answer(home, options))


async def _answer(home: Home, options: AnswerOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        ask = await database.write(lambda tx: _store(tx, options, watch))
    tell_of(ask, options.format, is_new=True)
    return 0


def _store(tx: Transaction, options: AnswerOptions, watch: Watch) -> Ask:
    ask = named(tx, options.id)
    if ask.kind == "permission":
        raise UsageError(
            f"{ask.id} asks for a permission", hint=f"Allow it: roost requests allow {ask.id}"
        )
    answers = chosen(questions_of(ask), options.answers)
    if ask.state != "open":
        raise ConflictError(f"{ask.id} was {answer_of(ask)} already")
    require_waiting(tx, watch, ask)
    return asks.answer(tx, ask.id, "question", {"answers": answers})


def chosen(questions: Sequence[Question], answers: Sequence[str]) -> list[list[str]]:
    """For each question the labels that its answer means, or the person's own words.

    Raises `UsageError` for an answer that does not fit.
    """
    if len(questions) != len(answers):
        asked = counted(len(questions), "question is", "questions are")
        raise UsageError(
            f"{asked} asked, and {counted(len(answers), 'answer')} given",
            hint="Give one for each, in the order of `roost requests show`; quote what has spaces.",
        )
    return [_labels(one, clean(said)) for one, said in zip(questions, answers, strict=True)]


def _labels(question: Question, said: str) -> list[str]:
    for pieces in ([said], said.split(",") if question.multiple else []):
        labels = [label for piece in pieces if (label := _label(question, piece)) is not None]
        if labels and len(labels) == len(pieces):
            return list(dict.fromkeys(labels))
    return _own(question, said)


def _label(question: Question, said: str) -> str | None:
    """The option that is meant, by its words or by its number."""
    word = said.strip()
    labels = [option.label for option in question.options]
    same = [label for label in labels if label.casefold() == word.casefold()]
    if same:
        return same[0]
    is_number = word.isascii() and word.isdigit() and 1 <= int(word) <= len(labels)
    return labels[int(word) - 1] if is_number else None


def _own(question: Question, said: str) -> list[str]:
    """Words of the person's own. Raises `UsageError` where only an option will do."""
    if question.custom and said.strip():
        return [said.strip()]
    options = "\n".join(f"{at}  {one.label}" for at, one in enumerate(question.options, 1))
    what = f"{said!r} is no answer to: {question.question}"
    raise UsageError(what, hint=f"Choose one, by its words or its number:\n{options}")

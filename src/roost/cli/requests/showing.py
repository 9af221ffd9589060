"""`roost requests show`: all of one request."""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.requests.pending import Pending, named, pending_of
from roost.cli.requests.words import about, answer_of, patterns_of, questions_of
from roost.cli.run.diff_lines import diff_lines
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json
from roost.cli.terminal import Look, look_of
from roost.core.clock import now_ms
from roost.core.text import terminal_safe
from roost.db.transaction import Reader
from roost.permissions.asks import Ask
from roost.tools.contract import Question


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost requests show`."""

    id: str
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Show one request, answered or not. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, ShowOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: ShowOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        found, heard = await database.read(lambda db: _find(db, options, watch))
    if options.format == "json":
        print(as_json(found.details()))
    else:
        print("\n".join(_lines(found, look_of(sys.stdout, os.environ), heard=heard)))
    return 0


def _find(db: Reader, options: ShowOptions, watch: Watch) -> tuple[Pending, bool]:
    """The request, and whether somebody waits for the answer."""
    found = pending_of(db, named(db, options.id))
    return found, found.actor is not None and watch.waits_for(found.actor, found.ask)


def _lines(found: Pending, look: Look, *, heard: bool) -> Iterator[str]:
    ask = found.ask
    yield look.paint(ask.id, "bold")
    for name, value in _facts(found, heard=heard):
        yield f"{name:<9} {terminal_safe(value)}"
    if ask.kind == "question":
        for number, question in enumerate(questions_of(ask), 1):
            yield from _question(question, number, look)
    elif isinstance(diff := ask.request.get("metadata", {}).get("diff"), str):
        yield from ("", *diff_lines(terminal_safe(diff), look))
    if ask.state == "open" and heard:
        yield from ("", *(look.paint(line, "dim") for line in _ways(ask)))


def _facts(found: Pending, *, heard: bool) -> Iterator[tuple[str, str]]:
    ask, session, actor = found.ask, found.session, found.actor
    yield "session", f"{session.id}  {session.title}"
    yield "folder", session.directory
    yield "actor", f"{ask.actor_id} ({actor.agent})" if actor else ask.actor_id
    yield "asked", age(ask.created, now_ms())
    if ask.state != "open":
        yield "state", answer_of(ask)
    elif not heard:
        yield "state", "nobody waits for the answer any more: the process that asked is gone"
    elif ask.deadline is not None:
        clock = time.strftime("%H:%M:%S", time.localtime(ask.deadline / 1000))
        yield "until", f"{clock}; then it is refused"
    if ask.kind == "permission":
        yield from _permission(ask)


def _permission(ask: Ask) -> Iterator[tuple[str, str]]:
    metadata: dict[str, Any] = ask.request.get("metadata", {})
    yield "wants", about(ask)
    yield "rule", f"{ask.request.get('permission')}: {', '.join(patterns_of(ask))}"
    title, reason = str(metadata.get("title", "")), str(metadata.get("reason", ""))
    if title and not any(title.endswith(pattern) for pattern in patterns_of(ask)):
        yield "title", title
    if reason and not reason.startswith(about(ask)):
        yield "because", reason
    always = ", ".join(patterns_of(ask, "always"))
    yield "--always", f"allows {always}" if always else "does not count: it is asked each time"


def _question(question: Question, number: int, look: Look) -> Iterator[str]:
    yield ""
    yield look.paint(terminal_safe(f"{number}. {question.question}"), "bold")
    for at, option in enumerate(question.options, 1):
        described = look.paint(terminal_safe(option.description), "dim")
        yield f"   {at}  {terminal_safe(option.label)}  {described}".rstrip()
    notes = ["several may be chosen"] if question.multiple else []
    notes += ["words of your own are welcome"] if question.custom and question.options else []
    if notes:
        yield look.paint(f"   ({'; '.join(notes)})", "dim")


def _ways(ask: Ask) -> list[str]:
    if ask.kind == "permission":
        return [
            f"roost requests allow {ask.id}",
            f'roost requests deny {ask.id} --because "..."',
        ]
    answers = " ".join("ANSWER" for _ in questions_of(ask))
    return [f"roost requests answer {ask.id} {answers}", f"roost requests deny {ask.id}"]

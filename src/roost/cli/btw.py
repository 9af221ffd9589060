"""`roost btw`: asks something about a session, which goes on as if nobody had."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import describe, tell
from roost.cli.run.stopping import EXIT_CODES, Stop, stopping
from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, run_at_home, tell_notes
from roost.cli.table import as_json
from roost.cli.waiting import unless_stopped
from roost.core.amounts import counted, dollars
from roost.core.errors import RoostError
from roost.core.text import terminal_safe
from roost.inbox.models import Address
from roost.runtime.models import Settings
from roost.runtime.readers import SECONDS
from roost.runtime.runtime import Runtime
from roost.runtime.side_answer import SideAnswer, ask_aside
from roost.sessions.models import Session

_LOG: Final = ("print_logs", "log_level", "log_format")


class AsideOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost btw`."""

    question: list[str]
    session: str | None = None
    dir: str | None = None
    time_limit: float | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Ask, and show the answer; gives the exit code. Raises `RoostError`."""
    options = msgspec.convert(given, AsideOptions)
    return run_at_home(given, lambda home: _ask(home, options))


def in_a_run(given: dict[str, Any], question: str) -> int:
    """The same for `/btw` as the prompt of `roost run`, whose command line is `given`."""
    shared = {name: given.get(name) for name in ("session", "dir", "time_limit", *_LOG)}
    form = "json" if given.get("format") == "json" else "text"
    return execute({"question": [question], "format": form, **shared})


async def _ask(home: Home, options: AsideOptions) -> int:
    settings = Settings(environment=home.environ, interactive=False, make_titles=False)
    async with Runtime.open(settings) as runtime:
        tell_notes(runtime.database)
        session = await runtime.database.read(lambda db: chosen(db, options.session, options.dir))
        with stopping(None, lambda _: None) as stop:
            told = await _answered(runtime, session, options, stop)
    if told is None:
        assert stop.cause is not None
        return EXIT_CODES[stop.cause]
    return _show(session, told, options)


async def _answered(
    runtime: Runtime, session: Session, options: AsideOptions, stop: Stop
) -> SideAnswer | None:
    """The answer; None if the person wanted it no more."""
    asked: Address = (await runtime.named(session.id)).address
    question = " ".join(options.question)
    seconds = options.time_limit or SECONDS
    return await unless_stopped(ask_aside(runtime, asked, question, seconds), stop)


def _show(session: Session, told: SideAnswer, options: AsideOptions) -> int:
    if options.format == "json":
        print(as_json({"sessionID": session.id, **msgspec.to_builtins(told)}))
    elif told.fault:
        tell(describe(RoostError(told.answer)))
    else:
        print(terminal_safe(told.answer))
        sys.stdout.flush()
        tell(f"{_footer(session, told)}\n")
    if told.late:
        return EXIT_CODES["time limit"]
    return 1 if told.fault else 0


def _footer(session: Session, told: SideAnswer) -> str:
    cached = told.tokens.cache.read
    tokens = counted(told.tokens.total, "token") + (f" ({cached:,} from the cache)" * bool(cached))
    cost = [f"${dollars(told.cost)}"] if told.cost else []
    return " · ".join((f"aside of {session.id}", f"{told.seconds:.1f} s", tokens, *cost))

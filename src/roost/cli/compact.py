"""`roost compact`: shortens a long session for the model."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.run.stopping import EXIT_CODES, stopping
from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, run_at_home, tell_notes
from roost.cli.table import as_json
from roost.cli.waiting import unless_stopped
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime
from roost.runtime.shortening import in_words, shorten

_LOG: Final = ("print_logs", "log_level", "log_format")


class CompactOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost compact`."""

    session: str | None = None
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Shorten, and say what it came to; gives the exit code. Raises `RoostError`."""
    options = msgspec.convert(given, CompactOptions)
    return run_at_home(given, lambda home: _shorten(home, options))


def in_a_run(given: dict[str, Any]) -> int:
    """The same for `/compact` as the prompt of `roost run`, whose command line is `given`."""
    shared = {name: given.get(name) for name in ("session", "dir", *_LOG)}
    form = "json" if given.get("format") == "json" else "text"
    return execute({"format": form, **shared})


async def _shorten(home: Home, options: CompactOptions) -> int:
    settings = Settings(environment=home.environ, interactive=False, make_titles=False)
    async with Runtime.open(settings) as runtime:
        tell_notes(runtime.database)
        session = await runtime.database.read(lambda db: chosen(db, options.session, options.dir))
        with stopping(None, lambda _: None) as stop:
            done = await unless_stopped(shorten(runtime, session.id), stop)
    if done is None:
        assert stop.cause is not None
        return EXIT_CODES[stop.cause]
    if options.format == "json":
        print(as_json(msgspec.to_builtins(done)))
    else:
        print(f"{session.id}: {in_words(done)}")
    return 0

"""`roost history`: finds what was said and done in sessions."""

import os
import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.memory.place import config_of, painted, whose
from roost.cli.since import moment
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json, cut_to, one_line
from roost.cli.terminal import Look, look_of
from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.core.errors import UsageError
from roost.core.text import cut
from roost.db.database import Database
from roost.memory.rank import Hit
from roost.runtime.history import History
from roost.runtime.remembering import index_of
from roost.sessions import store as sessions
from roost.sessions.said import SaidKind
from roost.tools.history_port import Found, HistoryFound, HistoryQuery

PATIENCE: Final = 120.0
"""Seconds for which what was never searched is taken up first."""
_TITLE: Final = 20
"""Cells of a title: a passage is found by its id, and the line fits a narrow screen."""
_WHO: Final[dict[SaidKind, str]] = {
    "user_text": "you",
    "assistant_text": "answer",
    "tool_input": "call of",
    "tool_error": "error of",
    "reasoning": "reasoning",
    "tool_output": "output of",
    "tool_value": "output of",
}


class HistoryOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost history`."""

    action: Literal["search"] | None = None
    words: list[str] = []
    all: bool = False
    session: str | None = None
    dir: str | None = None
    kinds: tuple[SaidKind, ...] = ()
    tool: str = ""
    since: str | None = None
    until: str | None = None
    max_count: int = 10
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Search. Raises `RoostError`."""
    options = msgspec.convert(given, HistoryOptions)
    if options.action is None:
        raise UsageError("history needs an action", hint='Say `roost history search "WORDS"`.')
    return run_at_home(given, lambda home: _search(home, options))


async def _search(home: Home, options: HistoryOptions) -> int:
    config = config_of(options.dir, home.paths, dict(home.environ))
    index = index_of(home.paths)
    with database_of(home) as database:
        try:
            query = await _query(database, options)
            kinds = tuple(dict.fromkeys((*config.history.kinds, *options.kinds)))
            history = History(database, index, kinds)
            found = await history.search(query, patience=PATIENCE)
            titles = await _titles(database, found)
        finally:
            index.close()
    _print(found, titles, options)
    return 0 if found.hits else 1


async def _query(database: Database, options: HistoryOptions) -> HistoryQuery:
    now = now_ms()
    mine = await whose(database, options.session, options.dir)
    within_session = options.session is not None
    return HistoryQuery(
        words=" ".join(options.words),
        session_id=mine.session_id if within_session else "",
        project_id="" if within_session or options.all else mine.project_id,
        kinds=options.kinds,
        tool=options.tool,
        since=moment(options.since, now) if options.since else None,
        until=moment(options.until, now) if options.until else None,
        limit=options.max_count,
    )


async def _titles(database: Database, found: HistoryFound) -> dict[str, str]:
    ids = {hit.of.spoken.message.info.session_id for hit in found.hits}
    known = await database.read(lambda db: [sessions.find(db, one) for one in ids])
    return {one.id: one.title for one in known if one is not None}


def _print(found: HistoryFound, titles: dict[str, str], options: HistoryOptions) -> None:
    if options.format == "json":
        print(as_json([_fields(hit) for hit in found.hits]))
    elif found.hits:
        look = look_of(sys.stdout, os.environ)
        print("\n\n".join(_hit(hit, titles, look) for hit in found.hits))
    else:
        wider = "" if options.all else " --all looks at every project."
        tell(f"Nothing that was said fits {cut(' '.join(options.words), 80)!r}.{wider}\n")
    if found.behind:
        tell(f"{counted(found.behind, 'older message')} not searched yet; search again.\n")


def _hit(hit: Hit[Found], titles: dict[str, str], look: Look) -> str:
    said, info = hit.of.said, hit.of.spoken.message.info
    who = look.paint(f"{_WHO[said.kind]} {said.tool}".strip(), "cyan")
    named = one_line(titles.get(info.session_id, ""))
    title = look.paint(cut_to(named, _TITLE), "bold")
    when = look.paint(age(info.time.created, now_ms()), "dim")
    head = "  ".join(filter(None, (title, who, when, look.paint(info.session_id, "dim"))))
    return f"{head}\n  {painted(hit.snippet, look)}"


def _fields(hit: Hit[Found]) -> dict[str, Any]:
    said, info = hit.of.said, hit.of.spoken.message.info
    return {
        "sessionID": info.session_id,
        "messageID": info.id,
        "partID": said.part.id,
        "kind": said.kind,
        "tool": said.tool,
        "created": info.time.created,
        "score": round(hit.score, 3),
        "text": hit.snippet.marked("", ""),
    }

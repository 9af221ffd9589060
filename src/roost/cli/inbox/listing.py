"""`roost inbox list`: what was said to the actors of a session, and what became of it."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.actors.naming import in_session
from roost.cli.failures import tell
from roost.cli.plain import plain
from roost.cli.sessions.naming import chosen
from roost.cli.short_ids import shown_ids
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json, cut_words, table
from roost.cli.terminal import columns_of
from roost.core.clock import now_ms
from roost.db.transaction import Reader
from roost.inbox.listing import count, listed
from roost.inbox.models import Body, InboxRow, PromptBody, State
from roost.inbox.notices import NoticeBody, subject
from roost.sessions.parts import TextPart

HEAD: Final = ["ID", "SAID", "FROM", "TO", "KIND", "STATE", "WORDS"]


class ListOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost inbox list`."""

    session: str | None = None
    """Its id or the beginning of it; None: the last one of the folder."""
    dir: str | None = None
    actor: str | None = None
    state: State | None = None
    max_count: int = 50
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """List mail, the newest last. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, ListOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ListOptions) -> int:
    with database_of(home) as database:
        shown, there_are = await database.read(lambda db: _rows(db, options))
    if options.format == "json":
        print(as_json(shown))
    elif shown:
        print("\n".join(_table(shown, columns_of(sys.stdout))))
    else:
        narrowed = options.actor is not None or options.state is not None
        tell("There is no such mail.\n" if narrowed else "Nothing was said.\n")
    if there_are > len(shown):
        tell(cut_words(len(shown), there_are, "message"))
    return 0


def _rows(db: Reader, options: ListOptions) -> tuple[list[InboxRow], int]:
    """The newest mail that is meant, and how much there is."""
    session = chosen(db, options.session, options.dir)
    if options.actor is not None:
        in_session(db, session.id, options.actor)
    meant: dict[str, Any] = {"actor_id": options.actor, "state": options.state}
    rows = listed(db, session.id, options.max_count, **meant)
    return rows, count(db, session.id, **meant)


def _table(rows: list[InboxRow], width: int | None) -> list[str]:
    ids = shown_ids((row.id for row in rows), width)
    lines = [_line(row, ids[row.id]) for row in rows]
    return table([HEAD, *lines], width, spare=("SAID", "KIND"))


def _line(row: InboxRow, shown: str) -> list[str]:
    return [
        shown,
        age(row.created, now_ms()),
        sender_of(row),
        row.receiver.actor_id,
        row.kind,
        row.state,
        words_of(row.body),
    ]


def sender_of(row: InboxRow) -> str:
    """Who said it: `you` is a person, `roost` whatever its runtime says of itself."""
    if row.kind == "system" or row.sender is None:
        return "you" if row.kind == "prompt" else "roost"
    here = row.sender.session_id == row.receiver.session_id
    return row.sender.actor_id if here else f"{row.sender.session_id}/{row.sender.actor_id}"


def words_of(body: Body) -> str:
    """What a message says, in one line."""
    match body:
        case PromptBody():
            said = [plain(part) for part in body.parts if isinstance(part, TextPart)]
            rest = len(body.parts) - len(said)
            return " ".join([*said, *([f"(+{rest} attached)"] if rest else [])])
        case NoticeBody():
            return subject(body)
        case _:
            return body.text

"""`roost sessions import`: checks a document and stores the session that it holds."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors import store as actors
from roost.actors.models import Actor
from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.storage import Home, database_of, run_at_home
from roost.context.agents import DEFAULT_AGENT
from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, UsageError
from roost.core.ids import Kind, new_id
from roost.core.text import terminal_safe
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.sessions import repair, transcript
from roost.sessions import store as sessions
from roost.sessions.export import Exported, decode, with_new_ids
from roost.sessions.models import MAIN, Message, Session
from roost.workspace.project import project_of

LARGEST: Final = 1_000_000_000
"""Bytes of a document."""


class ImportOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions import`."""

    file: str
    new_id: bool = False
    dir: str | None = None


def execute(given: dict[str, Any]) -> int:
    """Import one session and print its id.

    Raises `UsageError` for a faulty document, `ConflictError` for ids that are taken.
    """
    options = msgspec.convert(given, ImportOptions)
    exported = decode(_read(options.file), _shown_name(options.file))
    if options.new_id:
        exported = with_new_ids(exported, _new_id)
    return run_at_home(given, lambda home: _import(home, options, exported))


def _new_id(kind: Kind) -> str:
    return new_id(kind)


def _shown_name(file: str) -> str:
    return "stdin" if file == "-" else file


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(file).open("rb") as source:
                data = source.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}",
            hint="Give a file that `roost sessions export` wrote, or - for stdin.",
        ) from error
    if len(data) > LARGEST:
        raise UsageError(f"{_shown_name(file)} is larger than {LARGEST // 1_000_000} MB")
    return data


async def _import(home: Home, options: ImportOptions, exported: Exported) -> int:
    folder = _folder(options, exported.info)
    project = (await project_of(folder)).id
    info = msgspec.structs.replace(
        exported.info,
        directory=str(folder),
        project_id=project,
        permission=_stricter(exported.info.permission),
    )
    with database_of(home) as database:
        try:
            await database.write(lambda tx: _store(tx, Exported(info, exported.messages)))
        except ConflictError as error:
            raise ConflictError(
                error.message, hint="With --new-id it is imported as a new session."
            ) from error
    messages = counted(len(exported.messages), "message")
    tell(f"imported “{terminal_safe(info.title)}”, {messages}; it belongs to {folder}\n")
    tell(f'go on with: roost run -s {info.id} "..."\n')
    print(info.id)
    return 0


def _stricter(rules: list[dict[str, str]] | None) -> list[dict[str, str]] | None:
    """The rules that make the session more careful; others are the user's to give, not a file's."""
    kept = [rule for rule in rules or () if rule.get("action") in {"ask", "deny"}]
    if rules and len(kept) < len(rules):
        tell("note: what the document allows without asking is left out\n")
    return kept or None


def _folder(options: ImportOptions, info: Session) -> Path:
    """As asked for, else as exported if that folder is here, else the current one."""
    if options.dir is None and Path(info.directory).is_dir():
        return Path(info.directory).resolve()
    folder = working_folder(options.dir).resolve()
    if options.dir is None:
        tell(
            f"note: there is no folder {info.directory} here; the session now belongs to {folder}\n"
        )
    return folder


def _store(tx: Transaction, exported: Exported) -> None:
    info = exported.info
    # A folder's project keeps the id it has always had here.
    if beside := sessions.listed(tx, directory=info.directory, limit=1):
        info = msgspec.structs.replace(info, project_id=beside[0].project_id)
    if info.parent_id is not None and sessions.find(tx, info.parent_id) is None:
        info = msgspec.structs.replace(info, parent_id=None)
    sessions.insert(tx, info)
    known = _actors(info, exported.messages)
    for actor in known:
        actors.register(tx, actor)
    for message in exported.messages:
        owner = message.info.agent_id or MAIN
        transcript.append_message(tx, message, actor_id=owner, turn_id=None)
    for actor in known:
        # Whoever exported a running session left messages without an end.
        repair.repair(tx, info.id, actor.actor_id)


def _actors(info: Session, messages: Iterable[Message]) -> list[Actor]:
    """The main actor, and every other one that a message names."""
    agents = {MAIN: DEFAULT_AGENT}
    for message in messages:
        agents[message.info.agent_id or MAIN] = message.info.agent
    main = actors.new_main(info.id, agents.pop(MAIN))
    others = [
        Actor(
            session_id=info.id,
            actor_id=name,
            mode="subagent",
            fronts=False,
            agent=agent,
            lifecycle="ephemeral",
            status="idle",
            created=now_ms(),
            last_activity=now_ms(),
            parent=Address(info.id, MAIN),
            depth=1,
        )
        for name, agent in agents.items()
    ]
    return [main, *others]

"""`roost sessions show`: what was said and done, for reading."""

import os
import shutil
import sys
import time
from typing import Any, Final, Literal, assert_never

import msgspec
from msgspec import Struct

from roost.actors import store as actors
from roost.cli.plain import plain, said_by
from roost.cli.run.diff_lines import diff_lines
from roost.cli.run.essence import Place
from roost.cli.run.tool_lines import exit_line, tool_line
from roost.cli.sessions.naming import chosen
from roost.cli.states import State, Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import as_json
from roost.cli.terminal import Look, look_of
from roost.core.amounts import counted
from roost.core.errors import NotFoundError
from roost.core.text import terminal_safe
from roost.db.transaction import Reader
from roost.inbox.conversation import read_page
from roost.sessions import undo_store
from roost.sessions.export import Exported, encode
from roost.sessions.models import AssistantInfo, Message, Session, UserInfo
from roost.sessions.parts import (
    AgentPart,
    CompactionPart,
    FilePart,
    Part,
    PatchPart,
    ReasoningPart,
    RetryPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolPart,
    UnknownPart,
)

LONGEST: Final = 40
"""Lines of one text that are shown without `--full`."""


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions show`."""

    session: str | None = None
    """Its id or the beginning of it; None: the last one of the folder."""
    dir: str | None = None
    actor: str | None = None
    """None: the one that fronts the session."""
    max_count: int = 100
    full: bool = False
    thinking: bool = False
    format: Literal["text", "json"] = "text"


class _Found(Struct, frozen=True):
    session: Session
    messages: list[Message]
    queued: frozenset[str]
    """Ids of those that nobody has heard yet."""
    more: bool
    """There are older messages."""
    state: State
    taken_back: frozenset[str] = frozenset()
    """Ids of those that `roost undo` has taken back."""

    def state_of(self, message: Message) -> str:
        """What a message is, if not simply said."""
        if message.info.id in self.queued:
            return "queued"
        return "taken back" if message.info.id in self.taken_back else ""


def execute(given: dict[str, Any]) -> int:
    """Print a transcript. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, ShowOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: ShowOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        found = await database.read(lambda db: _find(db, options, watch))
    if options.format == "json":
        print(_as_json(found))
        return 0
    look = look_of(sys.stdout, os.environ)
    writer = _Writer(options, Place(found.session.directory), look)
    print("\n".join(writer.lines(found)))
    return 0


def _as_json(found: _Found) -> str:
    """The messages in the shape of an export, with what the list above them says."""
    document = Exported(found.session, tuple(found.messages))
    shown = {**msgspec.json.decode(encode(document)), "state": found.state, "older": found.more}
    ids = {"queued": sorted(found.queued), "takenBack": sorted(found.taken_back)}
    return as_json({**shown, **ids})


def _find(db: Reader, options: ShowOptions, watch: Watch) -> _Found:
    session = chosen(db, options.session, options.dir)
    try:
        actor = actors.named(db, session.id, options.actor)
    except NotFoundError as error:
        names = [actor.actor_id for actor in actors.of_session(db, session.id)]
        raise NotFoundError(
            error.message,
            hint=f"There are: {', '.join(names)}." if names else "It has no actors at all.",
        ) from error
    page = read_page(db, session.id, actor.actor_id, limit=options.max_count)
    state = watch.state_of(db, actor)
    undone = undo_store.find(db, session.id)
    gone = undo_store.ids_from(db, session.id, undone.cut) if undone else frozenset[str]()
    return _Found(session, page.messages, page.queued, page.before is not None, state, gone)


def _place_line(found: _Found) -> str:
    state = f" · {found.state}" if found.state else ""
    return f"{found.session.id} in {found.session.directory}{state}"


class _Writer:
    """Makes lines of messages."""

    def __init__(self, options: ShowOptions, place: Place, look: Look) -> None:
        self._options = options
        self._place = place
        self._look = look

    def lines(self, found: _Found) -> list[str]:
        look = self._look
        session = found.session
        lines = [
            look.paint(terminal_safe(session.title), "bold"),
            look.paint(terminal_safe(_place_line(found)), "dim"),
        ]
        if found.more:
            lines.append(look.paint("… older messages; -n shows more of them", "dim"))
        for message in found.messages:
            lines += self._message(message, found.state_of(message))
        return lines

    def _message(self, message: Message, state: str = "") -> list[str]:
        body = [line for part in message.parts for line in self._part(part)]
        info = message.info
        if isinstance(info, AssistantInfo) and info.error is not None:
            body.append(self._look.paint(f"error: {terminal_safe(info.error.message)}", "red"))
        if isinstance(info, AssistantInfo) and info.degraded:
            body.append(self._look.paint(f"note: {terminal_safe(info.degraded)}", "yellow"))
        return ["", self._head(message, state), *body] if body else []

    def _head(self, message: Message, state: str) -> str:
        info = message.info
        clock = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.time.created / 1000))
        match info:
            case UserInfo():
                who = said_by(message)
            case AssistantInfo():
                who = f"{info.agent} · {info.provider_id}/{info.model_id}"
                state = "hidden from the model" if info.hidden else state
            case _:
                assert_never(info)
        said = " · ".join(filter(None, [who, clock, state]))
        width = min(80, shutil.get_terminal_size().columns)
        rule = self._look.icon("─", "-")
        line = terminal_safe(f"{rule}{rule} {said} ")
        return self._look.paint(line + rule * max(0, width - len(line)), "cyan")

    def _part(self, part: Part) -> list[str]:
        match part:
            case TextPart():
                return self._text(words) if (words := plain(part)).strip() else []
            case ReasoningPart():
                shown = self._options.thinking and part.text.strip()
                return (
                    [self._look.paint(one, "dim") for one in self._text(part.text)] if shown else []
                )
            case FilePart():
                return [terminal_safe(f"[file: {part.filename or part.mime}]")]
            case AgentPart():
                return [terminal_safe(f"[agent: {part.name}]")]
            case SubtaskPart():
                return [terminal_safe(f"[task for {part.agent}: {part.description}]")]
            case ToolPart():
                return self._tool(part)
            case CompactionPart():
                return [f"[the conversation before this was shortened for the model{_sizes(part)}]"]
            case UnknownPart():
                return [terminal_safe(f"[{part.type}]")]
            case StepStartPart() | StepFinishPart() | PatchPart() | RetryPart():
                return []
            case _:
                assert_never(part)

    def _text(self, text: str) -> list[str]:
        lines = terminal_safe(text.strip("\n")).split("\n")
        return self._bounded(lines)

    def _bounded(self, lines: list[str]) -> list[str]:
        if self._options.full or len(lines) <= LONGEST:
            return lines
        rest = counted(len(lines) - LONGEST, "more line")
        return [*lines[:LONGEST], self._look.paint(f"… {rest} (--full)", "dim")]

    def _tool(self, part: ToolPart) -> list[str]:
        lines = [tool_line(part, self._place, self._look)]
        if ended := exit_line(part, self._look):
            lines.append(ended)
        if not isinstance(part.state, ToolCompleted):
            return lines
        if isinstance(diff := part.state.metadata.get("diff"), str):
            lines += diff_lines(terminal_safe(diff), self._look)
        elif self._options.full and part.state.output:
            lines += [f"    {line}" for line in self._text(part.state.output)]
        return lines


def _sizes(part: CompactionPart) -> str:
    if not part.before:
        return ""
    return f": from about {part.before:,} tokens to {part.after:,}"

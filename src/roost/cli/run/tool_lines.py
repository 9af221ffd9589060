"""A tool call as one line: an icon, and what one needs to know of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from roost.cli.run.sightings import SentOn
from roost.cli.terminal import Look
from roost.core.text import cut, terminal_safe
from roost.inbox.notices import NoticeBody, ending_of
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart, ToolRunning

LONGEST: Final = 160
"""Characters of what is shown of one argument."""
ANNOUNCED: Final = frozenset({"bash", "task", "actor", "webfetch", "websearch"})
"""Tools that may take long: shown when they start, not when they are done."""

_ICONS: Final[dict[str, tuple[str, str]]] = {
    "bash": ("$", "$"),
    "read": ("→", "<"),
    "list": ("→", "<"),
    "skill": ("→", "<"),
    "write": ("←", ">"),
    "edit": ("←", ">"),
    "patch": ("←", ">"),
    "apply_patch": ("←", ">"),
    "glob": ("✱", "*"),
    "grep": ("✱", "*"),
    "webfetch": ("%", "%"),
    "websearch": ("◈", "%"),
    "task": ("•", "+"),
    "actor": ("•", "+"),
}
_OTHER: Final = ("⚙", "~")
_FAILED: Final = ("✗", "x")
_NOTICE: Final = ("✉", "=")
_AGAIN: Final = ("↻", "@")


class Place(Struct, frozen=True):
    """What paths are shown relative to."""

    directory: str

    def short(self, path: object) -> str:
        """`path` as one would type it in the folder."""
        text = str(path or "")
        if Path(text).is_absolute() and Path(text).is_relative_to(self.directory):
            return str(Path(text).relative_to(self.directory))
        return text


def tool_line(part: ToolPart, place: Place, look: Look) -> str:
    """The line for a call that is running or done, without a line end."""
    icon = look.icon(*_ICONS.get(part.tool, _OTHER))
    state = part.state
    if isinstance(state, ToolFailed):
        return _failed_line(part, state, place, look)
    said = terminal_safe(essence(part.tool, state.input, place))
    count = _count(state) if isinstance(state, ToolCompleted) else ""
    tail = look.paint(f"  {count}", "dim") if count else ""
    return f"{look.paint(icon, 'cyan')} {said}{tail}"


def _failed_line(part: ToolPart, state: ToolFailed, place: Place, look: Look) -> str:
    icon = look.icon(*_FAILED)
    said = terminal_safe(essence(part.tool, state.input, place))
    reason = terminal_safe(cut(state.error.strip().partition("\n")[0], LONGEST))
    return f"{look.paint(icon, 'red')} {said}{look.paint(f': {reason}', 'red')}"


def notice_line(notice: NoticeBody, look: Look) -> str:
    """What an actor has to tell, as one line: `✉ explore-1 completed.  It is in load.py`."""
    icon = look.icon(*_NOTICE)
    ended = terminal_safe(f"{notice.actor_id} {ending_of(notice)}")
    said = notice.summary or notice.error or notice.result.strip().partition("\n")[0]
    tail = look.paint(f"  {terminal_safe(cut(said, LONGEST))}", "dim") if said else ""
    return f"{look.paint(icon, 'cyan')} {ended}{tail}"


def sent_on_line(sent: SentOn, look: Look) -> str:
    """Why a hook has the actor go on: `↻ a hook sends it on: the tests fail`."""
    icon = look.icon(*_AGAIN)
    reason = terminal_safe(_one_line(sent.reason))
    return f"{look.paint(icon, 'cyan')} a hook sends it on ({sent.point}): {reason}"


def is_denied(part: ToolPart) -> bool:
    """Whether the call was refused by a permission rule or for want of a person to ask."""
    state = part.state
    return isinstance(state, ToolFailed) and bool((state.metadata or {}).get("denied"))


def exit_line(part: ToolPart, look: Look) -> str:
    """What is added when a command that was announced did not end with 0."""
    state = part.state
    if not isinstance(state, ToolCompleted):
        return ""
    code = state.metadata.get("exit")
    if not isinstance(code, int) or code == 0:
        return ""
    return "  " + look.paint(f"exit {code}", "red")


def essence(tool: str, arguments: dict[str, Any], place: Place) -> str:
    """What a call does, in a few words."""
    tell = _TELLERS.get(tool, _anything)
    words = tell(arguments, place)
    if tool == "bash":
        return words
    return f"{tool} {words}".rstrip()


def _one_line(text: object, limit: int = LONGEST) -> str:
    return cut(" ".join(str(text or "").split()), limit)


def _command(arguments: dict[str, Any], _: Place) -> str:
    return _one_line(arguments.get("command"))


def _path(arguments: dict[str, Any], place: Place) -> str:
    return place.short(arguments.get("filePath") or arguments.get("path"))


def _read(arguments: dict[str, Any], place: Place) -> str:
    path = _path(arguments, place)
    offset, limit = arguments.get("offset"), arguments.get("limit")
    if isinstance(offset, int) and isinstance(limit, int):
        return f"{path}:{max(offset, 1)}-{max(offset, 1) + limit - 1}"
    if isinstance(offset, int):
        return f"{path}:{max(offset, 1)}-"
    return f"{path}:1-{limit}" if isinstance(limit, int) else path


def _pattern(arguments: dict[str, Any], place: Place) -> str:
    where = place.short(arguments.get("path"))
    include = arguments.get("include")
    words = f'"{_one_line(arguments.get("pattern"))}"'
    if where and where != ".":
        words += f" in {where}"
    return f"{words} ({include})" if include else words


def _first_of(*names: str) -> Callable[[dict[str, Any], Place], str]:
    def tell(arguments: dict[str, Any], _: Place) -> str:
        return _one_line(next((arguments[n] for n in names if arguments.get(n)), ""))

    return tell


def _actor(arguments: dict[str, Any], _: Place) -> str:
    """What is asked of which actor: `spawn explore: Find the tests`."""
    given = arguments.get("operation", arguments)
    if not isinstance(given, dict):
        return _one_line(arguments.get("command") or given)
    asked = cast("dict[str, Any]", given)
    if "action" not in asked:
        return _one_line(asked.get("command")).removeprefix("actor ")
    who = asked.get("subagent_type") or asked.get("actor_id") or asked.get("to_actor_id")
    if asked["action"] == "wait" and not who:
        who = "for mail"
    about = asked.get("description") or asked.get("content")
    words = " ".join(str(one) for one in (asked["action"], who) if one)
    return _one_line(f"{words}: {about}" if about else words)


def _todos(arguments: dict[str, Any], _: Place) -> str:
    todos = arguments.get("todos")
    return f"{len(cast('list[Any]', todos))} items" if isinstance(todos, list) else ""


def _anything(arguments: dict[str, Any], place: Place) -> str:
    """`name=value` of the short arguments."""
    shown = [
        f"{name}={_one_line(place.short(value), 60)}"
        for name, value in arguments.items()
        if isinstance(value, str | int | float | bool)
    ]
    return _one_line(" ".join(shown))


_TELLERS: Final[dict[str, Callable[[dict[str, Any], Place], str]]] = {
    "bash": _command,
    "read": _read,
    "write": _path,
    "edit": _path,
    "list": _path,
    "glob": _pattern,
    "grep": _pattern,
    "webfetch": _first_of("url"),
    "websearch": _first_of("query"),
    "skill": _first_of("name"),
    "task": _first_of("description", "prompt"),
    "actor": _actor,
    "todowrite": _todos,
    "patch": lambda _, __: "",
    "apply_patch": lambda _, __: "",
}


def _count(state: ToolCompleted) -> str:
    """How much was found or changed, if the tool says so."""
    metadata = state.metadata
    for name, words in (("matches", "matches"), ("count", "found")):
        if isinstance(number := metadata.get(name), int):
            return f"{number} {words}"
    changed = metadata.get("filediff")
    files: list[Any] = [changed] if changed else cast("list[Any]", metadata.get("files") or [])
    counted = [cast("dict[str, Any]", one) for one in files if isinstance(one, dict)]
    if not counted:
        return ""
    added = sum(int(one.get("additions", 0)) for one in counted)
    removed = sum(int(one.get("deletions", 0)) for one in counted)
    shown = f"+{added} -{removed}"
    return shown if len(counted) == 1 else f"{len(counted)} files, {shown}"


def is_running(part: ToolPart) -> bool:
    """Whether the call has started and not ended."""
    return isinstance(part.state, ToolRunning)

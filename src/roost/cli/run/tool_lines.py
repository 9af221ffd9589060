"""A tool call as one line: an icon, and what one needs to know of it."""

from typing import Any, Final, cast

from roost.cli.run.essence import LONGEST, OPERATIONS, Place, essence, one_line
from roost.cli.run.sightings import AskedAgain, SentOn
from roost.cli.terminal import Look
from roost.core.amounts import counted
from roost.core.text import cut, terminal_safe
from roost.inbox.notices import NoticeBody, ending_of
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart, ToolRunning
from roost.turn.loops import DUPLICATE

ANNOUNCED: Final = frozenset({"bash", "actor", "webfetch", "websearch"})
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


def tool_line(part: ToolPart, place: Place, look: Look) -> str:
    """The line for a call that is running or done, without a line end."""
    icon = look.icon(*_ICONS.get(part.tool, _OTHER))
    state = part.state
    if isinstance(state, ToolFailed):
        return _failed_line(part, state, place, look)
    said = terminal_safe(essence(part.tool, state.input, place))
    count = _count(part, state) if isinstance(state, ToolCompleted) else ""
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
    tail = look.paint(f"  {terminal_safe(one_line(said))}", "dim") if said else ""
    return f"{look.paint(icon, 'cyan')} {ended}{tail}"


def sent_on_line(sent: SentOn, look: Look) -> str:
    """Why a hook has the actor go on: `↻ a hook sends it on: the tests fail`."""
    icon = look.icon(*_AGAIN)
    reason = terminal_safe(one_line(sent.reason))
    return f"{look.paint(icon, 'cyan')} a hook sends it on ({sent.point}): {reason}"


def asked_again_line(again: AskedAgain, look: Look) -> str:
    """What the model is told of a step that was no good, as one line."""
    icon = look.icon(*_AGAIN)
    said = look.paint(terminal_safe(one_line(again.words)), "dim")
    return f"{look.paint(icon, 'cyan')} the model is told: {said}"


def exit_line(part: ToolPart, look: Look) -> str:
    """What is added when a command that was announced did not end with 0."""
    state = part.state
    if not isinstance(state, ToolCompleted):
        return ""
    code = state.metadata.get("exit")
    if not isinstance(code, int) or code == 0:
        return ""
    return "  " + look.paint(f"exit {code}", "red")


def _count(part: ToolPart, state: ToolCompleted) -> str:
    """How much was found or changed, if the tool says so, or why nothing was."""
    metadata = state.metadata
    if DUPLICATE in metadata:
        return "the same call again, not run"
    if isinstance(number := metadata.get("matches"), int):
        return counted(number, "match", "matches")
    if isinstance(number := metadata.get("count"), int):
        return _counted(part.tool, state, number)
    changed = metadata.get("filediff")
    files: list[Any] = [changed] if changed else cast("list[Any]", metadata.get("files") or [])
    sums = [cast("dict[str, Any]", one) for one in files if isinstance(one, dict)]
    if not sums:
        return ""
    added = sum(int(one.get("additions", 0)) for one in sums)
    removed = sum(int(one.get("deletions", 0)) for one in sums)
    shown = f"+{added} -{removed}"
    return shown if len(sums) == 1 else f"{len(sums)} files, {shown}"


def _counted(tool: str, state: ToolCompleted, number: int) -> str:
    """Such as `3 found`; of actors, sessions, tasks and teams their tool says what was counted."""
    if tool == "team" and state.input.get("action") == "send":
        return f"told {number}"
    return state.title if tool in OPERATIONS else f"{number:,} found"


def is_running(part: ToolPart) -> bool:
    """Whether the call has started and not ended."""
    return isinstance(part.state, ToolRunning)

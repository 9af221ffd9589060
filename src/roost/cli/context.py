"""`roost context`: what fills the window of a session's model, as a picture."""

import sys
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, run_at_home, tell_notes
from roost.cli.table import as_json
from roost.cli.terminal import Colour, Look, look_of
from roost.context.filling import Kind, Share
from roost.core.amounts import counted
from roost.core.text import terminal_safe
from roost.runtime.context_view import ContextView, context_of
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime

_BAR: Final = 50
"""Cells of the whole window."""
_NAMES: Final[dict[Kind, str]] = {
    "system": "system prompt",
    "tools": "tools and framing",
    "shortened": "words for what was before",
    "user": "what was said to it",
    "model": "what the model said",
    "results": "what tools answered",
}
_COLOURS: Final[dict[Kind, Colour]] = {
    "system": "blue",
    "tools": "cyan",
    "shortened": "magenta",
    "user": "green",
    "model": "yellow",
    "results": "red",
}


class ContextOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost context`."""

    session: str | None = None
    actor: str | None = None
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Show it; gives the exit code. Raises `RoostError`."""
    options = msgspec.convert(given, ContextOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: ContextOptions) -> int:
    settings = Settings(environment=home.environ, interactive=False, make_titles=False)
    async with Runtime.open(settings) as runtime:
        tell_notes(runtime.database)
        session = await runtime.database.read(lambda db: chosen(db, options.session, options.dir))
        view = await context_of(runtime, session.id, options.actor)
    if options.format == "json":
        print(as_json(msgspec.to_builtins(view)))
    else:
        print("\n".join(picture(view, look_of(sys.stdout, home.environ))))
    return 0


def picture(view: ContextView, look: Look) -> list[str]:
    """The window as lines of text."""
    window, filling = view.window, view.filling
    about = "" if filling.counted else "about "
    who = f"{view.session_id} · {view.actor_id}" if view.actor_id != "main" else view.session_id
    lines = [terminal_safe(f"{who} · {view.model}")]
    if window.size:
        part = f"{about}{filling.used:,} of {window.size:,} tokens"
        lines.append(f"{part}, {filling.used / window.size:.0%}")
        lines.append(_bar(view, look))
    else:
        lines.append(f"{about}{counted(filling.used, 'token')}; the window is not known")
    shares = [share for share in filling.shares if share.tokens]
    widest = max((len(f"{share.tokens:,}") for share in shares), default=0)
    lines += [_line(share, widest, look) for share in shares]
    lines += _notes(view)
    return lines


def _bar(view: ContextView, look: Look) -> str:
    size = view.window.size
    full, empty = look.icon("█", "#"), look.icon("░", ".")
    cells: list[str] = []
    total = 0
    for share in view.filling.shares:
        total += share.tokens
        upto = min(_BAR, round(_BAR * total / size))
        cells += [look.paint(full, _COLOURS[share.kind])] * (upto - len(cells))
    cells += [empty] * (_BAR - len(cells))
    at = min(_BAR - 1, _BAR * view.window.usable // size)
    if view.window.auto and view.window.usable:
        cells[at] = look.icon("│", "|")
    return "".join(cells)


def _line(share: Share, widest: int, look: Look) -> str:
    mark = look.paint(look.icon("■", "*"), _COLOURS[share.kind])
    messages = f" in {counted(share.messages, 'message')}" if share.messages else ""
    return f"{mark} {share.tokens:>{widest},}  {_NAMES[share.kind]}{messages}"


def _notes(view: ContextView) -> list[str]:
    window = view.window
    notes: list[str] = []
    if window.size and window.auto:
        notes.append(f"shortened at {window.usable:,}, to {window.target:,} at most")
    elif window.size:
        notes.append("never shortened by itself: `compaction.auto` is off")
    if window.source == "config":
        notes.append("the window is that of `compaction.max_context`")
    if view.shortened_from:
        notes.append(f"last shortened when it was about {view.shortened_from:,}")
    return notes

"""Files and folders as text for a model: numbered lines and names between tags."""

import os
from pathlib import Path
from typing import Any, Final

from roost.core.text import clean, cut, terminal_safe
from roost.tools import markup
from roost.tools.contract import ToolError, ToolOutput
from roost.workspace.files import Window

LINE_CHARS: Final = 2000
_PREVIEW_LINES: Final = 20
_PREVIEW_CHARS: Final = 200
_CUT_LISTED: Final = 10


def file_text(path: Path, window: Window) -> str:
    """The lines of `window` with their numbers, and how to go on.

    The file cannot imitate what stands around it: each of its lines begins with its number.
    """
    lines = [terminal_safe(line) for line in window.lines]
    numbered = [f"{number}: {line}" for number, line in enumerate(lines, window.first)]
    notes = [_position(window), _cut_lines(window), markup.warning(lines)]
    return _wrapped(path, "file", "content", numbered, notes)


def folder_output(real: Path, title: str, *, first: int, limit: int) -> ToolOutput:
    """The names in a folder, sorted, subfolders with a `/`, from number `first` on."""
    names = _names(real)
    if first > max(len(names), 1):
        raise ToolError(f"offset {first} is behind the end: {title} has {len(names)} entries.")
    shown = names[first - 1 : first - 1 + limit]
    last = first - 1 + len(shown)
    more = last < len(names)
    note = f"({len(names)} entries.)"
    if more or first > 1:
        note = f"(Entries {first} to {last} of {len(names)}."
        note += f" Go on with offset={last + 1}.)" if more else ")"
    text = _wrapped(real, "directory", "entries", shown, [note])
    return ToolOutput(text, title, preview(shown, truncated=more), capped=False)


def preview(lines: list[str] | tuple[str, ...], *, truncated: bool) -> dict[str, Any]:
    """The metadata that OpenCode's clients know of what was read."""
    first = [clean(cut(line, _PREVIEW_CHARS)) for line in lines[:_PREVIEW_LINES]]
    return {"preview": "\n".join(first), "truncated": truncated, "loaded": []}


def _names(real: Path) -> list[str]:
    try:
        with os.scandir(real) as entries:
            names = [entry.name + ("/" if entry.is_dir() else "") for entry in entries]
    except OSError as error:
        raise ToolError(f"{clean(str(real))} cannot be listed: {error.strerror}") from error
    return [markup.name(name) for name in sorted(names)]


def _wrapped(path: Path, kind: str, tag: str, lines: list[str], notes: list[str]) -> str:
    head = [f"<path>{markup.name(str(path))}</path>", f"<type>{kind}</type>", f"<{tag}>"]
    return "\n".join([*head, *lines, f"</{tag}>", *filter(None, notes)])


def _position(window: Window) -> str:
    last = window.first + len(window.lines) - 1
    if window.size == 0 or window.total == 0:
        return "(The file is empty.)"
    total = f" of {window.total}" if window.total is not None else ""
    if window.more:
        return f"(Lines {window.first} to {last}{total}. Go on with offset={last + 1}.)"
    return f"(End of the file: line {last}.)"


def _cut_lines(window: Window) -> str:
    numbers = [n for n, line in enumerate(window.lines, window.first) if _is_cut(line)]
    if not numbers:
        return ""
    listed = ", ".join(map(str, numbers[:_CUT_LISTED]))
    listed += ", …" if len(numbers) > _CUT_LISTED else ""
    return f"(Cut to {LINE_CHARS} characters: line {listed}.)"


def _is_cut(line: str) -> bool:
    return len(line) >= LINE_CHARS and line.endswith("…")

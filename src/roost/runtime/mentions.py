"""`@name` in what a person types: files, folders and agents that they mean."""

import mimetypes
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.runtime.actor_port import spawnable
from roost.runtime.models import AgentInput, FileInput, PromptInputPart, TextInput
from roost.runtime.project import Project

_NAME: Final = re.compile(r"(?<![\w`@])@(\.?[^\s`,.]*(?:\.[^\s`,.]+)*)")
_TRAILING: Final = "?!:;)]}>\"'*"
"""What stands behind a name and is not of it."""
_LINES: Final = re.compile(r"(?P<path>.+)#L?(?P<start>\d+)(?:-L?(?P<end>\d+))?")
_MISSING: Final = "{names}: nothing of that name is in {folder}, so nothing is attached for it."
_MOST: Final = 50
"""Names of one text that are looked at."""


class Mentioned(Struct, frozen=True):
    """What the names in a text stand for."""

    parts: tuple[PromptInputPart, ...] = ()
    """For the prompt, the words about what is missing included."""
    notes: tuple[str, ...] = ()
    """For the person: what may have been meant otherwise."""


def mentioned_names(text: str) -> list[str]:
    """The names after an at sign, each once."""
    names = (name.rstrip(_TRAILING) for name in _NAME.findall(text))
    return list(dict.fromkeys(name for name in names if name))[:_MOST]


def mentioned(text: str, project: Project) -> Mentioned:
    """The files, folders and agents that `text` names: a file goes before an agent of its name.

    `@file#3-7` means lines. What looks like a path and leads nowhere is told to the model and to
    the person; other words with an at sign are words.
    """
    agents = list(spawnable(project.agents))
    parts: list[PromptInputPart] = []
    missing: list[str] = []
    notes: list[str] = []
    for name in mentioned_names(text):
        if (file := _file(name, project.directory)) is not None:
            parts.append(file)
        elif name in agents:
            parts.append(AgentInput(name))
        elif "/" in name or "." in name:
            missing.append(f"@{name}")
        elif near := get_close_matches(name, agents, n=1):
            notes.append(f"@{name} is no agent; did you mean @{near[0]}?")
    if missing:
        words = _MISSING.format(names=_listed(missing), folder=project.directory)
        parts.append(TextInput(words, synthetic=True))
        notes.append(words)
    return Mentioned(tuple(parts), tuple(notes))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _file(name: str, directory: Path) -> FileInput | None:
    """The file or folder that `name` is, or None."""
    lines = _LINES.fullmatch(name)
    for written, query in ((name, ""), *(((lines["path"], _query(lines)),) if lines else ())):
        try:
            path = (directory / Path(written).expanduser()).absolute()
            exists, is_folder = path.exists(), path.is_dir()
        except (OSError, RuntimeError, ValueError):
            continue  # no name that a file can have
        if exists:
            mime = "application/x-directory" if is_folder else _mime(path)
            return FileInput(mime, path.as_uri() + query, filename=written)
    return None


def _query(lines: re.Match[str]) -> str:
    end = lines["end"] or lines["start"]
    return f"?start={lines['start']}&end={end}"


def _mime(path: Path) -> str:
    guess, _ = mimetypes.guess_type(path.name)
    is_media = guess is not None and (guess.startswith("image/") or guess == "application/pdf")
    return guess if guess is not None and is_media else "text/plain"

"""Where files of memory are, by the names under which people and models know them.

Below the folder `memory` of the data folder:

    global/MEMORY.md
    projects/<project id>/MEMORY.md, MEMORY-<topic>.md
    sessions/<session id>/notes.md, checkpoint.md, checkpoint-<topic>.md
    sessions/<session id>/tasks/<task>/progress.md, notes.md

A name is such a path; `project/…` and `session/…` are short for one's own.
"""

import re
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.core.errors import UsageError
from roost.core.text import echo

Scope = Literal["global", "project", "session"]
MAIN: Final = "MEMORY.md"
NOTES: Final = "notes.md"
_FOLDERS: Final[dict[str, Scope]] = {
    "global": "global",
    "projects": "project",
    "sessions": "session",
}
_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_TOPIC: Final = r"-[a-z0-9][a-z0-9_-]{0,47}"
_FILES: Final[dict[Scope, re.Pattern[str]]] = {
    "global": re.compile(r"MEMORY\.md"),
    "project": re.compile(rf"MEMORY({_TOPIC})?\.md"),
    "session": re.compile(
        rf"notes\.md|checkpoint({_TOPIC})?\.md|tasks/T\d+(\.\d+)*/(progress|notes)\.md"
    ),
}
_HINT: Final = (
    "Files are project/MEMORY.md, project/MEMORY-<topic>.md (lower case letters, digits and -),"
    " session/notes.md and global/MEMORY.md."
)
_KB: Final = 1_024
_LARGEST: Final[dict[Scope, int]] = {"global": 16 * _KB, "project": 32 * _KB, "session": 64 * _KB}


class Whose(Struct, frozen=True):
    """Who looks: which project and session are their own. Empty: none is."""

    project_id: str = ""
    session_id: str = ""

    def id_of(self, scope: Scope) -> str:
        """Their own id in a scope; the global one has none."""
        return {"global": "", "project": self.project_id, "session": self.session_id}[scope]


class Located(Struct, frozen=True):
    """A file of memory, which need not be there."""

    name: str
    """As its owner calls it."""
    path: Path
    """Without links below the folder of memory, as long as nobody puts one there."""
    scope: Scope
    owner: str
    """Id of its project or session."""
    own: bool
    """It is the global one, or belongs to the project or session of who looks."""

    @property
    def largest(self) -> int:
        """Bytes that it may hold."""
        return _LARGEST[self.scope]

    @property
    def kept(self) -> bool:
        """Whether entries of memory go there: Roost and those who work on a task write the rest."""
        name = self.path.name
        return name.startswith("MEMORY") or (name == NOTES and self.path.parent.name == self.owner)


class Layout:
    """The files of memory below one data folder."""

    def __init__(self, data: Path) -> None:
        self.root = data.resolve() / "memory"

    def locate(self, name: str, whose: Whose) -> Located:
        """The file of that name. Raises `UsageError` for a name that is none of memory's."""
        words = _full(name.strip(), whose).split("/")
        scope = _FOLDERS.get(words[0])
        if scope is None:
            raise UsageError(f"{echo(name)!r} is no file of memory", hint=_HINT)
        owner = "" if scope == "global" else words[1] if len(words) > 1 else ""
        rest = "/".join(words[1 if scope == "global" else 2 :])
        if scope != "global" and not _ID.fullmatch(owner):
            raise UsageError(f"{echo(name)!r} names no {scope}", hint=_HINT)
        if not _FILES[scope].fullmatch(rest):
            raise UsageError(f"{echo(name)!r} is no file of memory", hint=_HINT)
        return self._located(scope, owner, rest, whose)

    def folder(self, scope: Scope, owner: str) -> Path:
        """The folder of a scope's files. Raises `UsageError` for an id that can name none."""
        if scope == "global":
            return self.root / "global"
        if not _ID.fullmatch(owner):
            raise UsageError(f"{echo(owner)!r} cannot name a folder of memory")
        return self.root / f"{scope}s" / owner

    def files(self, scope: Scope, owner: str, whose: Whose) -> list[Located]:
        """The files that are there, by name; links are passed over."""
        folder = self.folder(scope, owner)
        if not folder.is_dir() or folder.resolve() != folder:
            return []
        found = [path for pattern in ("*.md", "tasks/*/*.md") for path in folder.glob(pattern)]
        return [
            self._located(scope, owner, rest, whose)
            for path in sorted(found)
            if _FILES[scope].fullmatch(rest := path.relative_to(folder).as_posix())
            and path.is_file()
            and path.resolve() == path
        ]

    def owners(self, scope: Scope) -> list[str]:
        """Every project or session that has a folder; the global scope has one without a name."""
        if scope == "global":
            return [""]
        above = self.root / f"{scope}s"
        if not above.is_dir():
            return []
        return sorted(one.name for one in above.iterdir() if _ID.fullmatch(one.name))

    def _located(self, scope: Scope, owner: str, rest: str, whose: Whose) -> Located:
        own = owner == whose.id_of(scope)
        head = scope if own else f"{scope}s/{owner}"
        path = self.folder(scope, owner) / rest
        return Located(name=f"{head}/{rest}", path=path, scope=scope, owner=owner, own=own)


def _full(name: str, whose: Whose) -> str:
    """`name` without the short forms."""
    head, _, rest = name.partition("/")
    if not rest:
        head, rest = ("session", name) if name.startswith("notes") else ("project", name)
    own = {"project": whose.project_id, "session": whose.session_id}.get(head)
    if own:
        head = f"{head}s/{own}"
    return f"{head}/{rest}" if rest.endswith(".md") else f"{head}/{rest}.md"

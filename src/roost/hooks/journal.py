"""The journal that an actor leaves of its task: its place, what it must hold, its stamp. Pure.

It is Markdown with five headings. Whoever continues the task, and the checkpoint of the session,
reads it; so it must be there and whole whatever became of the actor.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from roost.core.errors import UsageError
from roost.core.text import cut

HEADINGS: Final = (
    "## §1 Task identity",
    "## §2 Subagent intent",
    "## §3 Files and code sections",
    "## §4 Verbatim commands",
    "## §5 Outcome and discoveries",
)
WRITTEN_AT: Final = "written-at"
"""The key of the front matter that tells when the journal was last found right, in ISO form."""
_OWN: Final = "written-by: roost "
"""Marks a record; behind it stands the digest of what follows, so that a record in which an actor
wrote its journal is that actor's."""
_QUOTED: Final = 4_000
"""Characters of the brief, and of an error, that a record repeats."""
_COMPONENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*(?P<end>\r?\n)(?P<inner>(?:.*\n)*?)---[ \t]*(?:\r?\n|\Z)"
)
_STAMP: Final = re.compile(rb"^written-at[ \t]*:.*?(?=\r?$)", re.MULTILINE)


def journal_path(data: Path, session_id: str, task_id: str) -> Path:
    """Where the journal of a task is, below the folder for data.

    Raises UsageError for an id that cannot name a folder.
    """
    for name in (session_id, task_id):
        if not _COMPONENT.fullmatch(name):
            raise UsageError(
                f"{cut(name, 80)!r} cannot name a folder", hint="Ids hold letters, digits, . _ -"
            )
    return data / "memory" / "sessions" / session_id / "tasks" / task_id / "progress.md"


def faults(text: str) -> tuple[str, ...]:
    """What keeps `text` from being a journal, a line each; nothing when it is right.

    A heading counts where it is one: on a line of its own, outside code and comments.
    """
    prose = _COMMENT.sub("", "\n".join(_without_code(text)))
    lines = [line.rstrip() for line in prose.split("\n")]
    places = {heading: lines.index(heading) for heading in HEADINGS if heading in lines}
    found: list[str] = []
    before = -1
    for heading in HEADINGS:
        if heading not in places:
            found.append(f"- missing: {heading}")
            continue
        if places[heading] < before:
            found.append(f"- not in order: {heading}")
        before = max(before, places[heading])
        if not _has_text(lines, places[heading] + 1):
            found.append(f"- without text under it: {heading}")
    return tuple(found)


def _without_code(text: str) -> Iterator[str]:
    """The lines of `text`, with a mark in the place of each line of code."""
    fence = ""
    for line in text.splitlines():
        found = _CODE_FENCE.match(line)
        if not fence:
            fence = found[1] if found else ""
            yield "(code)" if fence else line
        else:
            bare = not line.strip().strip(fence[0])
            if found is not None and bare and found[1].startswith(fence):
                fence = ""
            yield "(code)" if line.strip() else ""


def _has_text(lines: list[str], first: int) -> bool:
    """Whether anything but headings stands between line `first` and the next heading like it."""
    for line in lines[first:]:
        if re.match(r"#{1,2} ", line):
            return False
        if line.strip() and not re.match(r"#{3,6} ", line):
            return True
    return False


def stamped(data: bytes, written_at: str) -> bytes:
    """`data` with `written_at` in its front matter; every other byte stays."""
    line = f"{WRITTEN_AT}: {written_at}".encode()
    front = _FRONT.match(data)
    if front is None:
        mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        first = re.search(rb"\r?\n", data)
        end = first[0] if first else b"\n"
        return mark + b"---" + end + line + end + b"---" + end + data[len(mark) :]
    start, stop = front.span("inner")
    inner, count = _STAMP.subn(line, front["inner"])
    if not count:
        inner = line + front["end"] + inner
    return data[:start] + inner + data[stop:]


def is_own_record(data: bytes) -> bool:
    """Whether Roost wrote all of this in place of an actor, so that it still owes its journal."""
    front = _FRONT.match(data)
    if front is None:
        return False
    return f"{_OWN}{_digest(data[front.end() :])}".encode() in front["inner"].splitlines()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def record(
    *, task_id: str, agent: str, actor_id: str, task: str, outcome: str, error: str, written_at: str
) -> bytes:
    """What Roost writes down itself about a task whose actor left no journal."""
    sections = (
        f"Task {task_id}, worked on by the actor {actor_id} as {agent}.",
        f"The actor left no journal. It was asked:\n\n{_quoted(task) or '> (nothing)'}",
        "Not recorded.",
        "Not recorded.",
        f"Outcome: {outcome}." + (f"\n\n{_quoted(error)}" if error else ""),
    )
    parts = zip(HEADINGS, sections, strict=True)
    text = "\n\n".join(f"{heading}\n{section}" for heading, section in parts)
    body = f"{text}\n".encode("utf-8", "replace")
    return f"---\n{WRITTEN_AT}: {written_at}\n{_OWN}{_digest(body)}\n---\n".encode() + body


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in cut(text.strip(), _QUOTED).splitlines())


def reminder_missing(path: Path) -> str:
    """What an actor is told that left no journal."""
    return _page("journal_missing").format(path=path, template=_page("journal"))


def reminder_faulty(path: Path, found: tuple[str, ...]) -> str:
    """What an actor is told whose journal is not whole."""
    return _page("journal_faulty").format(
        path=path, faults="\n".join(found), template=_page("journal")
    )


@cache
def _page(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()

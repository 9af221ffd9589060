"""What an actor has tried since somebody spoke to it: its newest calls, as far as it matters
whether it gets anywhere. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import TextPart, ToolCompleted, ToolFailed, ToolPart

NAME: Final = "try_best"
"""Also where a reminder comes from, from which on one counts anew."""
WINDOW: Final = 60
"""The newest steps that are looked at."""
COUNTED: Final = frozenset(
    {
        "bash",
        "read",
        "write",
        "edit",
        "multiedit",
        "apply_patch",
        "glob",
        "grep",
        "list",
        "webfetch",
    }
)
"""Tools of which it can be told whether they bring something new; any other one does."""
ALIKE: Final = 0.8
"""Share of lines that two edits of one place have in common."""
_SHOWN: Final = 20_000
"""Characters of a result that are compared: its end."""
_SHELL: Final = "bash"
_VARYING: Final = re.compile(
    r"0x[0-9a-fA-F]+"
    r"|\d{4}-\d\d-\d\d(?:[T ][\d:.,]+Z?)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
    r"|\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?)\b"
    r"|\b\d{6,}\b"
    r"|\b[a-z]{3}_[0-9A-Za-z]{12,}\b"
    r"|/tmp/[^\s'\":,)]+"
    r"|(?i:seed)[= :]+\d+"
)
"""What differs from run to run though nothing has changed."""


class Edit(Struct, frozen=True):
    """What one call changed in one file, as lines without their indentation."""

    path: str
    removed: frozenset[str]
    added: frozenset[str]

    def repeats(self, other: "Edit") -> bool:
        """Whether it does nearly what `other` did."""
        same_place = self.path == other.path and _alike(self.removed, other.removed)
        return same_place and _alike(self.added, other.added)

    def undoes(self, other: "Edit") -> bool:
        """Whether it takes back nearly what `other` did."""
        return Edit(self.path, self.added, self.removed).repeats(other)


class Effort(Struct, frozen=True, dict=True):
    """One call, and what came of it."""

    step: int
    """Counted from the newest step, which is 0."""
    tool: str
    given: dict[str, Any]
    result: str
    failed: bool
    began: int
    ended: int
    """Milliseconds since the epoch."""
    diff: str = ""

    @property
    def is_command(self) -> bool:
        """Whether a shell ran it."""
        return self.tool == _SHELL

    @cached_property
    def _head(self) -> str:
        return str(self.given.get("command", "")).lstrip()[:4]

    @cached_property
    def command(self) -> str:
        """The command, without what differs each time."""
        return masked(" ".join(str(self.given.get("command", "")).split()))

    @cached_property
    def shown(self) -> str:
        """Its result, without what differs each time."""
        return masked(self.result[-_SHOWN:])

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """What it changed."""
        return tuple(_edits(self.diff))

    def is_as(self, other: "Effort") -> bool:
        """Whether the same was asked for, and the same came of it."""
        if self.tool != other.tool or self.failed != other.failed:
            return False
        if self.result == other.result and self.given == other.given:
            return True
        if not self.is_command:
            return self.given == other.given and self.shown == other.shown
        return (
            self._head == other._head
            and self.command == other.command
            and (self.shown == other.shown)
        )


def masked(text: str) -> str:
    """`text` without moments, spans of time, addresses, and names that are made up each time."""
    return _VARYING.sub("·", text)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if one == other:
        return True
    return len(one & other) > ALIKE * len(one | other)


def _edits(diff: str) -> Iterator[Edit]:
    path = ""
    removed: set[str] = set()
    added: set[str] = set()
    for line in diff.splitlines():
        if line.startswith(("--- ", "diff --git ")):
            if removed or added:
                yield Edit(path, frozenset(removed), frozenset(added))
            removed = set[str]()
            added = set[str]()
        elif line.startswith("+++ "):
            path = line[4:].strip()
        elif line.startswith("-") and line[1:].strip():
            removed.add(line[1:].strip())
        elif line.startswith("+") and line[1:].strip():
            added.add(line[1:].strip())
    if removed or added:
        yield Edit(path, frozenset(removed), frozenset(added))


def efforts(messages: Sequence[Message]) -> Iterator[list[Effort]]:
    """The calls of each step, the newest step first, back to the last news; at most `WINDOW`
    steps. A step without calls is left out; one with others than `COUNTED` ends it.
    """
    step = 0
    for message in reversed(messages):
        if isinstance(message.info, UserInfo):
            if _is_news(message):
                return
            continue
        calls = [part for part in message.parts if isinstance(part, ToolPart)]
        if not calls:
            continue
        if step >= WINDOW or any(part.tool not in COUNTED for part in calls):
            return
        yield [one for part in calls if (one := _effort(part, step)) is not None]
        step += 1


def _is_news(message: Message) -> bool:
    """Whether somebody else spoke, or the actor was reminded that it gets nowhere."""
    info = message.info
    assert isinstance(info, UserInfo)
    rows = (info.provenance or {}).get("inbox", ())
    if info.provenance is None or any(row["kind"] != "system" for row in rows):
        return True
    parts = (part for part in message.parts if isinstance(part, TextPart))
    return any((part.metadata or {}).get("origin", {}).get("name") == NAME for part in parts)


def _effort(part: ToolPart, step: int) -> Effort | None:
    state = part.state
    if isinstance(state, ToolFailed):
        if (state.metadata or {}).get("interrupted"):
            return None
        span = state.time
        return Effort(step, part.tool, state.input, state.error, True, span.start, span.end)
    if not isinstance(state, ToolCompleted):
        return None
    failed = part.tool == _SHELL and state.metadata.get("exit") != 0
    diff = state.metadata.get("diff")
    return Effort(
        *(step, part.tool, state.input, state.output, failed, state.time.start, state.time.end),
        diff=diff if isinstance(diff, str) else "",
    )

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
from roost.turn.loops import DUPLICATE, WAITING

NAME: Final = "try_best"
WINDOW: Final = 60
"""The newest steps that are looked at."""
_ANEW: Final = {NAME, WAITING}
"""Where words of the runtime come from, from which on one counts anew."""
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

    @property
    def command(self) -> str:
        """The command."""
        return str(self.given.get("command", ""))

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """What it changed."""
        return tuple(_edits(self.diff))

    def asks_as(self, other: "Effort") -> bool:
        """Whether the same was asked for."""
        if self.tool != other.tool:
            return False
        if self.given == other.given:
            return True
        words = self.command.split() if self.is_command else []
        return bool(words) and _same(words, other.command.split())

    def is_as(self, other: "Effort") -> bool:
        """Whether the same was asked for, and the same came of it."""
        if self.failed != other.failed or not self.asks_as(other):
            return False
        one, two = self.result[-_SHOWN:], other.result[-_SHOWN:]
        return one == two or _same(one.splitlines(), two.splitlines())


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two texts differ in nothing but what differs each time; ends with the first other
    piece.
    """
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(a == b or masked(a) == masked(b) for a, b in pairs)


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
    """Whether somebody else spoke, or the actor was reminded that it gets nowhere, or waited."""
    info = message.info
    assert isinstance(info, UserInfo)
    rows = (info.provenance or {}).get("inbox", ())
    if info.provenance is None or any(row["kind"] != "system" for row in rows):
        return True
    parts = (part for part in message.parts if isinstance(part, TextPart))
    return any((part.metadata or {}).get("origin", {}).get("name") in _ANEW for part in parts)


def _effort(part: ToolPart, step: int) -> Effort | None:
    state = part.state
    if isinstance(state, ToolFailed):
        if (state.metadata or {}).get("interrupted"):
            return None
        span = state.time
        return Effort(step, part.tool, state.input, state.error, True, span.start, span.end)
    if not isinstance(state, ToolCompleted) or DUPLICATE in state.metadata:
        return None
    failed = part.tool == _SHELL and state.metadata.get("exit", 0) != 0
    diff = state.metadata.get("diff")
    return Effort(
        *(step, part.tool, state.input, state.output, failed, state.time.start, state.time.end),
        diff=diff if isinstance(diff, str) else "",
    )

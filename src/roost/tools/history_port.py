"""What the tool `history` needs of the runtime, and what it is told."""

from typing import Final, Literal, Protocol

from msgspec import Struct

from roost.memory.rank import Hit
from roost.sessions.said import Said, SaidKind
from roost.sessions.spoken import Spoken

MOST: Final = 50
"""Passages, and messages on one side, of one answer."""
Reach = Literal["project", "session", "global"]


class HistoryQuery(Struct, frozen=True, kw_only=True):
    """What is looked for, and where."""

    words: str
    session_id: str = ""
    project_id: str = ""
    """Empty: in every one."""
    kinds: tuple[SaidKind, ...] = ()
    """Empty: those that the configuration lets be found."""
    tool: str = ""
    since: int | None = None
    until: int | None = None
    """Milliseconds since the epoch."""
    limit: int = 10


class Found(Struct, frozen=True):
    """A passage of a message."""

    spoken: Spoken
    said: Said
    chunk: int


class HistoryFound(Struct, frozen=True):
    """What a search found."""

    hits: tuple[Hit[Found], ...]
    behind: int
    """Messages at most that are not in the index yet."""


class HistoryPort(Protocol):
    """What was said in sessions, as one call of the tool sees it.

    Methods raise `NotFoundError`, `UsageError` or `StorageError` with words for the model.
    """

    @property
    def kinds(self) -> tuple[SaidKind, ...]:
        """What can be found."""
        ...

    async def search(self, query: HistoryQuery, reach: Reach) -> HistoryFound:
        """The passages that fit best within `reach`."""
        ...

    async def around(self, message_id: str, count: int) -> list[Spoken]:
        """A message, with at most `count` of the same actor before it and as many after it."""
        ...

    async def text(self, part_id: str) -> list[Said]:
        """Every text of a part, whole."""
        ...

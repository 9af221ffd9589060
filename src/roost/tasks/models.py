"""Tasks and the moves between their states."""

from typing import Final, Literal

from msgspec import Struct

from roost.core.wire_names import wire_name

Status = Literal["open", "in_progress", "blocked", "done", "abandoned"]
Move = Literal["start", "block", "unblock", "done", "abandon", "reopen"]

MOVES: Final[dict[Move, tuple[frozenset[Status], Status]]] = {
    "start": (frozenset({"open", "blocked"}), "in_progress"),
    "block": (frozenset({"open", "in_progress"}), "blocked"),
    "unblock": (frozenset({"blocked"}), "open"),
    "done": (frozenset({"open", "in_progress", "blocked"}), "done"),
    "abandon": (frozenset({"open", "in_progress", "blocked"}), "abandoned"),
    "reopen": (frozenset({"done", "abandoned"}), "open"),
}
"""From which states each move may start, and where it leads."""
TERMINAL: Final = frozenset[Status]({"done", "abandoned"})
TODO_STATUS: Final[dict[Status, str]] = {
    "open": "pending",
    "in_progress": "in_progress",
    "blocked": "pending",
    "done": "completed",
    "abandoned": "cancelled",
}
"""States as OpenCode's clients know them."""


class Task(Struct, frozen=True, rename=wire_name, omit_defaults=True):
    """One promise; `T1.2` is the second part of `T1`."""

    id: str
    session_id: str
    summary: str
    status: Status
    created: int
    updated: int
    parent_id: str | None = None
    owner: str | None = None
    """The actor that made it."""
    reason: str = ""
    """Why it is blocked or was abandoned."""


class TodoItem(Struct, frozen=True):
    """A task as OpenCode's clients list it."""

    content: str
    status: str
    priority: str = "medium"

"""What a line of the log is about: session, actor, turn and step of the task that writes it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

NAMES: Final = ("session", "actor", "turn", "step")
"""The ids, the widest first."""
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=MappingProxyType({}))


def current() -> Mapping[str, str]:
    """The ids that hold here, by their names."""
    return _about.get()


@contextmanager
def about(**ids: str) -> Generator[None]:
    """Let what this task and those it starts log be about `ids` until the block ends."""
    before = _about.set({**_about.get(), **ids})
    try:
        yield
    finally:
        _about.reset(before)


def now_about(**ids: str) -> None:
    """The same from here on, until the task ends or is about something else of these names."""
    _about.set({**_about.get(), **ids})

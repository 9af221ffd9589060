"""Where a timeline is shown: as text for people, whose open end is drawn again as it changes on a
terminal, or as JSON lines.
"""

import sys
from collections.abc import Callable, Sequence
from os import terminal_size
from typing import Protocol

import msgspec

from roost.cli.terminal import Look
from roost.cli.trace.entries import Entry, Head
from roost.cli.trace.heading import heading, sums_line
from roost.cli.trace.hiding import Hide, hidden_entries, hidden_head
from roost.cli.trace.picture import Picture


class Screen(Protocol):
    """Shows turns, one after the other."""

    def begin(self, head: Head) -> None:
        """A turn follows."""
        ...

    def add(self, entries: Sequence[Entry]) -> None:
        """What is known for good of it."""
        ...

    def live(self, entries: Sequence[Entry]) -> None:
        """What is still open, in place of what was until now."""
        ...

    def end(self, head: Head) -> None:
        """The turn as it is now: nothing more is shown of it."""
        ...


class JsonLines:
    """One object a line: the turn as it stood first, then its entries."""

    def __init__(self, hide: Hide) -> None:
        self._hide = hide

    def begin(self, head: Head) -> None:
        """Write the head."""
        _print(msgspec.json.encode(hidden_head(head, self._hide)).decode())

    def add(self, entries: Sequence[Entry]) -> None:
        """Write entries."""
        for entry in hidden_entries(entries, self._hide):
            _print(msgspec.json.encode(entry).decode())

    def live(self, entries: Sequence[Entry]) -> None:
        """Nothing: only what is known for good is written."""

    def end(self, head: Head) -> None:
        """Nothing: the last entry tells the sums."""


class Text:
    """Lines for people; with `live` on a terminal, where the last of them can be drawn again."""

    def __init__(
        self,
        size: Callable[[], terminal_size],
        look: Look,
        hide: Hide,
        *,
        follows: bool,
        live: bool,
    ) -> None:
        self._size = size
        self._look = look
        self._hide = hide
        self._follows = follows
        self._live = live
        self._began = 0
        self._drawn = 0
        """Lines of the open end that stand there."""
        self._count = 0

    def begin(self, head: Head) -> None:
        """Write the heading."""
        self._began = head.at
        lines = heading(hidden_head(head, self._hide), self._size().columns, self._look)
        blank = [""] if self._count else []
        self._count += 1
        _print("\n".join([*blank, *lines, "", self._picture.heads()]))

    @property
    def _picture(self) -> Picture:
        return Picture(self._size().columns, self._look, self._began)

    def add(self, entries: Sequence[Entry]) -> None:
        """Write entries, over what was open."""
        lines = self._lines(entries)
        if lines:
            self._clear()
            _print("\n".join(lines))

    def live(self, entries: Sequence[Entry]) -> None:
        """Draw the open end."""
        if self._live:
            self._clear()
            room = max(1, self._size().lines - 1)  # what has left the screen cannot be cleared
            lines = self._lines(entries)[-room:]
            self._drawn = len(lines)
            if lines:
                _print("\n".join(lines))

    def end(self, head: Head) -> None:
        """Write the sums again where they were not known when the turn was begun."""
        self.live([])
        if self._follows:
            lines = sums_line(hidden_head(head, self._hide), self._size().columns, self._look)
            _print("\n".join(["", *lines]))

    def _lines(self, entries: Sequence[Entry]) -> list[str]:
        picture = self._picture
        shown = hidden_entries(entries, self._hide)
        return [line for entry in shown for line in picture.lines(entry)]

    def _clear(self) -> None:
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0


def _print(text: str) -> None:
    print(text, flush=True)

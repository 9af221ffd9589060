"""Follows a turn that runs, in whichever process: looks at its rows again and again, and shows what
is new. A look costs what is new of the turn, not what it has grown to.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Final

from roost.actors.turns_seen import by_id
from roost.cli.trace.entries import Called, Child, Entry, Question, Ran, is_open
from roost.cli.trace.reading import Rows, read_turn
from roost.cli.trace.showing import Screen
from roost.cli.trace.steps import NOTHING
from roost.cli.trace.timeline import Timeline, timeline
from roost.core.clock import now_ms
from roost.db.database import Database
from roost.sessions.models import UserInfo

POLL_SECONDS: Final = 0.3
_SURE: Final = 2
"""Looks in a row that must find no process before a turn counts as lost: a look reads row by row,
and may see the end of a turn in one and not yet in the other."""


class Follower:
    """One turn. `alive` tells whether a process is there that goes on with it."""

    def __init__(self, database: Database, screen: Screen, alive: Callable[[Rows], bool]) -> None:
        self._database = database
        self._screen = screen
        self._alive = alive
        self._shown: set[Hashable] = set()
        self._before = NOTHING
        self._since = 0

    async def follow(self, rows: Rows) -> None:
        """Show `rows`, and what is added to them, until the turn ends or its process is gone."""
        line = self._seen(rows)
        self._screen.begin(line.head)
        missing = 0
        while not rows.is_over and missing < _SURE:
            missing = 0 if self._alive(rows) else missing + 1
            self._show(line)
            self._go_on(rows, line)
            await asyncio.sleep(POLL_SECONDS)
            rows = await self._read(rows)
            line = self._seen(rows)
        self._add(line.entries)
        self._screen.end(line.head)

    async def _read(self, rows: Rows) -> Rows:
        turn_id, since = rows.turn.id, self._since

        return await self._database.read(lambda db: read_turn(db, by_id(db, turn_id), since=since))

    def _seen(self, rows: Rows) -> Timeline:
        return timeline(rows, alive=self._alive(rows), now=now_ms(), before=self._before)

    def _show(self, line: Timeline) -> None:
        """Show what is known for good, up to what is not; children go on beside it."""
        entries = [one for one in line.entries if not (isinstance(one, Child) and is_open(one))]
        first = next((at for at, one in enumerate(entries) if is_open(one)), len(entries))
        self._add(entries[:first])
        self._screen.live([one for one in line.entries if _key(one) not in self._shown])

    def _add(self, entries: list[Entry]) -> None:
        new = [one for one in entries if _key(one) not in self._shown]
        self._shown.update(map(_key, new))
        self._screen.add(new)

    def _go_on(self, rows: Rows, line: Timeline) -> None:
        """Leave out of the next look the messages that nothing can be added to."""
        waiting = {
            one.message_id if isinstance(one, Called) else one.call_id
            for one in line.entries
            if isinstance(one, Called | Ran) and _key(one) not in self._shown
        }
        for placed in rows.messages:
            message = placed.message
            ids = {message.info.id, *(part.id for part in message.parts)}
            if not isinstance(message.info, UserInfo) and ids & waiting:
                return
            self._before = self._before.plus(message)
            self._since = placed.seq + 1


def _key(entry: Entry) -> Hashable:
    """What tells an entry from all others of its turn, however it changes."""
    match entry:
        case Called():
            return entry.message_id
        case Ran():
            return entry.call_id
        case Child():
            return entry.turn_id
        case Question():
            return (entry.at, entry.about)
        case _:
            return entry

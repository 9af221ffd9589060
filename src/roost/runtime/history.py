"""What was said, found again: the index kept up with the database, and looked into.

No step writes to the index. A search first takes up what was said since the last one, newest first,
for as long as it may; what is older is taken up by the next one.
"""

import asyncio
import time
from collections.abc import Sequence
from itertools import islice
from typing import Final

from roost.core.clock import now_ms
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.memory import history_store as store
from roost.memory.history_store import Filters, FoundPassage, Heard, Passage, Place, State
from roost.memory.index import Index
from roost.memory.rank import Candidate, query_of, ranked
from roost.sessions import spoken as messages
from roost.sessions.said import KINDS, USUAL, SaidKind, chunks, searchable_in, without_doubles
from roost.sessions.spoken import Spoken
from roost.tools.history_port import MOST, Found, HistoryFound, HistoryQuery

PATIENCE: Final = 2.0
"""Seconds for which a search takes up what was not looked at yet."""
_BATCH: Final = 200
_CANDIDATES: Final = 60
"""Passages whose text decides about the order."""
STALE: Final = 500
"""Passages that are gone, above which, and above an eighth of all, the index is made anew."""


class History:
    """Searches messages. Methods raise `StorageError` if index or database cannot be used."""

    def __init__(self, database: Database, index: Index, kinds: Sequence[SaidKind] = USUAL) -> None:
        """`kinds`: what of a message can be found."""
        self._database = database
        self._index = index
        self._kinds = without_doubles(kinds)
        self._wanted = sum(1 << KINDS.index(one) for one in self._kinds)

    @property
    def kinds(self) -> tuple[SaidKind, ...]:
        """What of a message can be found."""
        return self._kinds

    async def search(self, query: HistoryQuery, *, patience: float = PATIENCE) -> HistoryFound:
        """The passages that fit best, one a text."""
        behind = await self.catch_up(patience)
        asked = query_of(query.words)
        kinds = [one for one in query.kinds or self._kinds if one in self._kinds]
        if not asked.words or not kinds:
            return HistoryFound((), behind)
        filters = Filters(
            session_id=query.session_id,
            project_id=query.project_id,
            kinds=tuple(KINDS.index(one) for one in kinds),
            tool=query.tool,
            since=query.since or 0,
            until=query.until or Filters().until,
        )
        passages = await asyncio.to_thread(
            self._index.read, lambda db: store.search(db, asked.words, filters, _CANDIDATES)
        )
        candidates = await self._database.read(lambda db: _texts(db, passages))
        limit = min(query.limit, MOST)
        # What was said twice, as in a copy of a session, is shown once.
        hits = ranked(asked, candidates, now_ms(), limit, same=lambda one: one.said.text)
        return HistoryFound(tuple(hits), behind)

    async def catch_up(self, patience: float) -> int:
        """Take up what was said since, for at most about `patience` seconds; how many messages are
        left.
        """
        deadline = time.monotonic() + patience
        if await self._is_complete():
            return 0
        await self._begin()
        await self._finish()
        while (high := await self._newer()) and time.monotonic() < deadline:
            pass
        while not high and await self._older() and time.monotonic() < deadline:
            pass
        state = await asyncio.to_thread(self._index.read, store.state)
        newest = await self._database.read(messages.newest_row)
        return max(0, newest - state.high) + max(0, state.low - 1)

    async def _is_complete(self) -> bool:
        """Whether nothing was said and nothing removed since the index was brought up to date."""

        def known(db: Reader) -> tuple[State, list[tuple[int, int]], list[int]]:
            return store.state(db), store.newest(db, 1), store.unfinished(db)

        state, newest, growing = await asyncio.to_thread(self._index.read, known)
        if growing or state.low or self._wanted & ~state.kinds or not newest:
            return False
        row, mark = newest[0]

        def same(db: Reader) -> bool:
            found = messages.id_at(db, row)
            return (
                found is not None
                and store.mark_of(found) == mark
                and messages.newest_row(db) == row
                and messages.session_sums(db) == (state.sessions, state.sum)
            )

        return await self._database.read(same)

    async def _begin(self) -> None:
        """Let go of what is gone, and begin anew where that is less than to go on."""
        state = await asyncio.to_thread(self._index.read, store.state)
        if self._wanted & ~state.kinds:
            kinds = self._wanted | state.kinds
            await asyncio.to_thread(self._index.write, lambda tx: store.reset(tx, kinds))
            state = State(kinds=kinds)
        sums = await self._database.read(messages.session_sums)
        if sums != (state.sessions, state.sum):
            there = await self._database.read(messages.session_ids)
            await asyncio.to_thread(self._index.write, lambda tx: _let_go(tx, there, sums))
        while await self._step_back():
            pass

    async def _step_back(self) -> bool:
        """Let go of the newest messages of the index that are others by now; whether there may be
        more of them.
        """
        known = await asyncio.to_thread(self._index.read, lambda db: store.newest(db, _BATCH))

        def stale(db: Reader) -> list[int]:
            gone: list[int] = []
            for row, mark in known:
                found = messages.id_at(db, row)
                if found is not None and store.mark_of(found) == mark:
                    break
                gone.append(row)
            return gone

        gone = await self._database.read(stale)
        if gone:
            await asyncio.to_thread(self._index.write, lambda tx: _forget(tx, gone))
        return bool(gone) and len(gone) == len(known)

    async def _finish(self) -> None:
        """Take up messages that grew when they were looked at, and have an end now."""
        rows = await asyncio.to_thread(self._index.read, store.unfinished)
        if not rows:
            return
        found = await self._database.read(lambda db: messages.at(db, rows))
        gone = [row for row in rows if row not in found]
        ended = [one for one in found.values() if not one.is_open]
        if gone or ended:

            def note(tx: Transaction) -> None:
                _forget(tx, gone)
                _take_up(tx, ended)

            await asyncio.to_thread(self._index.write, note)

    async def _newer(self) -> bool:
        """Take up some of the messages that are newer than the index; whether there were any."""
        state = await asyncio.to_thread(self._index.read, store.state)
        if not state.high:
            newest = await self._database.read(messages.newest_row)
            if newest:
                await asyncio.to_thread(self._index.write, lambda tx: _place(tx, newest))
            return False
        some = await self._database.read(lambda db: messages.after(db, state.high, _BATCH))
        if some:
            await asyncio.to_thread(self._index.write, lambda tx: _take_up(tx, some))
        return len(some) == _BATCH

    async def _older(self) -> bool:
        """Take up some of those that are older; whether there may be more."""
        state = await asyncio.to_thread(self._index.read, store.state)
        if not state.low:
            return False
        some = await self._database.read(lambda db: messages.before(db, state.low, _BATCH))
        await asyncio.to_thread(self._index.write, lambda tx: _take_up_older(tx, some))
        return len(some) == _BATCH


def _let_go(tx: Transaction, there: set[str], sums: tuple[int, int]) -> None:
    """Forget the sessions that are gone, or everything where too much of it is."""
    _forgot(tx, store.forget_sessions(tx, there))
    state = store.state(tx)
    if state.gone > max(STALE, (state.last - state.gone) // 8):
        store.reset(tx, state.kinds)
        state = State(kinds=state.kinds)
    _note(tx, state, sessions=sums[0], sum=sums[1])


def _forget(tx: Transaction, rows: Sequence[int]) -> None:
    if rows:
        _forgot(tx, store.forget(tx, rows))


def _forgot(tx: Transaction, gone: int) -> None:
    """Note that passages are gone; what is newer than all that is left may be new."""
    state = store.state(tx)
    left = store.newest(tx, 1)
    if left:
        _note(tx, state, high=left[0][0], gone=state.gone + gone)
    else:
        _note(tx, state, high=0, low=0, gone=state.gone + gone)


def _place(tx: Transaction, newest: int) -> None:
    """Begin with the newest message, and go back from there."""
    state = store.state(tx)
    if not state.high:
        _note(tx, state, high=newest, low=newest + 1)


def _take_up(tx: Transaction, some: Sequence[Spoken]) -> None:
    state = store.state(tx)
    if not state.high:
        return  # somebody began anew meanwhile
    last = store.add(tx, (_heard(one, state.kinds) for one in some), state.last)
    _note(tx, state, last=last, high=max(state.high, *(one.row for one in some), 0))


def _take_up_older(tx: Transaction, some: Sequence[Spoken]) -> None:
    state = store.state(tx)
    if not state.low:
        return
    last = store.add(tx, (_heard(one, state.kinds) for one in some), state.last)
    low = some[-1].row if len(some) == _BATCH else 0
    _note(tx, state, last=last, low=min(low, state.low))


def _note(tx: Transaction, state: State, **changes: int) -> None:
    fields = {name: getattr(state, name) for name in State.__struct_fields__}
    store.set_state(tx, State(**{**fields, **changes}))


def _heard(spoken: Spoken, kinds: int) -> Heard:
    info = spoken.message.info
    passages = (
        Passage(Place(seq, number, chunk), said.tool, text)
        for seq, said in enumerate(searchable_in(spoken.message))
        if kinds & 1 << (number := KINDS.index(said.kind))
        for chunk, text in enumerate(chunks(said.text))
    )
    return Heard(
        row=spoken.row,
        message_id=info.id,
        session_id=info.session_id,
        project_id=spoken.project_id,
        created=info.time.created,
        passages=None if spoken.is_open else tuple(passages),
    )


def _texts(db: Reader, passages: Sequence[FoundPassage]) -> list[Candidate[Found]]:
    """The passages with their texts as they are now; those that are gone are left out."""
    rows = list(dict.fromkeys(one.row for one in passages))
    there = messages.at(db, rows)
    found: list[Candidate[Found]] = []
    last = {row: max(one.place.seq for one in passages if one.row == row) for row in there}
    said = {
        row: list(islice(searchable_in(spoken.message), last[row] + 1))
        for row, spoken in there.items()
    }
    for one in passages:
        spoken, place = there.get(one.row), one.place
        if spoken is None or store.mark_of(spoken.message.info.id) != one.mark:
            continue
        texts = said[one.row]
        if place.seq >= len(texts) or KINDS.index(texts[place.seq].kind) != place.kind:
            continue
        pieces = chunks(texts[place.seq].text)
        if place.chunk < len(pieces):
            of = Found(spoken, texts[place.seq], place.chunk)
            found.append(Candidate(of, one.score, pieces[place.chunk], one.created))
    return found

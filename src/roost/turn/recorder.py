"""Writes one step as it happens: parts, streaming text, tool states, the end.

Deltas go to clients at once and to the database at least every 500 ms or 4 KB, so that a kill loses
half a second of text at most. Every transaction checks the fence first.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec

from roost.actors.liveness import sign_ms
from roost.actors.models import Claim
from roost.actors.store import check_held, note_activity
from roost.core.clock import now_ms
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean, cut
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.events.types import Delta, DeltaPlace
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    StepStartPart,
    TextPart,
    ToolPart,
    ToolPending,
    ToolState,
    is_open,
)
from roost.sessions.repair import closed
from roost.turn.reducer import Append, Close, OpenCall, OpenReasoning, OpenText, Write

SAVE_SECONDS: Final = 0.5
SAVE_BYTES: Final = 4_096
ACTIVITY_MS: Final = 5_000
"""How old the stored sign of life of an actor at work may be."""
SHOW_SECONDS: Final = 0.1
"""How long a call that the model has begun to write may wait to be stored and shown."""
MAX_ARGUMENTS: Final = 1024 * 1024
"""Characters of one call's arguments that are kept; a longer call counts as cut off."""
_NAME: Final = 200
"""Characters of a tool's name that are kept, whatever a model may call."""
NOT_RUN: Final = "The answer ended before this call could be run. It had no effect."


class _Block:
    """An open block: its part, its text so far, and how much of it is stored."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.place = DeltaPlace(part.session_id, part.message_id, part.id)
        self.pieces: list[str] = []
        self.unsaved: list[str] = []
        self.size = 0

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.unsaved.append(text)
        self.size += len(text)


class CallDraft(msgspec.Struct, frozen=True):
    """A tool call as it came out of the stream."""

    part: ToolPart
    arguments: str
    complete: bool
    """The provider said that the arguments ended."""


class Recorder:
    """The writer of one assistant message."""

    def __init__(self, database: Database, bus: Bus, claim: Claim, info: AssistantInfo) -> None:
        self._database = database
        self._bus = bus
        self._claim = claim
        self.info = info
        self._parts: dict[str, Part] = {}
        self._blocks: dict[str, _Block] = {}
        self._unsaved = 0
        self._something = asyncio.Event()
        """There is something to be saved, or was a moment ago."""
        self._waiting: dict[str, Part] = {}
        """Parts to be stored with the next write, by id, in order."""
        self._with_it: list[Callable[[Transaction], None]] = []
        """What else the next write does."""
        self._saving = asyncio.Lock()
        self.calls: list[CallDraft] = []
        self.snapshot: str | None = None
        """The newest snapshot of the files, as far as one is known."""

    @property
    def message(self) -> Message:
        """The message as it stands."""
        return Message(self.info, tuple(self._parts.values()))

    @property
    def texts(self) -> dict[str, str]:
        """The text and thinking of the message as far as it has streamed, by part id."""
        texts = {
            part.id: part.text
            for part in self._parts.values()
            if isinstance(part, TextPart | ReasoningPart)
        }
        for block in self._blocks.values():
            if block.part.id in texts:
                texts[block.part.id] = "".join(block.pieces)
        return texts

    async def begin(self, snapshot: str | None = None) -> None:
        """Store the empty message, before the model is called; files are as in `snapshot`."""
        start = StepStartPart(new_id("part"), self.info.session_id, self.info.id, snapshot)
        self.snapshot = snapshot
        self._parts[start.id] = start
        message = self.message

        def store(tx: Transaction) -> None:
            check_held(tx, self._claim)
            failpoint("step.begin")
            transcript.append_message(
                tx,
                message,
                actor_id=self._claim.address.actor_id,
                turn_id=self._claim.turn.id,
            )

        await self._database.write(store)

    async def write(self, writes: tuple[Write, ...]) -> None:
        """Carry out what the reducer asks for."""
        for write in writes:
            match write:
                case Append(key=key, text=text):
                    self._append(key, text)
                case OpenText(key=key):
                    part = TextPart(*self._ids(), text="", time=Span(now_ms()))
                    await self._open(key, part)
                case OpenReasoning(key=key):
                    part = ReasoningPart(*self._ids(), text="", time=Span(now_ms()))
                    await self._open(key, part)
                case OpenCall():
                    self._open_call(write)
                case Close(key=key, metadata=metadata):
                    await self._close(key, metadata)
                case _:
                    assert_never(write)
        if self._unsaved >= SAVE_BYTES:
            await self.save()

    def _ids(self) -> tuple[str, str, str]:
        return new_id("part"), self.info.session_id, self.info.id

    def _open_call(self, write: OpenCall) -> None:
        part = ToolPart(
            *self._ids(),
            call_id=write.id,
            tool=cut(clean(write.name), _NAME),
            state=ToolPending({}, ""),
            metadata=dict(write.metadata) or None,
        )
        self._blocks[write.key] = _Block(part)
        self.put_later(part)

    async def _open(self, key: str, part: Part) -> None:
        self._blocks[key] = _Block(part)
        await self.put(part)

    def _append(self, key: str, text: str) -> None:
        block = self._blocks.get(key)
        if block is None:
            return
        if isinstance(block.part, ToolPart):
            if block.size <= MAX_ARGUMENTS:
                block.pieces.append(text)
                block.size += len(text)
            return
        text = clean(text)
        block.add(text)
        if not self._unsaved:
            self._something.set()
        self._unsaved += len(text)
        self._bus.publish((Delta(block.place, text),))

    async def _close(self, key: str, metadata: dict[str, Any]) -> None:
        block = self._blocks.pop(key, None)
        if block is None:
            return
        if isinstance(block.part, ToolPart):
            self._draft(block, metadata, complete=block.size <= MAX_ARGUMENTS)
        else:
            await self.put(_whole(block, now_ms(), metadata or None))

    def _draft(self, block: _Block, metadata: dict[str, Any], *, complete: bool) -> None:
        part = self._parts[block.part.id]
        assert isinstance(part, ToolPart)
        if metadata:
            part = msgspec.structs.replace(part, metadata={**(part.metadata or {}), **metadata})
            self._parts[part.id] = part
        self.calls.append(CallDraft(part, "".join(block.pieces), complete))

    async def save(self) -> None:
        """Store the text that has streamed since the last time, and the parts that wait."""
        async with self._saving:
            tails = [
                (block.part.id, "".join(block.unsaved))
                for block in self._blocks.values()
                if block.unsaved
            ]
            for block in self._blocks.values():
                block.unsaved.clear()
            self._unsaved = 0
            await self._store(tails, "delta.saved")

    async def save_regularly(self) -> None:
        """Save text every half second and new calls sooner; runs beside the stream until it is
        cancelled. While nothing streams it sleeps.
        """
        while True:
            await self._something.wait()
            self._something.clear()
            left = SAVE_SECONDS
            while left > 0:
                await asyncio.sleep(min(SHOW_SECONDS, left))
                left = 0.0 if self._waiting else left - SHOW_SECONDS
            await self.save()

    async def put(self, part: Part, stored: Callable[[Transaction], None] | None = None) -> None:
        """Store `part` as it now is; `stored` is done in the same transaction."""
        self.put_later(part)
        if stored is not None:
            self._with_it.append(stored)
        await self._put_waiting()

    async def take_out(self, part: Part, stored: Callable[[Transaction], None]) -> None:
        """Remove a part that turned out to be wrong; `stored` is done in the same transaction."""
        self._parts.pop(part.id, None)
        self._waiting.pop(part.id, None)

        def store(tx: Transaction) -> None:
            check_held(tx, self._claim)
            transcript.remove_part(tx, part)
            stored(tx)

        async with self._saving:
            await self._database.write(store)

    def note_snapshot(self, before: str | None, after: str | None) -> None:
        """Remember what files were like when the step began, if that was not known, and are now."""
        start = next((p for p in self._parts.values() if isinstance(p, StepStartPart)), None)
        if before is not None and start is not None and start.snapshot is None:
            self.put_later(msgspec.structs.replace(start, snapshot=before))
        self.snapshot = after or self.snapshot

    async def _put_waiting(self) -> None:
        async with self._saving:
            await self._store([], "part.put")

    def put_later(self, part: Part) -> None:
        """Note `part` as it now is; the next write stores it."""
        self._parts[part.id] = part
        self._waiting[part.id] = part
        self._something.set()

    async def _store(self, tails: list[tuple[str, str]], point: str) -> None:
        write_parts, count = self._take_waiting()

        def store(tx: Transaction) -> None:
            sign = check_held(tx, self._claim)
            if now_ms() - sign > sign_ms(self._claim, ACTIVITY_MS):
                note_activity(tx, self._claim)
            write_parts(tx)
            for part_id, text in tails:
                transcript.append_tail(tx, part_id, text)
            failpoint(point)

        if count or tails:
            await self._database.write(store)

    def _take_waiting(self) -> tuple[Callable[[Transaction], None], int]:
        """What a transaction must do to store the parts that wait, and how many they are."""
        parts, self._waiting = tuple(self._waiting.values()), {}
        with_it, self._with_it = tuple(self._with_it), []

        def store(tx: Transaction) -> None:
            for part in parts:
                transcript.put_part(tx, part)
            for do in with_it:
                do(tx)

        return store, len(parts)

    async def set_tool(
        self,
        part_id: str,
        state: ToolState,
        *,
        later: bool = False,
        stored: Callable[[Transaction], None] | None = None,
    ) -> None:
        """Move a tool part to its next state; with `later` the next write stores it.

        `stored` is done in the transaction that does.
        """
        part = self._parts[part_id]
        assert isinstance(part, ToolPart)
        self.put_later(msgspec.structs.replace(part, state=state))
        if stored is not None:
            self._with_it.append(stored)
        if not later:
            await self._put_waiting()

    def close_open(self) -> None:
        """End what the stream left open, in memory; the next write stores it."""
        now = now_ms()
        for block in self._blocks.values():
            if isinstance(block.part, ToolPart):
                self._draft(block, {}, complete=False)
            else:
                self.put_later(_whole(block, now, None))
        self._blocks.clear()

    async def drop_attempt(self) -> None:
        """Take out every part of an attempt that failed before it had effects."""
        dropped = [part for part in self._parts.values() if not isinstance(part, StepStartPart)]
        for part in dropped:
            del self._parts[part.id]
        self._blocks.clear()
        self._waiting.clear()
        self.calls.clear()
        self._unsaved = 0

        def store(tx: Transaction) -> None:
            check_held(tx, self._claim)
            for part in dropped:
                transcript.remove_part(tx, part)

        if dropped:
            async with self._saving:
                await self._database.write(store)

    def doubt_last_call(self) -> None:
        """After an answer that hit its limit: a last call without arguments was cut before them."""
        if self.calls and not self.calls[-1].arguments.strip():
            self.calls[-1] = msgspec.structs.replace(self.calls[-1], complete=False)

    def finish(
        self, info: AssistantInfo, extra: tuple[Part, ...] = ()
    ) -> tuple[Message, Callable[[Transaction], None]]:
        """The finished message, and what a transaction must do to store its end.

        A call that has no result by now gets one: it was not run.
        """
        self.close_open()
        now = now_ms()
        unrun = [
            closed(part, now, never_started=NOT_RUN)
            for part in self._parts.values()
            if isinstance(part, ToolPart) and is_open(part)
        ]
        for part in (*unrun, *extra):
            self.put_later(part)
        write_parts, _ = self._take_waiting()
        self.info = info

        def store(tx: Transaction) -> None:
            write_parts(tx)
            transcript.update_message(tx, info)

        return self.message, store


def _whole(block: _Block, now: int, metadata: dict[str, Any] | None) -> Part:
    part = block.part
    assert isinstance(part, TextPart | ReasoningPart)
    span = Span(part.time.start if part.time else now, now)
    return msgspec.structs.replace(
        part, text="".join(block.pieces), time=span, metadata=metadata or part.metadata
    )

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
import streaming
from stage import Stage, answer_info, assert_laws, everybody_is_dead, prompt, run_python, was_killed
from streaming import THOUGHT, WORDS, record, stream

from roost.actors.models import Claim
from roost.actors.owner import Owner
from roost.core.errors import StaleFenceError
from roost.db.database import Database
from roost.events.bus import Bus, Subscription
from roost.events.types import Delta
from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
)
from roost.sessions.models import AssistantInfo, Message, MessageTime
from roost.sessions.parts import (
    ReasoningPart,
    Span,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolTime,
    is_open,
)
from roost.turn import recorder as recording
from roost.turn.recorder import NOT_RUN, Recorder
from roost.turn.reducer import StreamState, reduce

T = TypeVar("T")
STREAMING = Path(streaming.__file__)


class Desk:
    """A running turn with a recorder, the stored side of it, and what clients hear."""

    def __init__(self, stage: Stage, claim: Claim) -> None:
        self.stage = stage
        self.claim = claim
        self.bus = Bus()
        self.database = Database.open(stage.path, self.bus)
        self.info = answer_info(stage.session_id)
        self.recorder = Recorder(self.database, self.bus, claim, self.info)
        self.news: Subscription

    def stored(self) -> Message:
        return self.stage.history()[-1]

    async def finish(self) -> Message:
        ended: AssistantInfo = msgspec.structs.replace(self.info, time=MessageTime(1, 2))
        message, store = self.recorder.finish(ended)
        await self.database.write(store)
        return message

    def heard(self) -> list[str]:
        return [
            event.text if isinstance(event, Delta) else event.type for event in self.news.take()
        ]


def at_work(stage: Stage, play: Callable[[Desk], Awaitable[T]]) -> T:
    stage.send(prompt(stage.main, "go"))
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)

    async def go() -> T:
        desk = Desk(stage, claim)
        try:
            with desk.bus.subscribe(lambda _event: True) as desk.news:
                await desk.recorder.begin()
                desk.news.take()
                return await play(desk)
        finally:
            desk.database.close()

    return asyncio.run(go())


def text_of(message: Message, kind: Any = TextPart) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, kind))


def test_a_streamed_step_is_stored_as_it_was_streamed(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, stream())
        (call,) = desk.recorder.calls
        assert (call.part.call_id, call.arguments, call.complete) == (
            "call_1",
            streaming.ARGUMENTS,
            True,
        )
        done = ToolCompleted({"command": "ls"}, "a.txt", "ls", {}, ToolTime(1, 2))
        await desk.recorder.set_tool(call.part.id, done)
        message = await desk.finish()
        assert desk.stored() == message
        kinds = [type(part) for part in message.parts]
        assert kinds == [StepStartPart, ReasoningPart, TextPart, ToolPart]
        assert text_of(message) == WORDS
        assert text_of(message, ReasoningPart) == THOUGHT
        assert not any(is_open(part) for part in message.parts)

    at_work(stage, play)


def test_clients_hear_each_delta_at_once_between_the_opening_and_the_end_of_its_part(
    stage: Stage,
) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, [TextDelta("t", "Hel")])
        assert desk.heard() == ["message.part.updated", "Hel"]
        await record(desk.recorder, [TextDelta("u", "a"), TextDelta("u", "b"), TextEnd("u")])
        assert desk.heard() == ["message.part.updated", "ab", "message.part.updated"]

    at_work(stage, play)


def test_text_is_saved_whenever_four_kilobytes_have_come(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        state = StreamState()
        for number in range(1, 201):
            state, writes = reduce(state, TextDelta("t", "0123456789" * 10))
            await desk.recorder.write(writes)
            assert number * 100 - len(text_of(desk.stored())) < recording.SAVE_BYTES

    at_work(stage, play)


def test_a_slow_stream_is_saved_regularly(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "SAVE_SECONDS", 0.02)

    async def play(desk: Desk) -> None:
        saving = asyncio.create_task(desk.recorder.save_regularly())
        await record(desk.recorder, [TextDelta("t", "a few words")])
        async with asyncio.timeout(10):
            while text_of(desk.stored()) != "a few words":
                await asyncio.sleep(0.01)
        saving.cancel()

    at_work(stage, play)


def test_a_call_that_the_model_goes_on_writing_is_stored_and_shown_meanwhile(
    stage: Stage,
) -> None:
    async def play(desk: Desk) -> None:
        saving = asyncio.create_task(desk.recorder.save_regularly())
        await record(desk.recorder, [CallStart("c", "call_1", "write"), CallDelta("c", "{")])
        async with asyncio.timeout(10):
            while not isinstance(desk.stored().parts[-1], ToolPart):
                await asyncio.sleep(0.01)
            while not (heard := desk.heard()):  # it is told once it is stored
                await asyncio.sleep(0.01)
        assert heard == ["message.part.updated"]
        saving.cancel()

    at_work(stage, play)


def test_a_call_that_runs_at_once_is_shown_once_as_running_and_in_its_order(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(
            desk.recorder,
            [CallStart("c", "call_1", "bash"), CallEnd("c"), CallStart("d", "call_2", "read")],
        )
        assert desk.heard() == []
        first, _ = desk.recorder.message.parts[1:]
        await desk.recorder.set_tool(first.id, ToolRunning({}, Span(1)))
        states = [part.state for part in desk.stored().parts if isinstance(part, ToolPart)]
        assert [type(state) for state in states] == [ToolRunning, ToolPending]
        assert desk.heard() == ["message.part.updated", "message.part.updated"]

    at_work(stage, play)


def test_a_result_that_may_wait_is_stored_with_the_end_of_the_step(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, [CallStart("c", "call_1", "bash"), CallEnd("c")])
        (call,) = desk.recorder.calls
        await desk.recorder.set_tool(call.part.id, ToolRunning({}, Span(1)))
        before = desk.stored()
        done = ToolCompleted({}, "a.txt", "ls", {}, ToolTime(1, 2))
        await desk.recorder.set_tool(call.part.id, done, later=True)
        assert desk.stored() == before
        assert desk.recorder.message != before
        message = await desk.finish()
        assert desk.stored() == message
        assert not any(is_open(part) for part in message.parts)

    at_work(stage, play)


def test_what_the_stream_left_open_ends_with_it(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(
            desk.recorder,
            [
                ReasoningStart("r", {"id": "1"}),
                ReasoningDelta("r", "thinking"),
                TextDelta("t", "and saying"),
                CallStart("c", "call_1", "bash"),
                CallDelta("c", '{"comm'),
            ],
        )
        desk.recorder.close_open()
        (call,) = desk.recorder.calls
        assert not call.complete
        await desk.recorder.save()
        assert text_of(desk.stored()) == "and saying"
        failed = ToolFailed({}, "cut off", ToolTime(1, 2))
        await desk.recorder.set_tool(call.part.id, failed)
        message = await desk.finish()
        assert desk.stored() == message
        assert not any(is_open(part) for part in message.parts)

    at_work(stage, play)


def test_text_that_was_left_open_is_stored_with_the_result_of_the_first_tool(
    stage: Stage,
) -> None:
    async def play(desk: Desk) -> None:
        await record(
            desk.recorder,
            [TextDelta("t", "not ended"), CallStart("c", "call_1", "bash"), CallEnd("c")],
        )
        desk.recorder.close_open()
        (call,) = desk.recorder.calls
        await desk.recorder.set_tool(call.part.id, ToolPending({}, ""))
        (text,) = (part for part in desk.stored().parts if isinstance(part, TextPart))
        assert text.text == "not ended"
        assert not is_open(text)

    at_work(stage, play)


def test_a_call_that_was_never_run_has_an_end_all_the_same(stage: Stage) -> None:
    """As after a stream that failed for good, or that was cut because it repeated itself."""

    async def play(desk: Desk) -> None:
        await record(
            desk.recorder,
            [CallStart("c", "call_1", "bash"), CallEnd("c"), CallStart("d", "call_2", "read")],
        )
        message = await desk.finish()
        assert desk.stored() == message
        states = [part.state for part in message.parts if isinstance(part, ToolPart)]
        assert len(states) == 2
        for state in states:
            assert isinstance(state, ToolFailed)
            assert state.error == NOT_RUN
            assert state.metadata == {"interrupted": True}

    at_work(stage, play)


def test_an_attempt_that_failed_leaves_nothing_behind(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, stream()[:200])
        await desk.recorder.save()
        await desk.recorder.drop_attempt()
        assert [type(part) for part in desk.stored().parts] == [StepStartPart]
        assert desk.recorder.calls == []
        assert "message.part.removed" in desk.heard()
        await record(desk.recorder, [TextDelta("t", "again"), TextEnd("t")])
        message = await desk.finish()
        assert text_of(message) == "again"
        assert desk.stored() == message
        assert stage.read(lambda db: db.all("SELECT * FROM part_tail")) == []

    at_work(stage, play)


def test_text_is_made_safe_on_its_way_in(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, [TextDelta("t", "a\x00b\ud800"), TextEnd("t")])
        assert text_of(desk.stored()) == "a␀b\ufffd"
        assert "a␀b\ufffd" in desk.heard()

    at_work(stage, play)


def test_metadata_that_the_provider_wants_back_is_kept(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(
            desk.recorder,
            [
                ReasoningStart("r", {"id": "1"}),
                ReasoningDelta("r", "hm"),
                ReasoningEnd("r", {"signature": "s"}),
                TextDelta("t", "so"),
                TextEnd("t", {"phase": "final"}),
                CallStart("c", "call_1", "bash", {"a": 1}),
                CallEnd("c", {"b": 2}),
            ],
        )
        await desk.finish()
        found = [getattr(part, "metadata", None) for part in desk.stored().parts]
        assert found == [None, {"id": "1", "signature": "s"}, {"phase": "final"}, {"a": 1, "b": 2}]

    at_work(stage, play)


def test_arguments_without_end_are_kept_to_a_bound_and_count_as_cut(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_ARGUMENTS", 1_000)

    async def play(desk: Desk) -> None:
        flood = [CallDelta("c", "x" * 100) for _ in range(500)]
        await record(desk.recorder, [CallStart("c", "call_1", "bash"), *flood, CallEnd("c")])
        (call,) = desk.recorder.calls
        assert not call.complete
        assert len(call.arguments) <= 1_100

    at_work(stage, play)


def test_nothing_is_written_once_another_process_has_taken_over(stage: Stage) -> None:
    async def play(desk: Desk) -> None:
        await record(desk.recorder, [TextDelta("t", "mine"), CallStart("c", "call_1", "bash")])
        taken = stage.claim(owner="proc_two", is_dead=everybody_is_dead, reason="resume")
        assert taken is not None
        before = stage.history()
        other = Recorder(desk.database, desk.bus, desk.claim, answer_info(stage.session_id))
        part = desk.recorder.message.parts[-1]
        for write in (
            desk.recorder.save(),
            desk.recorder.put(part),
            desk.recorder.drop_attempt(),
            other.begin(),
        ):
            with pytest.raises(StaleFenceError):
                await write
        assert stage.history() == before

    at_work(stage, play)


# Kills

KILLS = ["step.begin", "part.put:1", "part.put:2", "part.put:4", "delta.saved:1", "delta.saved:3"]


@pytest.mark.parametrize("point", KILLS)
def test_a_kill_while_streaming_keeps_the_text_so_far_and_the_session_usable(
    stage: Stage, point: str
) -> None:
    accepted = [stage.send(prompt(stage.main, "go")).id]
    process = run_python(STREAMING, str(stage.path), failpoint=f"{point}=kill")
    assert was_killed(process), process.stderr
    me = Owner(stage.path.parent / "owners")
    stage.recover(me.is_dead)
    assert_laws(stage, accepted)
    history = stage.history()
    stage.recover(me.is_dead)
    assert stage.history() == history
    me.close()
    if point == "step.begin":
        assert len(history) == 1
        return
    said, thought = text_of(history[-1]), text_of(history[-1], ReasoningPart)
    assert WORDS.startswith(said)
    assert THOUGHT.startswith(thought)
    if point == "part.put:4":
        assert len(said) > len(WORDS) - recording.SAVE_BYTES
    if point == "delta.saved:3":
        assert said == ""
        assert len(thought) >= recording.SAVE_BYTES

"""A recorded answer says the same in whatever pieces it arrives."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from recorded_streams import DIALECTS, Told, Wire, answer, chunkings, even
from stage import Stage, answer_info, prompt

from roost.actors.models import Claim
from roost.core.text import clean
from roost.db.database import Database
from roost.events.bus import Bus
from roost.llm.models import Dialect, StreamEvent
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message, MessageTime
from roost.sessions.parts import ReasoningPart, TextPart, ToolPart
from roost.turn.recorder import Recorder
from roost.turn.reducer import StreamState, reduce
from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

SEEDS = 200
AT_ONCE = 25
SIZES = (0, 1, 5, 24)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(scenario("unused"), seed="replays", strict=False) as server:
        yield server


def told_by(wire: Wire, model: ScriptedModel, seed: int, size: int) -> tuple[bytes, Told]:
    reply = answer(random.Random(seed), size)
    model.use(lambda _: reply)
    body = wire.record()
    return body, wire.play([body])


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_cut_of_the_bytes_and_every_size_of_the_deltas_tells_the_same(
    model: ScriptedModel, dialect: Dialect, first: int
) -> None:
    wire = Wire(dialect, model.url)
    for seed in range(first, first + AT_ONCE):
        pick = random.Random(-seed - 1)
        body, whole = told_by(wire, model, seed, SIZES[seed % len(SIZES)])
        assert whole.blocks
        assert all(block.closed for block in whole.blocks), seed
        for chunks in chunkings(body, pick):
            assert wire.play(chunks) == whole, seed
        _, other = told_by(wire, model, seed, SIZES[(seed + 1) % len(SIZES)])
        assert other.words == whole.words, seed
        assert other.finish == whole.finish


async def stored(
    desk: Database, claim: Claim, info: AssistantInfo, events: list[StreamEvent]
) -> Message:
    """The message as the recorder leaves it in the database."""
    recorder = Recorder(desk, Bus(), claim, info)
    await recorder.begin()
    state = StreamState()
    for event in events:
        state, writes = reduce(state, event)
        await recorder.write(writes)
    _, store = recorder.finish(msgspec.structs.replace(info, time=MessageTime(1, 2)))
    await desk.write(store)
    messages = await desk.read(lambda db: transcript.load(db, info.session_id, "main"))
    return messages[-1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_stored_of_it_is_the_same_too(
    model: ScriptedModel, dialect: Dialect, tmp_path: Path
) -> None:
    wire = Wire(dialect, model.url)
    stage = Stage(tmp_path / "roost.db")
    stage.furnish()
    stage.send(prompt(stage.main, "go"))
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)

    async def play() -> None:
        database = Database.open(stage.path, Bus())
        for seed in range(6):
            body, whole = told_by(wire, model, seed, 3)
            for size in (len(body), 17, 1):
                info = answer_info(stage.session_id)
                message = await stored(database, claim, info, wire.events(even(body, size)))
                assert shown(message) == shown_of(whole)
        database.close()

    asyncio.run(play())
    stage.close()


def shown(message: Message) -> list[tuple[str, str]]:
    """The kinds and texts of the parts that a stream leaves; calls are told by their names."""
    found: list[tuple[str, str]] = []
    for part in message.parts:
        match part:
            case TextPart():
                found.append(("text", part.text))
            case ReasoningPart():
                found.append(("reasoning", part.text))
            case ToolPart():
                found.append(("call", f"{part.tool} {part.call_id}"))
            case _:
                pass
    return found


def shown_of(told: Told) -> list[tuple[str, str]]:
    return [
        (one.kind, f"{one.name} {one.id}" if one.kind == "call" else clean(one.text))
        for one in told.blocks
    ]

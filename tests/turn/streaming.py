"""Run by tests in a process of its own: stream a step into the database at argv[1]."""

import asyncio
import sys
from pathlib import Path

from stage import Stage, answer_info

from roost.actors.models import Claim
from roost.actors.owner import Owner
from roost.db.database import Database
from roost.events.bus import Bus
from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    StreamEvent,
    TextDelta,
    TextEnd,
)
from roost.turn.recorder import Recorder
from roost.turn.reducer import StreamState, reduce

THOUGHT = "".join(f"thought {n} " for n in range(900))
WORDS = "".join(f"word {n} " for n in range(1_200))
ARGUMENTS = '{"command":"ls"}'


def stream() -> list[StreamEvent]:
    """A step of thought, words and a call, in small deltas."""
    return [
        *(ReasoningDelta("r", THOUGHT[n : n + 50]) for n in range(0, len(THOUGHT), 50)),
        ReasoningEnd("r"),
        *(TextDelta("t", WORDS[n : n + 50]) for n in range(0, len(WORDS), 50)),
        TextEnd("t"),
        CallStart("c", "call_1", "bash"),
        *(CallDelta("c", letter) for letter in ARGUMENTS),
        CallEnd("c"),
        Finish("tool-calls"),
    ]


async def record(recorder: Recorder, events: list[StreamEvent]) -> None:
    state = StreamState()
    for event in events:
        state, writes = reduce(state, event)
        await recorder.write(writes)


async def play(path: Path, claim: Claim) -> None:
    bus = Bus()
    database = Database.open(path, bus)
    info = answer_info(claim.address.session_id)
    recorder = Recorder(database, bus, claim, info)
    await recorder.begin()
    await record(recorder, stream())
    _, store = recorder.finish(info)
    await database.write(store)
    database.close()


if __name__ == "__main__":
    stage = Stage(Path(sys.argv[1]))
    owner = Owner(stage.path.parent / "owners")
    claim = stage.claim(owner=owner.id, is_dead=owner.is_dead)
    assert claim is not None
    stage.drain(claim)
    asyncio.run(play(stage.path, claim))

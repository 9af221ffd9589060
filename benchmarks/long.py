"""Long sessions: what opening one costs, and what shortening one does."""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Figure, median
from roost.actors import store as actors
from roost.context.boundary import compose
from roost.context.checkpoint_store import Gathered, keep_ledger
from roost.context.ledger import Ledger
from roost.context.materials import collect
from roost.core.ids import new_id
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.inbox.models import Address
from roost.sessions import effective, transcript
from roost.sessions import store as sessions
from roost.sessions.models import (
    AssistantInfo,
    Message,
    MessagePath,
    MessageTime,
    ModelName,
    NewSession,
    UserInfo,
)
from roost.sessions.parts import (
    CompactionPart,
    Part,
    StepFinishPart,
    StepStartPart,
    TextPart,
    Tokens,
    ToolCompleted,
    ToolPart,
    ToolTime,
)

MESSAGES = 50_000
TAIL = 300
"""Messages that are shown since the conversation was last shortened."""
NEW = 400
"""Messages that one shortening has to gather from."""
BATCH = 1_000
TIMES = 9


def figures() -> list[Figure]:
    """Opening a session of 50,000 messages, and gathering the words for what came before."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Figure]:
    database = Database.open(folder / "bench.db", Bus())
    try:
        address = await database.write(_session)
        ids = await _fill(database, address, MESSAGES - TAIL)
        await database.write(lambda tx: _say(tx, address, _mark(address, ids[-1])))
        await _fill(database, address, TAIL)
        opening = await _timed(database, address)
        gathering = await _gathering(database, address, ids[-NEW])
    finally:
        database.close()
    return [
        Figure("opening a session of 50,000 messages", opening * 1000, 300.0, "ms"),
        Figure("gathering the words for 400 of them", gathering * 1000, 300.0, "ms", "no model"),
    ]


def _session(tx: Transaction) -> Address:
    session = sessions.create(tx, NewSession(directory="/tmp", project_id="bench"))
    actors.register(tx, actors.new_main(session.id, "build"))
    return Address(session.id, "main")


async def _fill(database: Database, address: Address, count: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))

        def write(tx: Transaction, numbers: range = numbers) -> None:
            ids.extend(_say(tx, address, _message(address, number)) for number in numbers)

        await database.write(write)
    return ids


def _say(tx: Transaction, address: Address, message: Message) -> str:
    transcript.append_message(tx, message, actor_id=address.actor_id, turn_id=None)
    return message.info.id


def _message(address: Address, number: int) -> Message:
    place = (address.session_id, new_id("message"))
    if number % 20 == 0:
        return _said(place, TextPart(new_id("part"), *place, f"Never do {number}. Go on."))
    state = ToolCompleted(
        {"command": f"make test-{number}"}, f"{number} passed\n" * 20, "", {}, ToolTime(1, 2)
    )
    parts: tuple[Part, ...] = (
        StepStartPart(new_id("part"), *place),
        TextPart(new_id("part"), *place, f"I look at file {number} and decided to keep it."),
        ToolPart(new_id("part"), *place, f"call_{number}", "bash", state),
        StepFinishPart(new_id("part"), *place, "tool-calls", 0.001, Tokens(100, 10)),
    )
    info = AssistantInfo(
        *(place[1], place[0], MessageTime(1, 2), "", "model", "test", "build", "build"),
        *(MessagePath("/tmp", "/tmp"), 0.001, Tokens(100, 10)),
    )
    return Message(info, parts)


def _said(place: tuple[str, str], *parts: Part) -> Message:
    info = UserInfo(place[1], place[0], MessageTime(1), "build", ModelName("test", "model"))
    return Message(info, parts)


def _mark(address: Address, tail: str) -> Message:
    place = (address.session_id, new_id("message"))
    mark = CompactionPart(new_id("part"), *place, True, tail_start_id=tail)
    return _said(place, mark, TextPart(new_id("part"), *place, "what was before", synthetic=True))


async def _timed(database: Database, address: Address) -> float:
    times: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await database.read(lambda db: effective.load(db, address.session_id, address.actor_id))
        times.append(time.perf_counter() - began)
    return median(times)


async def _gathering(database: Database, address: Address, since: str) -> float:
    await database.write(lambda tx: keep_ledger(tx, address, Gathered(Ledger(), since)))
    times: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        found = await database.read(lambda db: collect(db, address, ()))
        compose(found.materials, 40_000)
        times.append(time.perf_counter() - began)
    return median(times)

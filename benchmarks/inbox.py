"""The inbox: how long from a send to the receiver's history, and how many a second."""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Figure, median
from roost.actors import store as actors
from roost.actors.send import send
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.inbox.drain import drain
from roost.inbox.models import Address, Letter, NoteBody
from roost.sessions import store as sessions
from roost.sessions.models import ModelName, NewSession

SINGLE = 300
BURST = 6_000
SENDERS = 10
MODEL = ModelName("test", "model")


def figures() -> list[Figure]:
    """Latency of one message and throughput of many."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Figure]:
    database = Database.open(folder / "bench.db", Bus())
    try:
        address = await database.write(_receiver)
        single = await _one_by_one(database, address)
        rate = await _burst(database, address)
    finally:
        database.close()
    return [
        Figure("inbox: send → history, median", single * 1000, 2.0, "ms"),
        Figure(
            "inbox: time for 3,000 messages, sustained", 3_000 / rate, 1.0, "s", f"{rate:,.0f}/s"
        ),
    ]


def _receiver(tx: Transaction) -> Address:
    session = sessions.create(tx, NewSession(directory="/tmp", project_id="bench"))
    actors.register(tx, actors.new_main(session.id, "build"))
    return Address(session.id, "main")


def _letter(address: Address, number: int) -> Letter:
    return Letter(
        receiver=address, kind="message", body=NoteBody(f"message {number} at {now_ms()}")
    )


async def _one_by_one(database: Database, address: Address) -> float:
    turn = new_id("turn")
    times: list[float] = []
    for number in range(SINGLE):
        letter = _letter(address, number)
        began = time.perf_counter()
        await database.write(lambda tx, letter=letter: send(tx, letter))
        await database.write(lambda tx: drain(tx, address, turn, agent="build", model=MODEL))
        times.append(time.perf_counter() - began)
    return median(times)


async def _burst(database: Database, address: Address) -> float:
    """Messages a second when several actors send and the receiver drains beside them."""
    turn = new_id("turn")
    done = 0

    async def receive() -> None:
        nonlocal done
        while done < BURST:
            messages = await database.write(
                lambda tx: drain(tx, address, turn, agent="build", model=MODEL)
            )
            done += sum(len(message.parts) for message in messages)
            await asyncio.sleep(0.002)

    async def say(first: int) -> None:
        for number in range(first, BURST, SENDERS):
            letter = _letter(address, number)
            await database.write(lambda tx, letter=letter: send(tx, letter))
            while number - done > 500:
                await asyncio.sleep(0.001)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        group.create_task(receive())
        for first in range(SENDERS):
            group.create_task(say(first))
    return BURST / (time.perf_counter() - began)

"""A damaged row of a request hides no other; it can be refused, and nobody can agree to it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from test_asks_gate import Desk, at_a_desk, outcome

from roost.core.errors import ConflictError
from roost.db.transaction import Transaction
from roost.permissions import asks
from roost.permissions.asks import Ask

DAMAGED = ["{", "", "null", "[]", '"bash"']


async def damage(desk: Desk, ask: Ask, **columns: Any) -> None:
    def change(tx: Transaction) -> None:
        for column, value in columns.items():
            tx.run(f"UPDATE ask SET {column} = ? WHERE id = ?", (value, ask.id))

    await desk.database.write(change)


@pytest.mark.parametrize("data", DAMAGED)
def test_one_that_cannot_be_read_is_listed_and_only_refused(tmp_path: Path, data: str) -> None:
    async def play(desk: Desk) -> None:
        first = asyncio.create_task(outcome(desk.check("make one")))
        await desk.open()
        second = asyncio.create_task(outcome(desk.check("make two")))
        one, _ = await desk.open(2)
        await damage(desk, one, request=data)
        damaged, sound = await desk.open(2)
        assert damaged.request["id"] == one.id
        assert "damaged" in damaged.request["metadata"]["title"]
        assert damaged.forced
        assert sound.request["patterns"] == ["make two"]
        for answer in ("once", "always"):
            with pytest.raises(ConflictError, match="nobody can tell what it asks"):
                await desk.reply(damaged, answer)
        await desk.reply(sound, "once")
        await desk.reply(damaged, "reject", "try again")
        assert await second == "allowed"
        assert await first == "rejected, go on: The user refused this and says: try again"

    at_a_desk(tmp_path, play)


@pytest.mark.parametrize("data", DAMAGED[:1] + DAMAGED[2:])
def test_an_answer_that_cannot_be_read_is_none_that_allows(tmp_path: Path, data: str) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("make one")))
        (one,) = await desk.open()
        await damage(desk, one, answer=data, state="answered")
        assert (await waiting).startswith("rejected")
        asked = asyncio.create_task(desk.gate.question([{"question": "Which?"}], desk.by()))
        (two,) = await desk.open()
        await damage(desk, two, answer=data, state="answered")
        with pytest.raises(asks.RejectedError):
            await asked

    at_a_desk(tmp_path, play)


def test_a_state_that_is_not_known_ends_the_wait(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("make one")))
        (one,) = await desk.open()
        await damage(desk, one, state="pondered")
        assert await waiting == "rejected, stop: The request was withdrawn."

    at_a_desk(tmp_path, play)


def test_one_that_cannot_be_read_is_closed_with_its_turn(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("make one")))
        (one,) = await desk.open()
        await damage(desk, one, request="{", kind="whim")
        assert one.turn_id is not None
        await desk.database.write(lambda tx: asks.withdraw_open(tx, one.turn_id or ""))
        assert await waiting == "rejected, stop: The request was withdrawn."
        assert await desk.database.read(asks.listed) == []

    at_a_desk(tmp_path, play)

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import migrating
import pytest
from migrating import damage_a_table
from stage import run_python, was_killed

from roost.core.errors import NotFoundError, StorageError
from roost.db.database import Database
from roost.db.transaction import Reader, Transaction
from roost.events.bus import Bus
from roost.events.types import Event

T = TypeVar("T")


class Place:
    """An open database and everything its bus has said."""

    def __init__(self, path: Path) -> None:
        self.bus = Bus()
        self.database = Database.open(path, self.bus)

    async def keys(self) -> list[str]:
        rows = await self.database.read(
            lambda db: db.all("SELECT key FROM meta WHERE key != 'schema' ORDER BY key")
        )
        return [row["key"] for row in rows]


def in_a_database(path: Path, play: Callable[[Place], Awaitable[T]]) -> T:
    async def go() -> T:
        place = Place(path / "roost.db")
        try:
            return await play(place)
        finally:
            place.database.close()

    return asyncio.run(go())


def add(name: str, *, tell: bool = True) -> Callable[[Transaction], str]:
    def transaction(tx: Transaction) -> str:
        tx.run("INSERT INTO meta (key, value) VALUES (?, '')", (name,))
        if tell:
            tx.emit(Event("added", {"name": name}))
        return name

    return transaction


def names(events: list[Event]) -> list[str]:
    return [event.properties["name"] for event in events if event.type == "added"]


def test_events_come_after_the_commit_and_in_its_order(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        seen: list[str] = []
        with place.bus.subscribe(lambda _event: True) as news:

            async def watch() -> None:
                while len(seen) < 50:
                    batch = names(await news.batch())
                    stored = set(await place.keys())
                    assert stored.issuperset(batch)
                    seen.extend(batch)

            async with asyncio.TaskGroup() as group:
                group.create_task(watch())
                for number in range(50):
                    group.create_task(place.database.write(add(f"{number:02}")))
        assert seen == [f"{number:02}" for number in range(50)]

    in_a_database(tmp_path, play)


def test_nothing_is_written_or_told_when_a_transaction_fails(tmp_path: Path) -> None:
    def fails(tx: Transaction) -> None:
        add("half")(tx)
        raise NotFoundError("changed my mind")

    async def play(place: Place) -> None:
        with place.bus.subscribe(lambda _event: True) as news:
            with pytest.raises(NotFoundError, match="changed my mind"):
                await place.database.write(fails)
            await place.database.write(add("whole"))
            assert names(news.take()) == ["whole"]
        assert await place.keys() == ["whole"]

    in_a_database(tmp_path, play)


@pytest.mark.parametrize(
    ("transaction", "error"),
    [
        (lambda tx: tx.run("INSERT INTO meta (key) VALUES ('no value')"), sqlite3.IntegrityError),
        (lambda tx: tx.run("SELECT * FROM nowhere"), StorageError),
        (lambda tx: tx.run("UPDATE meta SET value = ?", ("\ud800",)), UnicodeEncodeError),
        (lambda tx: tx.emit(Event("bad", {"text": "\ud800"})), UnicodeEncodeError),
        (lambda _tx: (_ for _ in ()).throw(KeyboardInterrupt()), KeyboardInterrupt),
    ],
    ids=["integrity", "sql", "surrogate in a value", "surrogate in an event", "interrupt"],
)
def test_an_error_goes_to_its_caller_and_the_writer_goes_on(
    tmp_path: Path, transaction: Callable[[Transaction], Any], error: type[BaseException]
) -> None:
    def fails(tx: Transaction) -> None:
        add("half")(tx)
        transaction(tx)

    async def play(place: Place) -> None:
        caught: BaseException | None = None
        try:
            await place.database.write(fails)
        except BaseException as raised:
            caught = raised
        assert isinstance(caught, error)
        assert await place.database.write(add("next")) == "next"
        assert await place.keys() == ["next"]

    in_a_database(tmp_path, play)


def test_the_transaction_of_a_cancelled_caller_still_runs_to_its_end(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        with place.bus.subscribe(lambda _event: True) as news:
            caller = asyncio.create_task(place.database.write(add("asked")))
            await asyncio.sleep(0)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            await place.database.write(add("later"))
            assert names(news.take()) == ["asked", "later"]
        assert await place.keys() == ["asked", "later"]

    in_a_database(tmp_path, play)


def test_a_fault_in_one_subscriber_leaves_no_writer_waiting(tmp_path: Path) -> None:
    def refuses(_event: Event) -> bool:
        raise RuntimeError("a subscriber with a defect")

    async def play(place: Place) -> list[str]:
        told: list[str] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, context: told.append(str(context["exception"]))
        )
        with place.bus.subscribe(refuses):
            writes = [place.database.write(add(f"{number}")) for number in range(3)]
            assert await asyncio.wait_for(asyncio.gather(*writes), 5) == ["0", "1", "2"]
        return told

    assert in_a_database(tmp_path, play) == ["a subscriber with a defect"] * 3


def test_a_read_sees_one_state_though_others_write_meanwhile(tmp_path: Path) -> None:
    async def play(place: Place) -> tuple[int, int, int]:
        loop = asyncio.get_running_loop()

        def count(db: Reader) -> int:
            row = db.one("SELECT count(*) AS n FROM meta")
            assert row is not None
            return row["n"]

        def read_around_a_write(db: Reader) -> tuple[int, int]:
            before = count(db)
            written = asyncio.run_coroutine_threadsafe(place.database.write(add("between")), loop)
            written.result(timeout=10)
            return before, count(db)

        before, after = await place.database.read(read_around_a_write)
        return before, after, await place.database.read(count)

    assert in_a_database(tmp_path, play) == (1, 1, 2)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    def sneak(db: Reader) -> None:
        db.one("INSERT INTO meta (key, value) VALUES ('x', '') RETURNING key")

    async def play(place: Place) -> None:
        with pytest.raises(StorageError, match="read-only"):
            await place.database.read(sneak)
        assert await place.keys() == []

    in_a_database(tmp_path, play)


def test_closing_finishes_what_was_asked_for_and_then_refuses(tmp_path: Path) -> None:
    async def go() -> None:
        place = Place(tmp_path / "roost.db")
        asked = [asyncio.create_task(place.database.write(add(f"{n:02}"))) for n in range(20)]
        await asyncio.sleep(0)
        place.database.close()
        place.database.close()
        assert await asyncio.gather(*asked) == [f"{n:02}" for n in range(20)]
        for refused in (place.database.write(add("late")), place.database.read(lambda _db: None)):
            with pytest.raises(StorageError, match="is closed"):
                await refused

    asyncio.run(go())
    assert len(in_a_database(tmp_path, Place.keys)) == 20
    assert not (tmp_path / "roost.db-wal").exists()


@pytest.mark.parametrize("how", ["read", "write"])
def test_damage_that_is_met_is_noted_for_the_next_opening(tmp_path: Path, how: str) -> None:
    in_a_database(tmp_path, Place.keys)
    damage_a_table(tmp_path / "roost.db", "inbox")

    async def meet(place: Place) -> None:
        assert place.database.notes == ()
        ask = place.database.read if how == "read" else place.database.write
        with pytest.raises(StorageError, match="damaged"):
            await ask(lambda db: db.all("SELECT * FROM inbox"))

    in_a_database(tmp_path, meet)

    async def notes(place: Place) -> tuple[str, ...]:
        assert await place.keys() == []
        return place.database.notes

    (told,) = in_a_database(tmp_path, notes)
    assert "set aside" in told


@pytest.mark.parametrize(("point", "kept"), [("commit.before", False), ("commit.after", True)])
def test_a_kill_at_the_commit_keeps_all_of_it_or_nothing(
    tmp_path: Path, point: str, kept: bool
) -> None:
    in_a_database(tmp_path, Place.keys)
    script = Path(migrating.__file__)
    process = run_python(script, str(tmp_path / "roost.db"), "note", failpoint=f"{point}=kill")
    assert was_killed(process)
    assert len(in_a_database(tmp_path, Place.keys)) == kept


def test_the_log_does_not_grow_with_what_is_written(tmp_path: Path) -> None:
    async def play(place: Place) -> int:
        text = "x" * 200_000
        for number in range(240):
            await place.database.write(
                lambda tx, n=number: tx.run(
                    "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"{n % 3}", text)
                )
            )
            await place.keys()
        return (tmp_path / "roost.db-wal").stat().st_size

    assert in_a_database(tmp_path, play) < 20_000_000


def test_the_file_shrinks_after_much_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"

    async def fill(place: Place) -> None:
        for number in range(30):
            await place.database.write(add("x" * 500_000 + str(number), tell=False))

    async def empty(place: Place) -> None:
        await place.database.write(lambda tx: tx.run("DELETE FROM meta WHERE key != 'schema'"))

    in_a_database(tmp_path, fill)
    full = path.stat().st_size
    in_a_database(tmp_path, empty)
    assert path.stat().st_size < full / 10
    assert in_a_database(tmp_path, Place.keys) == []

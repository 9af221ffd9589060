"""A folder where the shared index of the log should be is what a file system without shared memory
looks like to SQLite: `PRAGMA journal_mode=WAL` succeeds, and the first write fails.
"""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from roost.db.database import Database
from roost.db.opening import open_file
from roost.db.transaction import Reader
from roost.events.bus import Bus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "roost.db-shm").mkdir()
    return tmp_path / "roost.db"


def journal_of(connection: sqlite3.Connection) -> str:
    return connection.execute("PRAGMA journal_mode").fetchone()[0]


def test_the_program_works_on_a_slower_journal_and_says_so(path: Path) -> None:
    opened = open_file(path)
    assert journal_of(opened.connection) == "truncate"
    assert "write-ahead" in opened.notes[0]
    assert str(path) in opened.notes[0]
    opened.connection.execute("INSERT INTO meta (key, value) VALUES ('a', 'b')")
    opened.connection.close()


def test_what_was_chosen_for_a_file_stays(path: Path) -> None:
    first = open_file(path)
    (path.parent / "roost.db-shm").rmdir()
    second = open_file(path)
    assert journal_of(second.connection) == "truncate"
    for opened in (first, second):
        with opened.connection:
            opened.connection.execute("INSERT INTO meta (key, value) VALUES (?, '')", (id(opened),))
    assert second.connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 3
    first.connection.close()
    second.connection.close()


def test_a_database_that_moved_there_from_a_good_disk_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    opened = open_file(path)
    assert opened.notes == ()
    opened.connection.execute("INSERT INTO meta (key, value) VALUES ('kept', '')")
    opened.connection.close()
    (tmp_path / "roost.db-shm").mkdir()
    moved = open_file(path)
    assert journal_of(moved.connection) == "truncate"
    assert moved.connection.execute("SELECT 1 FROM meta WHERE key = 'kept'").fetchone()
    moved.connection.execute("DELETE FROM meta WHERE key = 'kept'")
    moved.connection.close()


def test_readers_and_writers_wait_for_each_other_and_none_fails(path: Path) -> None:
    async def go() -> tuple[int, set[bool]]:
        database = Database.open(path, Bus())
        agreed: set[bool] = set()

        def count_twice(db: Reader) -> bool:
            sql = "SELECT count(*) AS n FROM meta"
            return db.all(sql)[0]["n"] == db.all(sql)[0]["n"]

        async def write(number: int) -> None:
            await database.write(
                lambda tx: tx.run("INSERT INTO meta (key, value) VALUES (?, '')", (f"n{number}",))
            )

        async def read() -> None:
            agreed.add(await database.read(count_twice))

        await asyncio.gather(*(write(n) for n in range(60)), *(read() for _ in range(60)))
        row = await database.read(lambda db: db.one("SELECT count(*) AS n FROM meta"))
        database.close()
        assert row is not None
        return row["n"], agreed

    assert asyncio.run(go()) == (61, {True})

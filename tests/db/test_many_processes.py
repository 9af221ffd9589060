import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from migrating import NEWER
from stage import Stage

from roost.core.errors import StorageError
from roost.db.connect import patiently
from roost.db.database import Database
from roost.db.migrations import MIGRATIONS, version_of
from roost.db.opening import open_file
from roost.events.bus import Bus

MIGRATING = Path(__file__).with_name("migrating.py")


def start(path: Path, *what: str, failpoint: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "ROOST_FAILPOINT": failpoint}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, str(MIGRATING), str(path), *what],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    ended = [process.communicate(timeout=60) for process in processes]
    assert [
        (process.returncode, err) for process, (_, err) in zip(processes, ended, strict=True)
    ] == [(0, "")] * len(processes)
    return [out for out, _ in ended]


def names_in(path: Path) -> int:
    opened = open_file(path)
    row = opened.connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'process-%'")
    count = int(row.fetchone()[0])
    assert opened.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    opened.connection.close()
    return count


def test_eight_processes_may_open_a_fresh_home_at_once(tmp_path: Path) -> None:
    path = tmp_path / "home" / "roost.db"
    said = outputs([start(path, "note") for _ in range(8)])
    assert set(said) == {"\n"}
    assert names_in(path) == 8


def test_eight_processes_that_meet_a_damaged_file_set_it_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    path.write_bytes(b"damaged " * 2_000)
    said = outputs([start(path, "note") for _ in range(8)])
    assert sum("set aside" in out for out in said) >= 1
    (aside,) = tmp_path.glob("roost.db.damaged-*")
    assert aside.read_bytes() == b"damaged " * 2_000
    assert names_in(path) == 8


def test_processes_that_upgrade_at_once_upgrade_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "roost.db")
    stage.furnish()
    stage.close()
    slowly = "migrate.copied=sleep:400"
    outputs([start(stage.path, "upgrade", failpoint=slowly) for _ in range(3)])
    opened = open_file(stage.path, NEWER)
    assert version_of(opened.connection) == len(NEWER)
    opened.connection.close()
    copy = open_file(tmp_path / f"roost.db.before-{len(MIGRATIONS) + 1}")
    assert version_of(copy.connection) == len(MIGRATIONS)
    copy.connection.close()


def test_a_long_writer_elsewhere_delays_a_write_and_does_not_fail_it(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    open_file(path).connection.close()
    other = start(path, "hold")
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    release = other.stdin

    async def keys(database: Database) -> list[str]:
        rows = await database.read(lambda db: db.all("SELECT key FROM meta ORDER BY key"))
        return [row["key"] for row in rows]

    async def go() -> list[str]:
        database = Database.open(path, Bus())
        writing = asyncio.create_task(
            database.write(lambda tx: tx.run("INSERT INTO meta (key, value) VALUES ('me', '')"))
        )
        await asyncio.sleep(0.2)
        assert not writing.done()
        assert await keys(database) == ["schema"]
        release.write("go\n")
        release.flush()
        await writing
        found = await keys(database)
        database.close()
        return found

    assert asyncio.run(go()) == ["long", "me", "schema"]
    outputs([other])


def test_waiting_for_a_lock_is_bounded_and_ends_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    holder, waiter = open_file(path).connection, open_file(path).connection
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="held the lock") as caught:
        patiently(lambda: waiter.execute("BEGIN IMMEDIATE"), path, limit=0.1)
    assert str(path) in caught.value.message
    holder.execute("ROLLBACK")
    patiently(lambda: waiter.execute("BEGIN IMMEDIATE"), path, limit=0.1)
    holder.close()
    waiter.close()

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import pytest

from roost.core.errors import StorageError
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.events.types import Event


async def fill(database: Database, size: int) -> int:
    """Write pairs of rows until there is no room, and tell how many pairs were accepted."""

    def pair(tx: Transaction, number: int) -> None:
        for half in ("a", "b"):
            tx.run("INSERT INTO meta (key, value) VALUES (?, ?)", (f"{number}{half}", "x" * size))
        tx.emit(Event("pair", {"number": number}))

    accepted = 0
    refused: StorageError | None = None
    while refused is None:
        try:
            await database.write(lambda tx, number=accepted: pair(tx, number))
            accepted += 1
        except StorageError as error:
            refused = error
    assert str(database.path) in refused.message
    assert refused.hint
    return accepted


async def assert_only_whole_pairs(database: Database, pairs: int) -> None:
    rows = await database.read(lambda db: db.all("SELECT key FROM meta WHERE key != 'schema'"))
    assert len(rows) == 2 * pairs
    check = await database.read(lambda db: db.all("PRAGMA integrity_check"))
    assert check[0][0] == "ok"


async def play(database: Database, bus: Bus, make_room: Callable[[], Awaitable[None]]) -> None:
    with bus.subscribe(lambda _event: True) as news:
        accepted = await fill(database, 20_000)
        assert accepted > 2
        assert len(news.take()) == accepted
    await assert_only_whole_pairs(database, accepted)
    await make_room()
    await database.write(
        lambda tx: tx.run("INSERT INTO meta (key, value) VALUES ('la', ''), ('lb', '')")
    )
    await assert_only_whole_pairs(database, accepted + 1)


def test_a_full_database_says_so_writes_no_half_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        bus = Bus()
        database = Database.open(tmp_path / "roost.db", bus)

        async def limit(pages: int) -> None:
            await database.write(lambda tx: tx.all(f"PRAGMA max_page_count = {pages}"))

        await limit(300)
        await play(database, bus, lambda: limit(100_000))
        database.close()

    asyncio.run(go())


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "roost-test", str(place)]
    done = subprocess.run(mount, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("this user may not mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_says_so_writes_no_half_and_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    async def go() -> None:
        other = small_disk / "something-else"
        other.write_bytes(b"x" * 2_000_000)
        bus = Bus()
        database = Database.open(small_disk / "roost.db", bus)

        async def make_room() -> None:
            other.unlink()

        await play(database, bus, make_room)
        database.close()
        other.write_bytes(b"x" * 1_000)
        again = Database.open(small_disk / "roost.db", Bus())
        assert again.notes == ()
        again.close()

    asyncio.run(go())


def test_a_disk_that_is_full_from_the_start_is_named(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "all").write_bytes(b"x" * 5_000_000)
    with pytest.raises(StorageError) as caught:
        Database.open(small_disk / "roost.db", Bus())
    assert str(small_disk / "roost.db") in caught.value.message
    (small_disk / "all").unlink()
    Database.open(small_disk / "roost.db", Bus()).close()

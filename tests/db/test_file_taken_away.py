"""The file of an open database is removed or replaced by others: what is written then is lost."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from test_transactions import Place, add, in_a_database

from roost.core.errors import StorageError
from roost.db.opening import open_file

GONE = "was removed or replaced while it was in use"


def removed(path: Path) -> None:
    shutil.rmtree(path.parent)


def moved(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replaced(path: Path) -> None:
    moved(path)
    open_file(path).connection.close()


def unlinked(path: Path) -> None:
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


def keys(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT key FROM meta WHERE key != 'schema'").fetchall()
    connection.close()
    return [row[0] for row in rows]


@pytest.mark.parametrize("take_away", [removed, moved, replaced, unlinked])
def test_a_write_that_nobody_could_read_again_is_refused(
    tmp_path: Path, take_away: Callable[[Path], None]
) -> None:
    path = tmp_path / "home" / "roost.db"

    async def play(place: Place) -> None:
        await place.database.write(add("kept"))
        take_away(path)
        for _ in range(2):
            with pytest.raises(StorageError, match=GONE):
                await place.database.write(add("lost"))

    in_a_database(path.parent, play)
    if take_away is moved:
        assert keys(tmp_path / "elsewhere" / path.name) == ["kept"]
    elif take_away is replaced:
        assert keys(path) == []
    else:
        assert not path.exists()


def test_a_connection_that_is_opened_then_makes_no_new_file(tmp_path: Path) -> None:
    path = tmp_path / "home" / "roost.db"

    async def play(place: Place) -> None:
        unlinked(path)
        with pytest.raises(StorageError, match=GONE):
            await place.keys()

    in_a_database(path.parent, play)
    assert not path.exists()


def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "home" / "roost.db"

    async def play(place: Place) -> None:
        moved(path)
        with pytest.raises(StorageError, match=GONE):
            await place.database.write(add("lost"))
        path.parent.with_name("elsewhere").rename(path.parent)
        await place.database.write(add("kept"))

    in_a_database(path.parent, play)
    assert keys(path) == ["kept"]

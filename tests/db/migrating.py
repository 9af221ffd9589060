"""Run by tests in processes of their own: open the database at argv[1], and do argv[2] with it."""

import asyncio
import sqlite3
import sys
import time
from pathlib import Path

from roost.db.database import Database
from roost.db.migrations import MIGRATIONS
from roost.db.opening import open_file
from roost.events.bus import Bus


def add_colour(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE session ADD COLUMN colour TEXT")


def add_sound(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE sound (id INTEGER PRIMARY KEY)")
    connection.execute("UPDATE meta SET value = value")


NEWER = (*MIGRATIONS, add_colour, add_sound)


def damage_a_table(path: Path, name: str) -> None:
    """Overwrite the first page of a table of a closed database."""
    connection = sqlite3.connect(path)
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,))
    page = root.fetchone()[0] - 1
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    with path.open("r+b") as file:
        file.seek(page * size)
        file.write(b"\xff" * size)


async def note(path: Path) -> None:
    database = Database.open(path, Bus())
    name = f"process-{time.time_ns()}"
    await database.write(lambda tx: tx.run("INSERT INTO meta (key, value) VALUES (?, '')", (name,)))
    print(*database.notes)
    database.close()


def hold(path: Path) -> None:
    """Be the long writer, until somebody says a word."""
    connection = open_file(path).connection
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO meta (key, value) VALUES ('long', '')")
    print("held", flush=True)
    input()
    connection.execute("COMMIT")


if __name__ == "__main__":
    where, what = Path(sys.argv[1]), sys.argv[2]
    if what == "upgrade":
        open_file(where, NEWER)
    elif what == "hold":
        hold(where)
    else:
        asyncio.run(note(where))

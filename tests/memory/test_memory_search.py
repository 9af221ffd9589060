import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.db.connect import connect
from roost.memory import reconcile, search, writer
from roost.memory.index import Index
from roost.memory.layout import Layout, Whose
from roost.memory.search import MemoryHit

MINE = Whose("p1", "ses_1")


class Shelf:
    """Files of memory and their index."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder / "data")
        self.index = Index(folder / "cache" / "search.db")

    def put(self, name: str, text: str) -> Path:
        path = self.layout.locate(name, MINE).path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def settle(self, path: Path) -> os.stat_result:
        """Let `path` be old enough that its times are believed."""
        deadline = time.monotonic() + 10
        while time.time_ns() // 1_000_000 - path.stat().st_ctime_ns // 1_000_000 < (
            reconcile.SETTLED
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return path.stat()

    def find(self, words: str, **more: Any) -> list[MemoryHit]:
        return search.search(self.index, self.layout, words, MINE, **more)

    def names(self, words: str, **more: Any) -> list[str]:
        return [one.file.name for one in self.find(words, **more)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.index.close()


def test_sections_are_found_not_files(shelf: Shelf) -> None:
    shelf.put("project/MEMORY.md", "# P\n\n## Ports\n\nuse 8080\n\n## Style\n\ntabs\n")
    (hit,) = shelf.find("8080")
    assert (hit.found.heading, hit.found.line) == ("Ports", 3)
    assert hit.hit.snippet.marked() == "use «8080»"
    assert shelf.find("Style")[0].found.text == "## Style\n\ntabs\n"


def test_ones_own_is_searched_and_others_only_when_asked(shelf: Shelf) -> None:
    for name in ("project/MEMORY.md", "projects/p2/MEMORY.md", "global/MEMORY.md"):
        shelf.put(name, "the needle\n")
    for name in ("session/notes.md", "sessions/ses_2/notes.md", "session/tasks/T1/progress.md"):
        shelf.put(name, "the needle\n")
    own = {
        "project/MEMORY.md",
        "global/MEMORY.md",
        "session/notes.md",
        "session/tasks/T1/progress.md",
    }
    assert set(shelf.names("needle")) == own
    assert set(shelf.names("needle", reach="project")) == {"project/MEMORY.md"}
    assert set(shelf.names("needle", reach="all")) == own | {
        "projects/p2/MEMORY.md",
        "sessions/ses_2/notes.md",
    }
    assert len(shelf.names("needle", reach="all", limit=2)) == 2


def test_only_files_of_the_scope_that_is_asked_for_are_looked_at(shelf: Shelf) -> None:
    for number in range(50):
        shelf.put(f"sessions/ses_x{number}/notes.md", "needle\n")
    shelf.put("session/notes.md", "needle\n")
    assert shelf.names("needle") == ["session/notes.md"]
    with sqlite3.connect(shelf.index.path) as connection:
        assert connection.execute("SELECT count(*) FROM memory_file").fetchone() == (1,)
    connection.close()


def test_a_change_is_found_and_what_it_replaced_is_not(shelf: Shelf) -> None:
    path = shelf.put("session/notes.md", "# A\n\nalpha\n")
    assert shelf.names("alpha")
    path.write_text("# A\n\nbravo\n")
    assert shelf.names("bravo")
    assert shelf.names("alpha") == []
    path.unlink()
    assert shelf.names("bravo") == []


def test_an_edit_of_the_same_size_and_time_is_seen(shelf: Shelf) -> None:
    path = shelf.put("session/notes.md", "alpha\n")
    before = shelf.settle(path)
    assert shelf.names("alpha")
    path.write_text("bravo\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = shelf.settle(path)
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert shelf.names("bravo")
    assert shelf.names("alpha") == []


def test_an_edit_within_one_tick_of_the_clock_is_seen(shelf: Shelf) -> None:
    path = shelf.put("session/notes.md", "alpha\n")
    for word in ("bravo", "gamma", "delta"):
        path.write_text(f"{word}\n")
        assert shelf.names(word)


def test_what_did_not_change_is_not_read_again(shelf: Shelf) -> None:
    path = shelf.put("project/MEMORY.md", "alpha\n")
    scopes = search.scopes_of(shelf.layout, MINE, "own")
    assert reconcile.reconcile(shelf.index, shelf.layout, scopes, MINE) == 1
    shelf.settle(path)
    reconcile.reconcile(shelf.index, shelf.layout, scopes, MINE)
    assert reconcile.reconcile(shelf.index, shelf.layout, scopes, MINE) == 0
    os.utime(path)
    shelf.settle(path)
    assert reconcile.reconcile(shelf.index, shelf.layout, scopes, MINE) == 1
    assert shelf.names("alpha")


def test_words_that_stand_together_and_what_is_new_come_first(shelf: Shelf) -> None:
    shelf.put("project/MEMORY-a.md", "migrate the data, then copy the base of it by hand\n")
    shelf.put("project/MEMORY-b.md", "copy the data base by hand\n")
    assert shelf.names("data base")[0] == "project/MEMORY-b.md"
    old = shelf.put("project/MEMORY-old.md", "release on friday\n")
    shelf.put("project/MEMORY-new.md", "release on friday\n")
    os.utime(old, (1, 1))
    assert shelf.names("release friday") == ["project/MEMORY-new.md", "project/MEMORY-old.md"]


def test_what_fits_badly_is_left_out_and_words_without_letters_find_nothing(shelf: Shelf) -> None:
    shelf.put("project/MEMORY.md", "# One\n\nzebra quagga okapi\n\n# Two\n\nzebra\n")
    for number in range(30):
        shelf.put(f"project/MEMORY-{number}.md", "the zebra is common here\n")
    assert len(shelf.find("quagga okapi zebra", limit=50)) < 32
    assert shelf.find("quagga okapi zebra")[0].found.heading == "One"
    assert shelf.find(" ,;! ") == []
    assert shelf.find("") == []


@pytest.mark.parametrize("words", ['"', "a OR b", "NEAR(a b)", "a*", "-a", "^a", "col:a", "'; --"])
def test_no_words_are_taken_as_a_query_language(shelf: Shelf, words: str) -> None:
    shelf.put("project/MEMORY.md", "a or b, near a col\n")
    shelf.find(words)


def test_a_damaged_index_is_made_anew(shelf: Shelf) -> None:
    shelf.put("project/MEMORY.md", "needle\n")
    assert shelf.names("needle")
    shelf.index.close()
    shelf.index.path.write_bytes(b"no database" * 1_000)
    assert shelf.names("needle")


def test_an_index_of_another_version_is_made_anew(shelf: Shelf) -> None:
    shelf.put("project/MEMORY.md", "needle\n")
    assert shelf.names("needle")
    shelf.index.close()
    connection = connect(shelf.index.path)
    connection.execute("PRAGMA user_version = 7")
    connection.execute("DROP TABLE heard")
    connection.close()
    assert shelf.names("needle")


def test_an_index_that_somebody_removed_is_made_anew(shelf: Shelf) -> None:
    shelf.put("project/MEMORY.md", "needle\n")
    assert shelf.names("needle")
    shelf.index.path.unlink()
    assert shelf.names("needle")
    assert shelf.index.path.stat().st_mode & 0o077 == 0


def test_two_that_use_one_index_see_each_others_work(shelf: Shelf) -> None:
    other = Index(shelf.index.path)
    shelf.put("project/MEMORY.md", "needle\n")
    assert shelf.names("needle")
    writer.append(shelf.layout.locate("project/MEMORY.md", MINE), "- thread.")
    assert search.search(other, shelf.layout, "thread", MINE)
    assert shelf.names("thread")
    other.close()

from pathlib import Path

import pytest

from roost.core.errors import UsageError
from roost.hooks.journal import journal_path
from roost.memory.layout import Layout, Whose

MINE = Whose("p1", "ses_1")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "data")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("project/MEMORY.md", "projects/p1/MEMORY.md"),
        ("MEMORY.md", "projects/p1/MEMORY.md"),
        ("project/MEMORY-http-api", "projects/p1/MEMORY-http-api.md"),
        ("projects/p2/MEMORY.md", "projects/p2/MEMORY.md"),
        ("global/MEMORY.md", "global/MEMORY.md"),
        ("session/notes.md", "sessions/ses_1/notes.md"),
        ("notes.md", "sessions/ses_1/notes.md"),
        ("session/checkpoint-tests.md", "sessions/ses_1/checkpoint-tests.md"),
        ("session/tasks/T1.2/progress.md", "sessions/ses_1/tasks/T1.2/progress.md"),
    ],
)
def test_a_name_is_a_place_below_the_folder_of_memory(
    layout: Layout, name: str, place: str
) -> None:
    assert layout.locate(name, MINE).path == layout.root / place


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../secret.md",
        "project/../../roost.db",
        "project/MEMORY-../x.md",
        "projects/../MEMORY.md",
        "projects/p/q/MEMORY.md",
        "sessions/ses_1/../ses_2/notes.md",
        "session/tasks/../notes.md",
        "session/tasks/T1/other.md",
        "project/README.md",
        "project/MEMORY-Übung.md",
        "global/MEMORY-topic.md",
        "session/.notes.md.lock",
        "other/MEMORY.md",
        "project/MEMORY.md\n",
        "project/MEMORY.md\x00",
    ],
)
def test_what_is_no_name_of_memory_is_refused_with_those_there_are(
    layout: Layout, name: str
) -> None:
    if name.endswith("\n"):
        assert layout.locate(name, MINE).name == "project/MEMORY.md"  # space around is nothing
        return
    with pytest.raises(UsageError) as caught:
        layout.locate(name, MINE)
    assert "project/MEMORY" in caught.value.hint


def test_without_a_project_or_session_the_short_names_mean_nothing(layout: Layout) -> None:
    with pytest.raises(UsageError):
        layout.locate("project/MEMORY.md", Whose())


def test_a_file_knows_whose_it_is_and_who_writes_there(layout: Layout) -> None:
    own = layout.locate("projects/p1/MEMORY.md", MINE)
    other = layout.locate("projects/p2/MEMORY.md", MINE)
    assert (own.name, own.own) == ("project/MEMORY.md", True)
    assert (other.name, other.own) == ("projects/p2/MEMORY.md", False)
    kept = {name: layout.locate(name, MINE).kept for name in ("notes.md", "session/checkpoint.md")}
    assert kept == {"notes.md": True, "session/checkpoint.md": False}
    assert not layout.locate("session/tasks/T1/notes.md", MINE).kept


def test_the_journal_of_a_task_is_among_them(layout: Layout, tmp_path: Path) -> None:
    journal = journal_path((tmp_path / "data").resolve(), "ses_1", "T1.2")
    assert layout.locate("session/tasks/T1.2/progress.md", MINE).path == journal


def test_what_is_there_is_listed_without_links_and_strange_files(
    layout: Layout, tmp_path: Path
) -> None:
    folder = layout.root / "projects" / "p1"
    folder.mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret")
    for name in ("MEMORY.md", "MEMORY-api.md", "README.md", ".MEMORY.md.lock"):
        (folder / name).write_text("x")
    (folder / "MEMORY-link.md").symlink_to(tmp_path / "secret.md")
    names = [one.name for one in layout.files("project", "p1", MINE)]
    assert names == ["project/MEMORY-api.md", "project/MEMORY.md"]
    (layout.root / "projects" / "p3").symlink_to(folder)
    assert layout.files("project", "p3", MINE) == []
    assert layout.owners("project") == ["p1", "p3"]
    assert layout.owners("session") == []
    assert layout.owners("global") == [""]


def test_an_id_that_is_a_path_is_refused(layout: Layout) -> None:
    with pytest.raises(UsageError):
        layout.folder("project", "../x")

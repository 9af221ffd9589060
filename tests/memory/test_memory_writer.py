import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from roost.core.errors import ConflictError, UsageError
from roost.memory import writer
from roost.memory.layout import Layout, Located, Whose
from roost.memory.sections import find

MINE = Whose("p1", "ses_1")
APPEND = """
import sys
from pathlib import Path
from roost.memory import writer
from roost.memory.layout import Layout, Whose
file = Layout(Path(sys.argv[1])).locate("project/MEMORY.md", Whose("p1", "ses_1"))
for number in range(int(sys.argv[3])):
    writer.append(file, f"- {sys.argv[2]}{number}.", sys.argv[4])
"""


def a_file(folder: Path, name: str = "project/MEMORY.md") -> Located:
    return Layout(folder).locate(name, MINE)


def process(folder: Path, who: str, count: int, heading: str = "") -> list[str]:
    return [sys.executable, "-c", APPEND, str(folder), who, str(count), heading]


def test_two_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    commands = [process(tmp_path, who, 200, heading) for who, heading in (("a", "A"), ("b", "B"))]
    running = [subprocess.Popen(one) for one in commands]
    assert [one.wait(100) for one in running] == [0, 0]
    text = writer.read(a_file(tmp_path))
    assert [f"- {who}{n}." in text for who in "ab" for n in range(200)] == [True] * 400
    a = find(text, "A")
    assert a is not None
    assert a.text.count("- a") == 200


def test_threads_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    file = a_file(tmp_path, "session/notes.md")

    def work(who: str) -> None:
        for number in range(25):
            writer.append(file, f"- {who}{number}.")

    threads = [threading.Thread(target=work, args=(who,)) for who in "abcd"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    lines = [line for line in writer.read(file).splitlines() if line.startswith("- ")]
    assert len(set(lines)) == len(lines) == 100


@pytest.mark.parametrize("point", ["memory.staging", "memory.staged", "file.staged", "memory.put"])
def test_a_death_in_the_middle_leaves_the_old_or_the_new_text(tmp_path: Path, point: str) -> None:
    writer.append(a_file(tmp_path), "- old.")
    before = writer.read(a_file(tmp_path))
    done = subprocess.run(
        process(tmp_path, "new", 1),
        env={**os.environ, "ROOST_FAILPOINT": f"{point}=kill"},
        check=False,
    )
    assert done.returncode == -9
    after = writer.read(a_file(tmp_path))
    assert after == (f"{before}- new0.\n" if point == "memory.put" else before)
    folder = a_file(tmp_path).path.parent
    assert {one.name for one in folder.iterdir()} <= {"MEMORY.md", ".MEMORY.md.lock"}
    writer.append(a_file(tmp_path), "- later.")
    assert writer.read(a_file(tmp_path)) == f"{after}- later.\n"


def test_what_an_editor_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    writer.append(file, "- one.")
    seen: list[str] = []

    def made(text: str) -> str:
        seen.append(text)
        if len(seen) == 1:
            file.path.write_text(f"{text}- by hand.\n")
        return f"{text}- two.\n"

    assert writer.change(file, made).endswith("- one.\n- by hand.\n- two.\n")
    assert len(seen) == 2


def test_a_file_that_never_stands_still_is_a_conflict(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    counted: list[str] = []

    def made(text: str) -> str:
        counted.append(text)
        file.path.write_text(f"{len(counted)}\n")
        return "mine"

    with pytest.raises(ConflictError):
        writer.change(file, made)
    assert file.path.read_text() == f"{len(counted)}\n"


def test_a_section_is_changed_only_by_one_who_saw_it(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    text = writer.append(file, "- one.", "Rules")
    seen = find(text, "Rules")
    assert seen is not None
    writer.append(file, "- two.", "Rules")
    with pytest.raises(ConflictError):
        writer.update(file, "Rules", seen.hash, "- mine alone.")
    now = find(writer.read(file), "Rules")
    assert now is not None
    assert "- mine." in writer.update(file, "Rules", now.hash, "- mine.")


def test_what_is_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with pytest.raises(UsageError, match="at most 4,096"):
        writer.append(file, "数" * 1_400)
    for _ in range(8):
        writer.append(file, "x" * 4_000)
    before = writer.read(file)
    with pytest.raises(UsageError, match="at most 32,768") as caught:
        writer.append(file, "x" * 4_000)
    assert "MEMORY-<topic>.md" in caught.value.hint
    assert writer.read(file) == before


def test_a_file_that_is_too_large_already_may_still_shrink(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    writer.append(file, "- x.", "Rules")
    big = f"{writer.read(file)}\n## Big\n\n{'y' * 40_000}\n"
    file.path.write_text(big)
    rules = find(big, "Rules")
    assert rules is not None
    assert "Rules" not in writer.update(file, "Rules", rules.hash, "")
    with pytest.raises(UsageError):
        writer.append(file, "- more.")


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("theirs")
    file = a_file(tmp_path)
    file.path.parent.mkdir(parents=True)
    file.path.symlink_to(outside / "MEMORY.md")
    with pytest.raises(UsageError):
        writer.append(file, "- x")
    with pytest.raises(UsageError):
        writer.read(file)
    for one in file.path.parent.iterdir():
        one.unlink()
    file.path.parent.rmdir()
    file.path.parent.symlink_to(outside)
    with pytest.raises(ConflictError):
        writer.append(file, "- x")
    assert (outside / "MEMORY.md").read_text() == "theirs"
    assert [one.name for one in outside.iterdir()] == ["MEMORY.md"]


def test_what_is_kept_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    writer.append(file, "- x")
    assert file.path.stat().st_mode & 0o077 == 0
    assert file.path.parent.stat().st_mode & 0o077 == 0


def test_what_a_deleted_session_wrote_down_goes_and_nothing_else(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("session/notes.md", "sessions/ses_2/notes.md", "project/MEMORY.md"):
        writer.append(layout.locate(name, MINE), "- x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.md").write_text("theirs")
    (layout.root / "sessions" / "ses_3").symlink_to(outside)
    for session_id in ("ses_1", "ses_3", "ses_none"):
        writer.forget_session(layout, session_id)
    left = {one.relative_to(layout.root).as_posix() for one in layout.root.rglob("[a-zA-Z]*.md")}
    assert left == {"sessions/ses_2/notes.md", "projects/p1/MEMORY.md"}
    assert (outside / "notes.md").read_text() == "theirs"

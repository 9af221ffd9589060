from pathlib import Path

import pytest

from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.workspace.changes import commit
from roost.workspace.edit import MatchError
from roost.workspace.ledger import ReadLedger
from roost.workspace.patch import AddFile, DeleteFile, UpdateFile, parse_patch, patch_paths
from roost.workspace.patch_plan import plan_patch


def body(text: str) -> str:
    return f"*** Begin Patch\n{text}*** End Patch\n"


def apply(root: Path, text: str) -> None:
    ledger = ReadLedger()
    commit(plan_patch(parse_patch(body(text)), lambda path: root / path, ledger), ledger)


def patched(tmp_path: Path, before: str, hunks: str) -> str:
    path = tmp_path / "f"
    path.write_bytes(before.encode())
    apply(tmp_path, f"*** Update File: f\n{hunks}")
    return path.read_bytes().decode()


def test_a_patch_is_parsed_into_its_parts() -> None:
    patch = parse_patch(
        body(
            "*** Add File: a.txt\n+one\n+\n+two\n*** Delete File: b.txt\n"
            "*** Update File: c.txt\n*** Move to: d.txt\n@@ class X\n@@ def y\n keep\n-old\n+new\n"
            "*** End of File\n"
        )
    )
    assert patch[0] == AddFile("a.txt", "one\n\ntwo\n")
    assert patch[1] == DeleteFile("b.txt")
    update = patch[2]
    assert isinstance(update, UpdateFile)
    assert update.move_to == "d.txt"
    assert update.hunks[0].anchors == ("class X", "def y")
    assert update.hunks[0].old == ("keep", "old")
    assert update.hunks[0].new == ("keep", "new")
    assert update.hunks[0].at_end
    assert patch_paths(patch) == ["a.txt", "b.txt", "c.txt", "d.txt"]


@pytest.mark.parametrize(
    "wrapped",
    [
        "apply_patch <<'EOF'\n{}EOF",
        "```diff\n{}```",
        "\n\n{}\n",
        "Here it is:\n{}",
    ],
)
def test_what_models_put_around_a_patch_is_ignored(wrapped: str) -> None:
    assert parse_patch(wrapped.format(body("*** Delete File: x\n"))) == (DeleteFile("x"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "line 1: the patch does not begin"),
        ("*** Begin Patch\n*** Delete File: x\n", "the patch does not end"),
        (body(""), "line 1: the patch is empty"),
        (body("*** Add File: \n+x\n"), "line 2: a file without a name"),
        (body("*** Add File: x\nx\n"), "line 3: a line of a new file without"),
        (body("*** Update File: x\n"), "line 3: an update of x without a change"),
        (body("*** Update File: x\n@@\nhello\n"), "line 4: a line that starts with 'h'"),
        (body("*** Update File: x\n@@ f\n"), "line 3: a change without lines"),
        (body("*** Rename File: x\n"), "line 2: a line that belongs to no file"),
    ],
)
def test_a_wrong_patch_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_patch(text)


@pytest.mark.parametrize(
    ("before", "hunks", "after"),
    [
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("a\nb\nc\n", "-b\n", "a\nc\n"),
        ("a\nb\nc", "-c\n", "a\nb"),
        ("a\r\nb\r\nc\r\n", " a\n-b\n+B\n+new\n", "a\r\nB\r\nnew\r\nc\r\n"),
        ("a\nb\n", "@@\n+new\n", "a\nb\nnew\n"),
        ("a\nb", "@@\n+new\n", "a\nb\nnew"),
        ("", "@@\n+new\n", "new\n"),
        ("a\r\nb\r\n", "@@ a\n+new\n", "a\r\nnew\r\nb\r\n"),
        ("a\n\nb\n", " a\n\n-b\n+B\n", "a\n\nB\n"),
        ("x\na\nx\na\n", "*** End of File\n".join(["-a\n+b\n", ""]), "x\na\nx\nb\n"),
        ("a\nb\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB\nc\n"),
        ("a  \nb\n", " a\n-b\n+B\n", "a  \nB\n"),
        ("say “hi”\nb\n", ' say "hi"\n-b\n+B\n', "say “hi”\nB\n"),
        ("a\n\n\nb\n", "@@ a\n-\n", "a\n\nb\n"),
    ],
)
def test_an_update_changes_its_lines_and_no_others(
    tmp_path: Path, before: str, hunks: str, after: str
) -> None:
    assert patched(tmp_path, before, hunks) == after


CLASSES = (
    "class A:\n    def run(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n"
)


def test_lines_after_the_at_signs_choose_among_equal_places(tmp_path: Path) -> None:
    hunks = "@@ class B:\n@@     def run(self):\n-        pass\n+        return 1\n"
    assert patched(tmp_path, CLASSES, hunks) == CLASSES[:-13] + "        return 1\n"
    hunks = "@@ class A:\n     def run(self):\n-        pass\n+        return 1\n"
    assert patched(tmp_path, CLASSES, hunks).index("return 1") < CLASSES.index("class B")


def test_an_ambiguous_place_is_refused_with_lines(tmp_path: Path) -> None:
    with pytest.raises(MatchError, match=r"patch line 3: .* 2 times, at lines 3, 8"):
        patched(tmp_path, CLASSES, "-        pass\n+        return 1\n")
    with pytest.raises(MatchError, match="2 times"):
        patched(tmp_path, CLASSES, "@@ def run(self):\n-        pass\n+        return 1\n")


def test_later_changes_are_looked_for_below_earlier_ones(tmp_path: Path) -> None:
    first = "@@\n class A:\n     def run(self):\n-        pass\n+        one\n"
    hunks = first + "@@\n-        pass\n+        two\n"
    assert patched(tmp_path, CLASSES, hunks) == CLASSES.replace("pass", "one", 1).replace(
        "pass", "two"
    )


def test_changes_in_another_order_than_the_file_still_apply(tmp_path: Path) -> None:
    assert patched(tmp_path, "a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A\n") == "A\nb\nC\n"


def test_missing_lines_are_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(MatchError, match="f: patch line 3") as caught:
        patched(tmp_path, "alpha\nbeta\n", " alpha\n-betta\n+x\n")
    assert "lines 1 to 2" in caught.value.hint


def test_files_are_added_deleted_and_moved(tmp_path: Path) -> None:
    (tmp_path / "old.sh").write_text("a\nb\n")
    (tmp_path / "old.sh").chmod(0o755)
    (tmp_path / "gone").write_bytes(b"\x00binary")
    apply(
        tmp_path,
        "*** Add File: dir/new\n+hello\n*** Delete File: gone\n"
        "*** Update File: old.sh\n*** Move to: bin/new.sh\n-b\n+B\n",
    )
    assert (tmp_path / "dir/new").read_text() == "hello\n"
    assert not (tmp_path / "gone").exists()
    assert not (tmp_path / "old.sh").exists()
    assert (tmp_path / "bin/new.sh").read_text() == "a\nB\n"
    assert (tmp_path / "bin/new.sh").stat().st_mode & 0o777 == 0o755


def test_a_moved_file_keeps_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("\ufeffeins\r\n".encode("utf-16-le"))
    apply(tmp_path, "*** Update File: f\n*** Move to: g\n-eins\n+zwei\n")
    assert (tmp_path / "g").read_bytes() == "\ufeffzwei\r\n".encode("utf-16-le")


def test_parts_see_what_earlier_parts_did(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    apply(
        tmp_path,
        "*** Update File: f\n-a\n+b\n*** Update File: f\n-b\n+c\n"
        "*** Add File: g\n+x\n*** Update File: g\n-x\n+y\n"
        "*** Delete File: f\n*** Add File: f\n+z\n",
    )
    assert (tmp_path / "f").read_text() == "z\n"
    assert (tmp_path / "g").read_text() == "y\n"


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("*** Add File: there\n+x\n", ConflictError),
        ("*** Delete File: none\n", NotFoundError),
        ("*** Update File: none\n-a\n", NotFoundError),
        ("*** Update File: there\n*** Move to: other\n", ConflictError),
        ("*** Delete File: .\n", UsageError),
    ],
)
def test_one_wrong_part_stops_the_whole_patch(
    tmp_path: Path, part: str, error: type[Exception]
) -> None:
    (tmp_path / "there").write_text("a\n")
    (tmp_path / "other").write_text("b\n")
    with pytest.raises(error):
        apply(tmp_path, f"*** Update File: there\n-a\n+A\n*** Add File: new\n+x\n{part}")
    assert (tmp_path / "there").read_text() == "a\n"
    assert not (tmp_path / "new").exists()

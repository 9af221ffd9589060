import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.workspace.diff import changes, unified

letters = st.lists(st.sampled_from("abcdefgh"), max_size=30)


@given(letters, letters)
def test_changes_cover_both_sides_in_order(old: list[str], new: list[str]) -> None:
    at = (0, 0)
    for change in changes(old, new):
        assert (change.old_start, change.new_start) == at
        assert at != (change.old_end, change.new_end)
        before = old[change.old_start : change.old_end]
        after = new[change.new_start : change.new_end]
        assert (change.tag == "equal") == (before == after)
        at = (change.old_end, change.new_end)
    assert at == (len(old), len(new))


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch(1)")
def test_the_patch_program_accepts_the_difference(tmp_path: Path) -> None:
    chance = random.Random(7)
    path = tmp_path / "f"
    for _ in range(30):
        old = [chance.choice("abcdefghij") for _ in range(40)]
        new = [c for c in old if chance.random() > 0.1]
        new.insert(chance.randint(0, len(new)), "NEW")
        before, after = "\n".join(old), "".join(f"{line}\n" for line in new)
        path.write_text(before)
        diff = unified("f", before, after)
        subprocess.run(["patch", "-s", path], input=diff.text, text=True, check=True)
        assert path.read_text() == after


def test_a_difference_counts_its_lines_and_has_three_lines_of_context() -> None:
    before = "".join(f"{i}\n" for i in range(20))
    diff = unified("f", before, before.replace("9\n", "nine\n", 1))
    assert (diff.additions, diff.deletions) == (1, 1)
    assert diff.text == ("--- f\n+++ f\n@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n")
    assert unified("f", before, before).text == ""


def test_a_long_difference_is_cut_and_says_so() -> None:
    diff = unified("f", "", "x\n" * 100_000, limit=1000)
    assert diff.cut
    assert len(diff.text) < 1200
    assert diff.additions == 100_000


@pytest.mark.parametrize("alphabet", [["}", "{", ""], [str(i) for i in range(5000)]])
def test_large_files_are_compared_in_seconds(alphabet: list[str]) -> None:
    chance = random.Random(3)
    before = "".join(f"{chance.choice(alphabet)}\n" for _ in range(50_000))
    after = "".join(f"{chance.choice(alphabet)}\n" for _ in range(50_000))
    start = time.process_time()
    unified("f", before, after)
    assert time.process_time() - start < 5

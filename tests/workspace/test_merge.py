import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from roost.workspace.merge import merged

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\r\n"]), max_size=8).map(
    lambda lines: "".join(lines).encode()
)


def test_changes_in_different_places_are_joined() -> None:
    base = b"1\n2\n3\n4\n5\n6\n"
    assert merged(base, b"0\n1\n2\n3\n4\n5\n6\n", b"1\n2\n3\n4\n5\nsix") == (
        b"0\n1\n2\n3\n4\n5\nsix"
    )
    assert merged(base, b"1\n2\n4\n5\n6\n", b"1\n2\n3\n4\n5\n6\n7\n") == b"1\n2\n4\n5\n6\n7\n"


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merged(b"1\n2\n3\n", b"1\nx\n3\n", b"1\nx\n3\n") == b"1\nx\n3\n"
    assert merged(b"1\n2\n3\n4\n5\n", b"x\n2\n3\n4\n5\n6\n", b"x\n2\n3\n4\n5\n") == (
        b"x\n2\n3\n4\n5\n6\n"
    )


def test_changes_of_the_same_or_adjoining_lines_are_a_conflict() -> None:
    base = b"1\n2\n3\n4\n"
    assert merged(base, b"1\nx\n3\n4\n", b"1\ny\n3\n4\n") is None
    assert merged(base, b"1\nx\n3\n4\n", b"1\n2\ny\n4\n") is None
    assert merged(base, b"1\n2\nx\n3\n4\n", b"1\n2\ny\n3\n4\n") is None
    assert merged(base, b"", b"1\n2\n3\n4\n5\n") is None


@given(LINES, LINES, LINES)
def test_a_side_that_changed_nothing_has_no_say(base: bytes, ours: bytes, theirs: bytes) -> None:
    assert merged(base, base, theirs) == theirs
    assert merged(base, ours, base) == ours
    assert merged(base, ours, ours) == ours
    assert merged(base, ours, theirs) == merged(base, theirs, ours)


def test_whatever_is_joined_git_joins_alike(tmp_path: Path) -> None:
    base = [f"{number}\n" for number in range(12)]
    cases: list[tuple[bytes, bytes]] = []
    for at in range(0, 12, 2):
        for other in range(1, 12, 3):
            ours, theirs = list(base), list(base)
            ours[at] = "ours\n"
            theirs.insert(other, "theirs\n")
            cases.append(("".join(ours).encode(), "".join(theirs).encode()))
    clean = 0
    (tmp_path / "base").write_text("".join(base))
    for ours, theirs in cases:
        found = merged("".join(base).encode(), ours, theirs)
        (tmp_path / "ours").write_bytes(ours)
        (tmp_path / "theirs").write_bytes(theirs)
        done = subprocess.run(
            ["git", "merge-file", "-p", "ours", "base", "theirs"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        if found is not None:
            clean += 1
            assert (done.returncode, done.stdout) == (0, found)
    assert clean > len(cases) / 2

"""The tables of faults name tests: each must exist, or a table promises what nobody keeps."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
FAULTS = (DOCS / "faults.md").read_text(encoding="utf-8")
CLOSED = (
    (DOCS / "actors.md")
    .read_text(encoding="utf-8")
    .partition("\n## What is closed here\n")[2]
    .partition("\n## ")[0]
)
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", FAULTS + CLOSED)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_guards_against_a_fault_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(("table", "least"), [(FAULTS, 45), (CLOSED, 40)], ids=["all", "actors"])
def test_every_fault_has_a_guard(table: str, least: int) -> None:
    rows = [
        line for line in table.splitlines() if line.startswith("| ") and "guarded by" not in line
    ]
    faults = [row for row in rows if not row.startswith("| ---")]
    assert len(faults) >= least
    assert [row for row in faults if "::test_" not in row] == []

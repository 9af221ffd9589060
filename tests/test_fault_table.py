"""`docs/faults.md` names tests: each must exist, or the table promises what nobody keeps."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TABLE)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_guards_against_a_fault_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


def test_every_fault_has_a_guard() -> None:
    rows = [
        line for line in TABLE.splitlines() if line.startswith("| ") and "guarded by" not in line
    ]
    faults = [row for row in rows if not row.startswith("| ---")]
    assert len(faults) > 30
    assert [row for row in faults if "::test_" not in row] == []

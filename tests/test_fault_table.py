"""The tables of faults and of a prompt's life name tests: each must exist, or a table promises what
nobody keeps.
"""

import re
from itertools import pairwise
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
LIFE = (DOCS / "life-of-a-prompt.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", FAULTS + CLOSED + LIFE)))
TABLES = {"faults": (FAULTS, 45), "actors": (CLOSED, 40), "life": (LIFE, 45)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_guard(name: str) -> None:
    table, least = TABLES[name]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    heads = {one for one, below in pairwise(lines) if below.startswith("| ---")}
    rows = [line for line in lines if line not in heads and not line.startswith("| ---")]
    assert len(rows) >= least
    assert [row for row in rows if "::test_" not in row] == []

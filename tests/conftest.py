"""Makes `tests/` importable, so that every test can use `stage.py`."""

from collections.abc import Generator
from pathlib import Path

import pytest
from stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    """A fresh database file with one session, its main actor and a second actor."""
    made = Stage(tmp_path / "home" / "roost.db")
    made.furnish()
    yield made
    made.close()

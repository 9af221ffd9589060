"""Fixtures for tests that run the real command."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal_user import KEY, User

from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(scenario("unused"), api_key=KEY) as server:
        yield server
        assert server.violations == []


@pytest.fixture
def user(tmp_path: Path, model: ScriptedModel, capfd: pytest.CaptureFixture[str]) -> User:
    return User(tmp_path, model, capfd)

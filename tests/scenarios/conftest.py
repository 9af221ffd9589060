"""Fixtures for scenarios: a household in each dialect."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from household import KEY, WINDOW, Household, narrowed

from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(
        scenario("unused"), api_key=KEY, models=["scripted", "gpt-scripted"]
    ) as server:
        yield server


@pytest.fixture(params=["chat", "responses", "anthropic"])
def house(request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel) -> Household:
    return Household(tmp_path, model, request.param)


@pytest.fixture
def chat_house(tmp_path: Path, model: ScriptedModel) -> Household:
    return Household(tmp_path, model, "chat")


@pytest.fixture
def narrow_model() -> Iterator[ScriptedModel]:
    """A model whose window a few steps fill."""
    with ScriptedModel(
        scenario("unused"), api_key=KEY, models=["scripted"], context=WINDOW
    ) as server:
        yield server


@pytest.fixture
def narrow_house(tmp_path: Path, narrow_model: ScriptedModel) -> Household:
    return narrowed(Household(tmp_path, narrow_model, "chat"))

"""Following a prompt when its turn cannot even be started."""

import asyncio
import json
from pathlib import Path
from typing import NoReturn

import pytest

from roost.cli.run.follow import Followed, Follower
from roost.cli.run.sightings import Sighting
from roost.cli.run.stopping import Stop
from roost.core.errors import RoostError
from roost.inbox.models import Address
from roost.runtime.models import PromptInput, Settings, TextInput
from roost.runtime.runtime import Runtime
from roost.runtime.worlds import Worlds
from roost.sessions.models import MAIN

CONFIG = {
    "model": "test/x",
    "provider": {"test": {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"x": {}}}},
}


def test_a_turn_that_cannot_be_started_fails_with_its_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {
        "HOME": str(tmp_path),
        "ROOST_HOME": str(tmp_path / "home"),
        "ROOST_CONFIG_CONTENT": json.dumps(CONFIG),
    }
    seen: list[Sighting] = []

    async def show(sightings: list[Sighting]) -> None:
        seen.extend(sightings)

    def broken(_worlds: Worlds, _: Address) -> NoReturn:
        raise RoostError("the world is not there")

    async def run() -> tuple[Followed, int]:
        monkeypatch.setattr(Worlds, "world_of", broken)
        settings = Settings(environment=environment, interactive=False, make_titles=False)
        async with Runtime.open(settings) as runtime:
            session = await runtime.create_session(tmp_path)
            address = Address(session.id, MAIN)
            with runtime.bus.subscribe(lambda event: event.session_id == session.id) as news:
                prompt = PromptInput(parts=(TextInput("hello"),))
                accepted = await runtime.prompt(session.id, prompt)
                follower = Follower(runtime, address, accepted.message_id, news=news, stop=Stop())
                followed = await follower.follow(show)
            return followed, len(await runtime.queue(session.id))

    followed, waiting = asyncio.run(run())
    assert followed.result is not None
    turn = followed.result.turn
    assert turn.outcome == "failure"
    assert turn.error is not None
    assert "the world is not there" in str(turn.error)
    assert waiting == 0

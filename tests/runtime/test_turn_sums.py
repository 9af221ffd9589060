"""What a turn is said to have used is what its messages say, whatever became of a step."""

import asyncio
from pathlib import Path

import pytest
from runtime_stage import Desk, desk

from roost.core import failpoints
from roost.runtime.models import TurnResult
from roost.sessions.models import AssistantInfo


def set_points(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(failpoints, "_points", failpoints._parse(text))


async def tokens_of_messages(at: Desk, session_id: str) -> int:
    heads = [message.info for message in await at.messages(session_id)]
    return sum(info.tokens.total for info in heads if isinstance(info, AssistantInfo))


async def asked(at: Desk, session_id: str) -> TurnResult:
    return await asyncio.wait_for(at.ask(session_id, "ping"), 20)


def test_a_step_that_could_not_be_stored_is_not_in_the_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with desk(tmp_path) as at:
            session = await at.session()
            set_points(monkeypatch, "apply.stored=raise")
            failed = (await asked(at, session.id)).turn
            assert (failed.outcome, failed.steps) == ("failure", 0)
            assert failed.tokens == failed.budgets.used.get("tokens", 0) == 0
            assert await tokens_of_messages(at, session.id) == 0
            done = (await asked(at, session.id)).turn
            assert (done.outcome, done.steps) == ("success", 1)
            assert done.tokens == await tokens_of_messages(at, session.id) > 0

    asyncio.run(go())


def test_a_stop_while_a_step_is_being_stored_leaves_it_in_the_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with desk(tmp_path) as at:
            session = await at.session()
            set_points(monkeypatch, "apply.before=sleep:500")
            message_id = await at.prompt(session.id, "ping")
            while not failpoints._points["apply.before"].hits:
                await asyncio.sleep(0.01)
            await at.runtime.abort(session.id)
            turn = (await asyncio.wait_for(at.runtime.wait_turn(session.id, message_id), 20)).turn
            assert turn.steps == 1
            assert turn.tokens == await tokens_of_messages(at, session.id) > 0

    asyncio.run(go())

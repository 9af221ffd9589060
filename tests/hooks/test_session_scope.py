import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hook_stage import asked, command, place, session_pre

from roost.hooks.runner import HookPlace, Hooks
from roost.hooks.scope import SessionScope


def told(folder: Path) -> list[dict[str, Any]]:
    file = folder / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def listening(folder: Path, before: str = "true") -> HookPlace:
    commands = {
        "before": command("session.pre", before),
        "after": command("session.post", "cat >> told; echo >> told"),
    }
    return place(folder, commands=commands)


def outcomes(folder: Path) -> list[str]:
    return [one["outcome"] for one in told(folder)]


def test_a_turn_that_ends_is_told_once_with_what_was_noted(tmp_path: Path) -> None:
    async def turn(hooks: Hooks) -> None:
        async with SessionScope(hooks, session_pre(task_id="T1")) as scope:
            assert scope.before.refusal == ""
            scope.ended("completed", final_text="Done.", message_id="msg_1")
        assert [one.name for one in scope.after.runs] == ["after"]

    asked(listening(tmp_path), turn)
    (one,) = told(tmp_path)
    assert one == {
        "on": "session.post",
        "session_id": "ses_1",
        "directory": str(tmp_path),
        "actor_id": "worker-1",
        "agent": "worker",
        "mode": "main",
        "outcome": "completed",
        "task_id": "T1",
        "error": None,
        "final_text": "Done.",
        "message_id": "msg_1",
    }


def test_a_turn_that_raises_is_told_once_and_the_error_goes_on(tmp_path: Path) -> None:
    async def turn(hooks: Hooks) -> None:
        async with SessionScope(hooks, session_pre()):
            raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        asked(listening(tmp_path), turn)
    assert [(one["outcome"], one["error"]) for one in told(tmp_path)] == [("error", "why")]


def test_a_turn_that_is_cancelled_is_told_once(tmp_path: Path) -> None:
    async def turn(hooks: Hooks) -> None:
        async with SessionScope(hooks, session_pre()):
            (tmp_path / "begun").touch()
            await asyncio.sleep(3600)

    async def cancelled(hooks: Hooks) -> None:
        task = asyncio.ensure_future(turn(hooks))
        async with asyncio.timeout(10):
            while not (tmp_path / "begun").exists():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asked(listening(tmp_path), cancelled)
    assert outcomes(tmp_path) == ["cancelled"]


def test_a_turn_that_is_cancelled_while_hooks_are_asked_is_told_once(tmp_path: Path) -> None:
    async def turn(hooks: Hooks) -> None:
        async with SessionScope(hooks, session_pre()):
            raise AssertionError("the turn began")

    async def cancelled(hooks: Hooks) -> None:
        task = asyncio.ensure_future(turn(hooks))
        async with asyncio.timeout(10):
            while not (tmp_path / "asked").exists():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asked(listening(tmp_path, "touch asked; sleep 60"), cancelled)
    assert outcomes(tmp_path) == ["cancelled"]


def test_a_turn_that_hooks_refuse_is_told_as_cancelled(tmp_path: Path) -> None:
    async def turn(hooks: Hooks) -> str:
        async with SessionScope(hooks, session_pre()) as scope:
            return scope.before.refusal

    assert asked(listening(tmp_path, "echo freeze >&2; exit 2"), turn) == "freeze"
    assert [(one["outcome"], one["error"]) for one in told(tmp_path)] == [("cancelled", "freeze")]

"""The budget of every policy outlives the process: who goes on after a kill has no fresh one."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from cast import act, report
from household import Household
from invariants import assert_sound
from test_actor_hooks import hook
from test_server_runs import Server

from roost.runtime.models import PromptInput, TextInput
from roost.turn.policies import (
    hooks,
    invalid,
    length,
    limits,
    repetition,
    structured,
    tasks_gate,
    text_tool_call,
)
from scripted_model.picture import Request
from scripted_model.scenario import Call, Finish, Reasoning, Reply, Said, Script, Stall, Text, reply

pytestmark = pytest.mark.scenario
STEPS = 5
SENTENCE = "I should look at the file again before I decide what to do. "
AT_WORK = "SELECT 1 FROM actor WHERE status != 'idle'"
TURNS = (
    "SELECT outcome, error, budgets, phase FROM turn WHERE actor_id != 'main' ORDER BY actor_id,"
    " number"
)
CALL_IN_WORDS = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'


class Case(msgspec.Struct, frozen=True):
    """A child that does one thing wrong again and again."""

    budget: str
    limit: int
    says: Callable[[int], Said]
    """What it says at its n-th step, from 0."""
    error: str | None
    """How its turn fails in the end; None: it ends well once the budget is used up."""
    agent: str = "explore"
    order: dict[str, Any] = {}
    before: int = 0
    """Steps of it before the first that is wrong."""


def same_call(_: int) -> Said:
    return Call("bash", {"command": "true"})


def task_then_report(number: int) -> Said:
    create = Call("task", {"action": "create", "summary": "mend it"})
    return create if number == 0 else report()


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CASES = [
    Case(invalid.BUDGET, invalid.LIMIT, lambda _: Finish("stop"), "InvalidOutputError"),
    Case(invalid.BUDGET, invalid.LIMIT, lambda n: Reasoning(f"Hm {n}."), "InvalidOutputError"),
    Case(
        length.BUDGET,
        length.LIMIT,
        lambda n: [Text(f"Part {n}."), Finish("length")],
        "MessageOutputLengthError",
    ),
    Case(
        text_tool_call.BUDGET,
        text_tool_call.LIMIT,
        lambda _: Text(CALL_IN_WORDS),
        "InvalidOutputError",
    ),
    Case(
        repetition.BUDGET,
        repetition.LIMIT,
        lambda n: Text(f"{n}: {SENTENCE}" * 300, size=60),
        "RepetitionError",
    ),
    Case(
        structured.BUDGET,
        structured.LIMIT,
        lambda n: Text(f"Words {n}."),
        "StructuredOutputError",
        order={"output_schema": SCHEMA},
    ),
    Case(tasks_gate.BUDGET, tasks_gate.LIMIT, task_then_report, None, "general", before=1),
    Case(hooks.BUDGET, hooks.LIMIT, lambda n: Text(f"Answer {n}."), None),
    Case(limits.STEPS, STEPS, lambda n: Call("bash", {"command": f"true {n}"}), "LimitError"),
]


class Child:
    """Plays main, which starts a child, and the child; it can fall silent at its n-th step."""

    def __init__(self, case: Case, silent_at: int) -> None:
        self._case = case
        self._silent_at = silent_at
        self._lock = threading.Lock()
        self.asked = 0
        """Requests of the child."""

    def __call__(self, request: Request) -> Reply:
        if not any("child: " in text for text in request.user_texts):
            return reply(self._main(request))
        with self._lock:
            number = self.asked
            self.asked += 1
            if number == self._silent_at:
                return reply([Stall()])
        return reply(self._case.says(number if number < self._silent_at else number - 1))

    def _main(self, request: Request) -> Said:
        if not request.tools:
            return "A title"
        if any(message.role == "assistant" for message in request.messages):
            return "ok"
        order = {"description": "work", "prompt": "child: do it.", **self._case.order}
        return act("spawn", subagent_type=self._case.agent, **order)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.budget)
def test_a_kill_in_between_gives_no_policy_a_fresh_budget(
    chat_house: Household, case: Case
) -> None:
    house = chat_house
    house.config["permission"] = "allow"
    if case.budget == hooks.BUDGET:
        hook(house, "more", "actor.pre_stop", "echo 'not yet' >&2; exit 2", "explore")
    if case.budget == limits.STEPS:
        house.config["limits"]["steps"] = STEPS
    silent_at = case.before + 1
    child = Child(case, silent_at)
    killed, last = through_a_kill(house, child, lambda: child.asked > silent_at)
    assert killed["outcome"] == "interrupted"
    assert last["outcome"] == ("success" if case.error is None else "failure")
    if case.error is not None:
        assert msgspec.json.decode(last["error"])["name"] == case.error
    used = msgspec.json.decode(last["budgets"])["used"]
    # The step that was cut by the kill is asked for again; it is counted once.
    if case.budget == limits.STEPS:
        assert child.asked == STEPS + 1 + 1
        assert used[limits.REPORT] == 1
    else:
        assert used[case.budget] == case.limit
        assert child.asked == case.before + 1 + case.limit + 1
    assert_sound(house)


def through_a_kill(
    house: Household, script: Script, ready: Callable[[], bool], goal: str | None = None
) -> list[sqlite3.Row]:
    """Prompt a session, kill the server once `ready`, let the next one go on until all are at rest.

    Gives the turns of the children.
    """
    house.play(script)
    first = Server(house)
    first.start()
    asyncio.run(prompt(first, goal))
    house.model.wait_until(ready)
    first.kill()
    house.wait_until_nothing_lives()
    second = Server(house)
    second.start()
    wait_for(lambda: not house.rows(AT_WORK))
    assert second.end() == 0
    return house.rows(TURNS)


async def prompt(server: Server, goal: str | None) -> None:
    async with server.client() as client:
        session = await client.create_session()
        await client.prompt_async(session.id, PromptInput((TextInput("Delegate."),), goal=goal))


def wait_for(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 40
    while not check():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)

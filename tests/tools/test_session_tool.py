"""The tool `session` without a runtime: what is understood, what is refused, what is told."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_actors import an_end
from fake_sessions import ONE, a_session, a_tree
from tool_world import ToolWorld, in_world

from roost.context.agents import Agent
from roost.core.errors import DeniedError
from roost.permissions.models import Rule
from roost.tools.actor_port import Sent
from roost.tools.arguments import ArgumentsError, parse_call
from roost.tools.contract import ToolError, ToolOutput
from roost.tools.session import session_tool
from roost.tools.session_operations import (
    KINDS,
    Approve,
    CancelSession,
    Create,
    Dashboard,
    GrantApproval,
    Join,
    SendTo,
    SetMode,
)
from roost.tools.session_port import Joined, Opened, Reply

AGENTS = {"build": "Does the work.", "plan": "Plans."}
TOOL = session_tool(AGENTS)


def read(**value: Any) -> Any:
    raw = msgspec.json.encode(value).decode()
    return parse_call({"session": TOOL}, "session", raw, complete=True).arguments


def refusal(**value: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        read(**value)
    return caught.value.message


@pytest.mark.parametrize(
    ("value", "action"),
    [
        ({"operation": {"action": "create", "task": "x"}}, Create(task="x")),
        ({"operation": '{"action": "create", "task": "x"}'}, Create(task="x")),
        ({"operation": {"operation": {"action": "dashboard"}}}, Dashboard()),
        ({"operation": "dashboard"}, Dashboard()),
        ({"operation": "create", "task": "x"}, Create(task="x")),
        ({"action": "create", "task": "x", "mode": "plan"}, Create(task="x", agent="plan")),
        ({"create": {"task": "x", "isolate": "true"}}, Create(task="x", isolate=True)),
        ({"task": "x", "topic": "y"}, Create(task="x", topic="y")),
        ({"operation": {"task": "x"}}, Create(task="x")),
        ({"action": "send", "id": ONE, "message": "x"}, SendTo(session_id=ONE, task="x")),
        ({"action": "cancel", "sessionID": ONE}, CancelSession(session_id=ONE)),
        ({"action": "join", "ids": [ONE]}, Join(session_ids=[ONE])),
        ({"action": "join", "session_ids": ONE}, Join(session_ids=[ONE])),
        (
            {"action": "setmode", "session_id": ONE, "mode": "plan"},
            SetMode(session_id=ONE, agent="plan"),
        ),
        ({"action": "approve", "id": "per_1"}, Approve(request_id="per_1")),
        ({"action": "grant_approval", "session_id": "*"}, GrantApproval(session_id="*")),
        ({"action": "create", "task": "x", "topic": None, "model": None}, Create(task="x")),
    ],
)
def test_what_can_only_mean_one_thing_is_understood(value: dict[str, Any], action: Any) -> None:
    assert read(**value) == action


@pytest.mark.parametrize(
    "value",
    [
        {"task": "x", "session_id": ONE},
        {"task": "x", "id": ONE},
        {"task": "x", "ids": [ONE]},
        {"task": "x", "target": ONE},
        {"task": "x", "question": "why?"},
        {"action": "create", "task": "x", "session_id": ONE},
        {"action": "create", "task": "x", "sessionID": ONE},
        {"operation": {"action": "create", "task": "x", "id": ONE}},
        {"create": {"task": "x", "session_id": ONE}},
    ],
)
def test_what_names_a_session_never_begins_one(value: dict[str, Any]) -> None:
    assert "`send` it a task" in refusal(**value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "expected `action`, one of create, send"),
        ({"action": "creat", "task": "x"}, "Did you mean create?"),
        ({"action": "spawn"}, "expected one of create, send"),
        ({"action": "create"}, "create needs task"),
        ({"action": "create", "task": " "}, "expected words"),
        ({"action": "create", "task": "x", "agent": "paln"}, "Did you mean plan?"),
        ({"action": "send", "session_id": ONE}, "send needs task"),
        ({"action": "send", "session_id": ONE, "task": "x", "to": "y"}, "send has no field 'to'"),
        ({"action": "send", "session_id": ONE, "id": "ses_two", "task": "x"}, "given twice"),
        ({"action": "join", "session_ids": []}, "session_ids"),
        ({"operation": {"action": "list"}, "task": "x"}, "beside `operation` stands `task`"),
        ({"operation": 3}, "expected an object with `action`"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(value: dict[str, Any], words: str) -> None:
    assert words in refusal(**value)


def test_the_schema_shows_every_action_and_the_agents_there_are() -> None:
    operation = TOOL.schema()["properties"]["operation"]
    shown = {one["properties"]["action"]["enum"][0]: one for one in operation["anyOf"]}
    assert list(shown) == list(KINDS)
    assert shown["create"]["properties"]["agent"]["enum"] == ["build", "plan"]
    assert shown["create"]["required"] == ["action", "task"]
    assert all(one["additionalProperties"] is False for one in shown.values())
    assert "- plan: Plans." in TOOL.description


def test_only_an_agent_that_lists_the_tool_may_call_it() -> None:
    assert not Agent(name="anything").may_call("session")
    assert Agent(name="anything").may_call("actor")
    assert Agent(name="head", tool_allowlist=("read", "session")).may_call("session")


async def _do(world: ToolWorld, action: str, **fields: Any) -> ToolOutput:
    world.tools["session"] = TOOL
    return await world.call("session", operation={"action": action, **fields})


def test_a_new_session_is_told_with_its_tree_and_the_others(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.sessions.opened = Opened(
            session_id=ONE,
            new=True,
            title="The fix",
            directory="/trees/fix",
            tree=a_tree(),
            notes=("Not in the working tree: 2 files that the project has not committed.",),
        )
        answer = await _do(world, "create", task="Fix it.", isolate=True, title="The fix")
        assert answer.metadata["sessionID"] == ONE
        assert "branch roost/fix, 0 commits ahead of main" in answer.output
        assert "2 files that the project has not committed" in answer.output
        assert f"- {ONE} “The fix”: progressing, build" in answer.output
        assert "← Fix it." in answer.output
        (order,) = world.sessions.orders
        assert order.isolate
        assert world.asked_for() == []

    in_world(tmp_path, test)


def test_a_folder_outside_of_the_project_is_asked_for(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.sessions.folder_outside = "/etc"
        world.agrees = False
        with pytest.raises(DeniedError):
            await _do(world, "create", task="Fix it.", dir="/etc")
        assert world.asked_for() == ["session"]
        assert world.sessions.orders == []

    in_world(tmp_path, test)


def test_an_agent_that_the_rules_forbid_begins_no_session(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.rules = (Rule("session", "plan", "deny"),)
        with pytest.raises(DeniedError):
            await _do(world, "create", task="Plan it.", agent="plan")
        assert world.sessions.orders == []

    in_world(tmp_path, test)


def test_a_task_that_did_not_reach_the_session_of_its_topic_is_an_error(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.sessions.opened = Opened(
            session_id=ONE,
            new=False,
            title="x",
            directory="/",
            sent=Sent(None, "its queue is full"),
        )
        with pytest.raises(ToolError, match="its queue is full"):
            await _do(world, "create", task="x", topic="y")

    in_world(tmp_path, test)


def test_join_tells_of_each_what_there_is(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        done = a_session(bucket="idle", actor=an_end("success", "It is <i>done</i>."))
        world.sessions.joined = Joined("timeout", (done, a_session("ses_two")), ("ses_none",))
        answer = await _do(
            world, "join", session_ids=[ONE, "ses_two", ONE, "ses_none"], timeout_ms=5
        )
        assert "The time is up" in answer.output
        assert "It is &lt;i&gt;done&lt;/i&gt;." in answer.output
        assert "- ses_two “The fix”: progressing" in answer.output
        assert "No sessions of yours: ses_none." in answer.output
        assert ("join", (ONE, "ses_two", "ses_none"), 5) in world.sessions.calls

    in_world(tmp_path, test)


def test_the_dashboard_counts_and_shows_trees_and_requests(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.sessions.views = [
            a_session(tree=a_tree(ahead=2, holds="2 unmerged commits")),
            a_session("ses_two", bucket="failed", tree=a_tree(fault="git is not installed")),
            a_session(
                "ses_three", bucket="waiting", requests=("per_1: bash: make (you may answer)",)
            ),
        ]
        output = (await _do(world, "dashboard")).output
        assert output.startswith(
            "1 progressing, 0 stalled, 1 waiting, 0 idle, 1 failed, 0 cancelled"
        )
        assert "2 commits ahead of main" in output
        assert "it holds 2 unmerged commits" in output
        assert "git does not tell its state (git is not installed)" in output
        assert "asks: per_1: bash: make" in output
        assert ("listed", True) in world.sessions.calls

    in_world(tmp_path, test)


def test_what_a_copy_answers_is_data_and_a_fault_is_plain(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        said = (await _do(world, "ask", session_id=ONE, question="Where?")).output
        assert said == "<answer>\nIt is &lt;b&gt;in&lt;/b&gt; load.py.\n</answer>"
        world.sessions.reply = Reply("It could not answer: no key", fault=True)
        assert (await _do(world, "ask", session_id=ONE, question="Where?")).output == (
            "It could not answer: no key"
        )

    in_world(tmp_path, test)

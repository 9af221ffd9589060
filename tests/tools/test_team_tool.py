"""The tool `team`: what a model may ask of it, and what it is told."""

from pathlib import Path
from typing import Any

import pytest
from tool_world import ToolWorld, in_world

from roost.llm.models import Model
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, Rule
from roost.tools.contract import ToolError
from roost.tools.registry import tools_for
from roost.tools.team import TeamTool


@pytest.mark.parametrize(
    ("given", "called", "said"),
    [
        (
            {"action": "create", "name": " backend ", "purpose": "The API", "role": "lead"},
            ("create", "backend", "The API", "lead"),
            "Created the team backend; you are in it.",
        ),
        ({"action": "join", "name": "backend"}, ("join", "backend", ""), "- ses_one [member]"),
        ({"action": "leave", "name": "backend"}, ("leave", "backend"), "You have left"),
        ({"action": "list"}, ("list",), "backend (1 member): The API"),
        ({"action": "members", "name": "backend"}, ("members", "backend"), "(build, idle)"),
        (
            {"action": "send", "name": "backend", "text": "The API changed.", "role": "tests"},
            ("send", "backend", "The API changed.", "tests"),
            "Sent to 3 of 4 members of backend:",
        ),
    ],
)
def test_each_action_does_what_it_says(
    tmp_path: Path, given: dict[str, Any], called: tuple[str, ...], said: str
) -> None:
    async def check(world: ToolWorld) -> None:
        world.tools["team"] = TeamTool()
        answer = await world.call("team", **given)
        assert world.teams.calls == [called]
        assert said in answer.output

    in_world(tmp_path, check)


def test_a_sender_is_told_of_each_member_whether_it_was_reached(tmp_path: Path) -> None:
    async def check(world: ToolWorld) -> None:
        world.tools["team"] = TeamTool()
        answer = await world.call("team", action="send", name="backend", text="hello")
        assert answer.output.splitlines()[1:] == [
            "- ses_one [tests]: hears it at its next step",
            "- ses_two [docs]: is woken by it",
            "- ses_ten [docs]: was stopped by the user, and hears it when they go on with it",
            "- ses_six [docs]: not accepted: its inbox is full",
        ]
        assert answer.metadata["count"] == 3

    in_world(tmp_path, check)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"action": "create"}, "create needs name"),
        ({"action": "send", "name": "backend"}, "send needs text"),
        ({"action": "send", "text": "hello"}, "send needs name"),
        ({"action": "leave", "name": "  "}, "leave needs name"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, given: dict[str, Any], missing: str) -> None:
    async def check(world: ToolWorld) -> None:
        world.tools["team"] = TeamTool()
        with pytest.raises(ToolError, match=missing):
            await world.call("team", **given)
        assert world.teams.calls == []

    in_world(tmp_path, check)


def test_only_who_may_be_in_a_team_is_shown_the_tool() -> None:
    model = Model("p", "any", "openai-chat", "http://127.0.0.1:1")
    assert "team" in tools_for((DEFAULTS,), model, interactive=True, teams=True)
    assert "team" not in tools_for((DEFAULTS,), model, interactive=True)
    denied = Layer("user", "user", (Rule("team", "*", "deny"),))
    assert "team" not in tools_for((DEFAULTS, denied), model, interactive=True, teams=True)

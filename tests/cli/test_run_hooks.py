"""What `roost run` shows of hooks that keep a turn back or send an actor on."""

import json
from typing import Any

import pytest
from terminal_user import User

from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

CHECK = "test -e checked && exit 0; touch checked; echo '2 tests fail: a < b' >&2; exit 2"


@pytest.fixture
def configured(user: User) -> dict[str, Any]:
    return json.loads(user.environment["ROOST_CONFIG_CONTENT"])


def use_hook(user: User, configured: dict[str, Any], on: str, command: str) -> None:
    hook = {"on": on, "command": command, "matcher": {"agent": ["build"]}}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(configured | {"hook": {"check": hook}})


def test_that_a_hook_sends_the_actor_on_is_one_line_with_its_reason(
    user: User, model: ScriptedModel, configured: dict[str, Any]
) -> None:
    use_hook(user, configured, "actor.pre_stop", CHECK)
    model.use(scenario("I am done.", "Now I am."))
    done = user.run("run", "go")
    assert done.code == 0, done.err
    assert done.out == "I am done.\n\nNow I am.\n"
    lines = done.err.splitlines()
    assert "↻ a hook sends it on (actor.pre_stop): 2 tests fail: a < b" in lines


def test_json_lines_tell_the_hook_between_the_steps(
    user: User, model: ScriptedModel, configured: dict[str, Any]
) -> None:
    use_hook(user, configured, "actor.pre_stop", CHECK)
    model.use(scenario("I am done.", "Now I am."))
    done = user.run("run", "--format", "json", "go")
    assert done.kinds() == [
        "step_start", "text", "step_finish", "hook",
        "step_start", "text", "step_finish", "result",
    ]  # fmt: skip
    assert done.lines[3]["on"] == "actor.pre_stop"
    assert done.lines[3]["reason"] == "2 tests fail: a < b"


def test_a_turn_that_a_hook_keeps_back_fails_with_its_reason_and_says_where_hooks_stand(
    user: User, configured: dict[str, Any]
) -> None:
    use_hook(user, configured, "session.pre", "echo 'the project is frozen' >&2; exit 2")
    done = user.run("run", "--format", "json", "go")
    assert done.code == 1
    assert done.result["error"]["name"] == "HookError"
    text = user.run("run", "go")
    assert text.code == 1
    assert "error: A hook keeps the turn back: the project is frozen\n  `roost config`" in text.err

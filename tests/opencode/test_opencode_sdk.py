"""OpenCode's SDK and its headless command, unchanged, on Roost."""

import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from opencode_packages import VERSIONS, OpenCode, opencode
from opencode_stage import PASSWORD, Stage, stage

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(240)]
SCRIPT = Path(__file__).with_name("sdk_client.mjs")
ANSWER = "There are app.py and more."


@pytest.fixture(params=VERSIONS)
def installed(request: pytest.FixtureRequest) -> OpenCode:
    return opencode(request.param)


@pytest.fixture
def server(installed: OpenCode, tmp_path: Path) -> Generator[Stage]:
    del installed  # whoever cannot have it needs no server
    with stage(tmp_path) as made:
        yield made


def ran(command: list[str], server: Stage) -> str:
    """What a client prints."""
    done = subprocess.run(
        command,
        cwd=server.project,
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_generations_of_the_sdk_prompt_and_hear_what_happens(
    installed: OpenCode, server: Stage
) -> None:
    modules = str(installed.modules)
    for generation in ("1", "2"):
        place = [server.url, str(server.project), PASSWORD]
        told = json.loads(ran(["node", str(SCRIPT), modules, generation, *place], server))
        assert told["session"]["title"] == "By the SDK"
        assert _words(told["answer"]) == ANSWER
        assert [_words(one) for one in told["messages"]][-1] == ANSWER
        assert told["missing"]["name"] == "NotFoundError"
        _check_events(told["seen"], told["session"]["id"])
    assert server.model.violations == []


def _words(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _check_events(seen: list[dict[str, Any]], session_id: str) -> None:
    types = [event["type"] for event in seen]
    assert types[0] == "server.connected"
    assert types[-1] == "session.idle"
    assert types.count("session.idle") == 1
    statuses = [e["properties"]["status"]["type"] for e in seen if e["type"] == "session.status"]
    assert statuses == ["busy", "idle"]
    parts = [e["properties"]["part"] for e in seen if e["type"] == "message.part.updated"]
    kinds = [part["type"] for part in parts]
    assert kinds.index("step-start") < kinds.index("reasoning") < kinds.index("tool")
    assert {"text", "step-finish"} <= set(kinds)
    tool = [part for part in parts if part["type"] == "tool"][-1]
    assert (tool["tool"], tool["state"]["status"]) == ("bash", "completed")
    delta = next(e["properties"] for e in seen if e["type"] == "message.part.delta")
    assert (delta["sessionID"], delta["field"]) == (session_id, "text")


def test_the_headless_command_runs_on_an_attached_server(
    installed: OpenCode, server: Stage
) -> None:
    program = str(installed.program)
    place = ["--attach", server.url, "--dir", str(server.project)]
    # It begins to listen only while its prompt is on the way already.
    said = ran([program, "run", *place, "--format", "json", "slowly list the files"], server)
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["type"] for line in lines] == [
        "step_start",
        "text",
        "tool_use",
        "step_finish",
        "step_start",
        "text",
        "step_finish",
    ]
    assert lines[-2]["part"]["text"] == ANSWER

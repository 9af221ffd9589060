"""The examples of the README, carried out: rules, an agent, programs against a real server."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal_user import User, ended, read_until

from scripted_model.scenario import Call, scenario
from scripted_model.server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
OTHERS = README.partition("## For other programs")[2]


def block(kind: str, text: str = README) -> str:
    """The first code block of that kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def example(kind: str, port: str) -> str:
    return block(kind, OTHERS).replace("4096", port)


def test_every_page_that_is_linked_is_there() -> None:
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 5
    assert [one for one in linked if not (ROOT / one).exists()] == []


def test_the_rules_do_what_is_said_of_them(user: User, model: ScriptedModel) -> None:
    wanted = {
        "ls": True,
        "make test": True,
        "git push": False,
        "rm -r build": True,
        "rm mine.txt": False,
        "make": False,
    }
    (user.folder / "build").mkdir()
    (user.folder / "mine.txt").write_text("mine")
    (user.folder / "Makefile").write_text("test:\n\t@true\n")
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"]) | json.loads(block("json"))
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    model.use(scenario([Call("bash", {"command": one}) for one in wanted], "done"))
    done = user.run("run", "--format", "json", "go")
    states = [line["part"]["state"] for line in done.lines if line["type"] == "tool_use"]
    assert {one["input"]["command"]: one["status"] == "completed" for one in states} == wanted
    assert not (user.folder / "build").exists()


def test_the_agent_of_a_page_is_one(user: User) -> None:
    pages = user.home / "config" / "agents"
    pages.mkdir(parents=True)
    (pages / "review.md").write_text(block("markdown"))
    agent = json.loads(user.call("agents", "show", "review", "--format", "json").out)
    assert agent["mode"] == "all"
    assert agent["model"] == "standard"
    assert agent["prompt"].strip().startswith("You review changes.")


@pytest.fixture
def port(user: User) -> Iterator[str]:
    process = user.start("serve", env={"ROOST_SERVER_PASSWORD": "secret"})
    assert process.stdout is not None
    yield read_until(process.stdout, "\n").strip().rpartition(":")[2]
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 0


def test_the_requests_of_the_shell_work(user: User, port: str, model: ScriptedModel) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    model.use(scenario("hello yourself"))
    lines = [re.sub(r"\s#.*", "", line) for line in example("sh", port).splitlines()]
    define, make, say, follow = lines
    script = f"""{define}
    ID=$({make} | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["id"])')
    {say.replace("session/ID/", "session/$ID/")}
    echo
    {follow.replace("send", "send -m 1", 1)} || true
    """
    done = subprocess.run(
        ["bash", "-ec", script],
        env={**user.environment, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer, _, events = done.stdout.partition("\n")
    assert [part["text"] for part in json.loads(answer)["parts"] if part["type"] == "text"] == [
        "hello yourself"
    ]
    assert "server.connected" in events


def test_the_program_in_python_works(user: User, port: str, model: ScriptedModel) -> None:
    model.use(scenario("It is a demo."))
    run = [sys.executable, "-c", example("python", port)]
    secret = {**user.environment, "ROOST_SERVER_PASSWORD": "secret"}
    done = subprocess.run(run, env=secret, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("It is a demo.\n", "")


def test_the_program_in_python_without_a_server_says_how_to_start_one(user: User) -> None:
    run = [sys.executable, "-c", example("python", "1")]
    secret = {**user.environment, "ROOST_SERVER_PASSWORD": "secret"}
    done = subprocess.run(run, env=secret, capture_output=True, text=True, timeout=30, check=False)
    assert "there is no server at http://127.0.0.1:1" in done.stderr
    assert "Start it with: ROOST_SERVER_PASSWORD=... roost serve --port 1" in done.stderr

"""The examples of the README for other programs, run against a real server."""

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

from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
OTHERS = README.partition("## For other programs")[2]


def example(kind: str, port: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", OTHERS, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1].replace("4096", port)


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

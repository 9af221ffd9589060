"""`python -m demo`, in an empty home: the sample is repaired, and only what works is offered."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal_user import read_until

from demo.relay import Relay
from roost.llm.gguf import runtime_is_installed
from scripted_model.scenario import scenario
from scripted_model.server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


def variables(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home), **more}


def demo(home: Path, *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "demo", *options],
        cwd=ROOT,
        env=variables(home, **more),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def own_model(model: ScriptedModel) -> dict[str, str]:
    """The environment in which Roost knows `model` as own/scripted."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "x"},
        "models": {"scripted": {}},
    }
    return {"ROOST_CONFIG_CONTENT": json.dumps({"provider": {"own": provider}})}


def test_the_demo_repairs_the_sample_and_leaves_nothing(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "all green" in done.stdout
    assert "edit cart.py" in done.stdout
    assert "9 steps" in done.stdout
    assert "make demo KEEP=1" in done.stdout
    assert list(tmp_path.glob("roost-demo-*")) == []


def test_the_demo_offers_no_session_that_goes_with_it(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert "go on with" not in done.stdout + done.stderr
    assert "-s ses_" not in done.stdout + done.stderr


def test_the_way_back_to_a_kept_demo_works(tmp_path: Path) -> None:
    done = demo(tmp_path, "--keep")
    assert done.returncode == 0, done.stderr
    offered = done.stdout.partition("Kept, for a look:\n")[2].splitlines()
    commands = [line.partition("    ")[0].strip() for line in (row.strip() for row in offered)]
    with ScriptedModel(scenario("went on")) as model:
        home = own_model(model)
        shell = "\n".join(commands).replace("PROVIDER/MODEL", "own/scripted")
        ran = subprocess.run(
            ["bash", "-ec", shell],
            env=variables(tmp_path, **home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert "+        whole = sum(price * count" in ran.stdout
    assert "Both bugs are fixed" in ran.stdout
    assert "went on" in ran.stdout
    assert list(tmp_path.glob("roost-demo-*")) == []


def test_the_demo_of_a_real_model_leaves_no_session_in_the_home_of_the_user(
    tmp_path: Path,
) -> None:
    with ScriptedModel(scenario("I cannot.")) as model:
        home = {"ROOST_HOME": str(tmp_path / "roost"), **own_model(model)}
        done = demo(tmp_path, "--model", "own/scripted", **home)
    assert done.returncode == 1
    assert "they still fail" in done.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "roost.cli", "sessions", "list", "--all", "--format", "json"],
        env=variables(tmp_path, **home),
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert json.loads(listed.stdout) == []


def test_the_demo_without_an_embedded_model_says_what_to_install(tmp_path: Path) -> None:
    if runtime_is_installed():
        pytest.skip("an embedded model is installed here")
    done = demo(tmp_path, "--model", "local")
    assert done.returncode == 1
    assert "make local" in done.stdout


def test_the_demo_of_the_embedded_model_shows_that_it_runs(tmp_path: Path) -> None:
    if not runtime_is_installed():
        pytest.skip("no embedded model is installed here")
    done = demo(tmp_path, "--model", "local")
    assert done.returncode == 0, done.stderr
    assert "not expected to mend the sample" in done.stdout
    assert "The embedded model ran" in done.stdout


def test_an_embedded_model_that_does_not_run_is_a_failure(tmp_path: Path) -> None:
    done = demo(tmp_path, "--model", f"local/{tmp_path}/nothing.gguf")
    assert done.returncode == 1
    assert "the embedded model did not run" in done.stderr


def test_the_demo_fails_when_the_model_cannot_be_used(tmp_path: Path) -> None:
    done = demo(tmp_path, "--model", "nobody/nothing")
    assert done.returncode == 1
    assert "roost ended with exit code 2" in done.stderr


def test_the_demo_is_coloured_on_a_terminal_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "demo"],
        cwd=ROOT,
        env=variables(tmp_path, TERM="xterm"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    with os.fdopen(ours, "r") as terminal:
        assert "\x1b[" in read_until(terminal, "cart.py")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
    assert list(tmp_path.glob("roost-demo-*")) == []


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_all_output_but_the_way_to_go_on_is_let_through(size: int) -> None:
    said = b'go on with: us\n\ngo\n\x1b[2mgo on with: roost run -s ses_1 "..."\x1b[0m\nlast\ngo on'
    relay = Relay()
    pieces = [relay.feed(said[at : at + size]) for at in range(0, len(said), size)]
    shown = b"".join([*pieces, relay.close()])
    assert shown == b"go on with: us\n\ngo\nlast\ngo on"


def test_a_line_that_cannot_be_the_last_is_shown_as_it_grows() -> None:
    relay = Relay()
    assert relay.feed(b"an answ") == b"an answ"
    assert relay.feed(b"er\n") == b"er\n"

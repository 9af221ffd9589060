"""The scripted model as a process of its own, its control routes, its log, and the demo."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import msgspec
import pytest
from scripted_requests import HEADERS, PATHS, answer, first, post, text_of

from scripted_model.demo import PROMPT, SAMPLE, demo_scenario, write_sample
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import Barrier, Call, Text, load, scenario
from scripted_model.server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


def test_a_process_plays_a_scenario_and_is_steered_over_http(tmp_path):
    log = tmp_path / "requests.jsonl"
    scene = scenario([Barrier("go"), Text("one")], "two")
    with ScriptedProcess(scene, "--log", str(log), "--key", "sk-test-000") as model:
        model.release("go")
        assert text_of("chat", answer(model, "chat", first("chat"))) == "one"
        assert post(model, "chat", first("chat", " ")).status_code == 400
        assert [each["rule"] for each in model.violations] == ["empty"]
        model.use(scenario("three"))
        assert text_of("chat", answer(model, "chat", first("chat"))) == "three"
        model.wait_for_requests(3)
        assert model.state()["outcomes"] == ["done", "rejected", "done"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["request", "end"] * 3
    assert lines[0]["body"] == first("chat")
    assert lines[1]["outcome"] == "done"
    assert lines[3]["violations"][0]["rule"] == "empty"
    assert "sk-test-000" not in log.read_text()


def test_a_process_ends_when_its_input_does():
    command = [sys.executable, "-m", "scripted_model", "--say", "hi", "--until-eof"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    url = process.stdout.readline().strip()
    reply = httpx2.post(url + PATHS["chat"], json=first("chat"), headers=HEADERS["chat"])
    assert text_of("chat", reply.json()) == "hi"
    process.communicate(timeout=10)
    assert process.returncode == 0


def test_an_input_without_an_end_to_wait_for_is_said():
    command = [sys.executable, "-m", "scripted_model", "--until-eof"]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "needs a pipe" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scenario", "nothing.json"], "nothing.json cannot be read: No such file"),
        (["--scenario", "README.md"], "README.md is no scenario: JSON is malformed"),
        (["--script", "json"], "'json' is not MODULE:NAME"),
        (["--script", "no_such.module:x"], "there is no module no_such.module"),
        (["--script", "json:nothing"], "json has no nothing"),
        (["--port", "99999"], "'99999' is not a port"),
        (["--log", "/nothing/here"], "/nothing/here cannot be written"),
    ],
)
def test_wrong_arguments_are_told_in_a_line(options, said):
    command = [sys.executable, "-m", "scripted_model", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_told_in_a_line():
    with ScriptedModel(scenario("x")) as model:
        command = [sys.executable, "-m", "scripted_model", "--port", model.url.rpartition(":")[2]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be used: Address already in use\n" in done.stderr
    assert "Traceback" not in done.stderr


INTERRUPTED = """\
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.path.insert(0, os.getcwd())
runpy.run_module(sys.argv[1].partition(".")[0], run_name="__main__")
"""
"""A program that is interrupted while it imports what it needs."""


@pytest.mark.parametrize("module", ["scripted_model.command", "demo.command"])
def test_ctrl_c_while_it_starts_shows_nothing(module):
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_ctrl_c_while_it_serves_ends_it_well():
    process = subprocess.Popen(
        [sys.executable, "-m", "scripted_model"], cwd=ROOT, stdout=-1, stderr=-1, text=True
    )
    assert process.stdout.readline().startswith("http://")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10) == ("", "")
    assert process.returncode == 0


def test_models_are_listed_in_both_shapes():
    with ScriptedModel(scenario("x"), models=["a", "b/c"]) as model:
        url = f"{model.url}/v1/models"
        openai = httpx2.get(url).json()
        assert (openai["object"], [each["id"] for each in openai["data"]]) == ("list", ["a", "b/c"])
        anthropic = httpx2.get(url, headers=HEADERS["anthropic"]).json()
        assert [each["type"] for each in anthropic["data"]] == ["model", "model"]
        assert (anthropic["has_more"], anthropic["last_id"]) == (False, "b/c")
        assert httpx2.get(f"{url}/b%2Fc").json()["id"] == "b/c"
        assert httpx2.get(f"{url}/none").status_code == 404
        assert httpx2.get(f"{model.url}/v2/none").status_code == 404
        assert httpx2.get(model.url + PATHS["chat"]).status_code == 405


def test_a_port_that_is_taken_is_said_at_the_start():
    with ScriptedModel(scenario("x")) as model:
        other = ScriptedModel(scenario("x"), port=model.port)
        with pytest.raises(RuntimeError) as raised:
            other.start()
        assert isinstance(raised.value.__cause__, OSError)


def test_the_demo_file_is_the_demo_scenario():
    assert load(ROOT / "scripted_model" / "demo.json") == demo_scenario()
    assert PROMPT


def run_tests(folder):
    command = [sys.executable, "-m", "unittest", "-q"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def test_the_demo_repairs_its_sample(tmp_path):
    write_sample(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SAMPLE)
    assert run_tests(tmp_path) != 0
    edits = [
        piece.arguments
        for step in demo_scenario().steps
        for piece in step.reply.pieces
        if isinstance(piece, Call) and piece.name == "edit"
    ]
    for number, edit in enumerate(edits):
        assert (run_tests(tmp_path) == 0) == (number == len(edits))
        path = tmp_path / edit["filePath"]
        text = path.read_text()
        assert text.count(edit["oldString"]) == 1
        path.write_text(text.replace(edit["oldString"], edit["newString"]))
    assert run_tests(tmp_path) == 0


def test_a_scenario_in_json_is_short():
    data = msgspec.json.encode(scenario("hi"))
    assert data == b'{"steps":[{"reply":{"pieces":[{"type":"text","text":"hi"}]}}]}'


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"step": []}, "unknown field `step`. Did you mean `steps`?"),
        (
            {"steps": [{"reply": {"pieces": [{"type": "text", "txt": "hi"}]}}]},
            "`$.steps[0].reply.pieces[0]`. Did you mean `text`?",
        ),
        ({"steps": [], "zzzzzz": 1}, "unknown field `zzzzzz`"),
    ],
)
def test_a_key_that_no_scenario_has_is_an_error_that_says_which_was_meant(tmp_path, written, told):
    file = tmp_path / "scene.json"
    file.write_text(json.dumps(written))
    command = [sys.executable, "-m", "scripted_model", "--scenario", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr

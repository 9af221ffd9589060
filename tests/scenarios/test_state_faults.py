"""Disks that fill, files that break, terminals that die, providers that refuse for good."""

import fcntl
import json
import os
import pty
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from household import ROOST, Answer, Household
from invariants import assert_nothing_open, assert_rows_are_sound, assert_sound
from PIL import Image

from scripted_model.picture import Request
from scripted_model.scenario import (
    Call,
    Reasoning,
    Reply,
    Stall,
    Status,
    Text,
    reply,
    scenario,
    step,
)

# Blank and broken-off content


def test_an_interrupt_while_the_model_thinks_leaves_nothing_blank(house: Household) -> None:
    house.play(scenario([Reasoning("let me think " * 5), Stall()], scope="server"))
    process = house.start("run", "--yes", "Think.")
    house.model.wait_for_requests(1)
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert_sound(house)


@pytest.mark.parametrize("blank", ["", "   \n", "\t", "\u00a0\u2003 "])
def test_a_blank_prompt_is_refused_and_leaves_no_trace(chat_house: Household, blank: str) -> None:
    house = chat_house
    done = house.run("run", "--yes", "--", blank)
    assert done.returncode == 2
    assert "prompt" in done.stderr
    assert house.model.requests == []


def test_silent_tools_and_blank_words_are_taken_by_every_provider(house: Household) -> None:
    house.write("empty.txt", "")
    house.play(
        scenario(
            [Text("  \n"), Call("bash", {"command": "true"})],
            [Reasoning(" "), Call("bash", {"command": "printf '\\n\\n'"})],
            [
                Text("\n"),
                Call("read", {"filePath": "empty.txt"}),
                Call("glob", {"pattern": "*.no"}),
            ],
            "done",
            scope="server",
        )
    )
    answer = house.prompt("Go.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert_sound(house)


# Refusals that come again with every request


def refusal(message: str, code: str) -> Status:
    error = {"type": "invalid_request_error", "message": message, "code": code}
    return Status(400, {}, json.dumps({"type": "error", "error": error}))


REASONING = refusal("messages.1.content.0: Invalid `signature` in `thinking` block", "invalid")
MEDIA = refusal("messages.2: image exceeds 5 MB maximum", "image_too_large")


@pytest.mark.parametrize("fault", [REASONING, MEDIA], ids=["reasoning", "media"])
def test_what_a_provider_refuses_in_history_is_left_out_once_and_never_in_a_loop(
    house: Household, fault: Status
) -> None:
    Image.new("RGB", (30, 30), "red").save(house.project / "a.png")
    first = [Reasoning("hm"), Call("read", {"filePath": "a.png"})]
    house.play(scenario(first, fault, "mended", scope="server"))
    answer = house.prompt("Look.")
    assert (answer.code, answer.text) == (0, "mended"), answer.err
    house.play(scenario(step(fault, times=9), scope="server"))
    before = len(house.model.requests)
    answer = house.prompt("Again.", "--continue")
    assert answer.code == 1
    assert answer.result["error"]["data"]["message"]
    assert len(house.model.requests) <= before + 2
    assert_sound(house)


def test_a_wait_of_hours_is_told_at_once(house: Household) -> None:
    house.play(scenario(Status(429, {"retry-after": "7200"}), "never", scope="server"))
    began = time.monotonic()
    answer = house.prompt("Go.")
    assert answer.code == 1
    assert time.monotonic() - began < 20
    assert "2.0 h" in answer.result["error"]["data"]["message"]
    assert len(house.model.requests) == 1
    assert_sound(house)


def test_honest_repetition_is_left_alone(chat_house: Household) -> None:
    house = chat_house
    table = "".join(f"{number},{number * 7 % 13},item\n" for number in range(3000))
    code = "".join(f"    case {number}: return value_{number}\n" for number in range(200))
    house.play(scenario([Reasoning(code), Text(table, size=200)], scope="server"))
    answer = house.prompt("Print it.")
    assert (answer.code, answer.text.strip()) == (0, table.strip()), answer.err
    assert_sound(house)


# Disk and damage


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own at `folder`; skips the test where none may be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def wordy(seed: int) -> str:
    """Text that is no loop."""
    chance = random.Random(seed)
    return " ".join(str(chance.random()) for _ in range(1500))


def fill(request: Request) -> Reply:
    if "fill" not in request.last_user_text:
        return reply("pong")
    number = len(request.messages)
    return reply([Text(wordy(number)), Call("bash", {"command": f"seq {number} {number + 9000}"})])


@pytest.mark.parametrize("size", ["500k", "1200k"])
def test_a_full_disk_is_told_and_the_work_goes_on_when_there_is_room(
    chat_house: Household, size: str
) -> None:
    house = chat_house
    with small_disk(house.home, size):
        house.play(fill)
        answer = house.prompt("fill it")
        assert answer.code == 1, answer.lines
        assert "disk is full" in json.dumps(answer.result["error"])
        listed = house.run("sessions", "list")
        assert (listed.returncode, "fill it" in listed.stdout) == (0, True), listed.stderr
        full = house.run("run", "--yes", "--continue", "ping")
        if full.returncode:
            assert "No space left" in full.stderr or "disk is full" in full.stderr
            assert "Roost itself failed" not in full.stderr
        subprocess.run(["mount", "-o", "remount,size=60m", str(house.home)], check=True)
        began = time.monotonic()
        assert_sound(house)
        assert time.monotonic() - began < 8
        kept = house.rows("SELECT data FROM part WHERE data LIKE '%fill it%'")
        assert kept, "the user's words are lost"


def test_a_limit_on_file_sizes_is_a_full_disk(chat_house: Household) -> None:
    house = chat_house
    house.play(fill)
    limited = 700 * 1024

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limited, limited))

    environment = {**house.environment, "ROOST_CONFIG_CONTENT": json.dumps(house.config)}
    done = subprocess.run(
        [ROOST, "run", "--format", "json", "--yes", "fill it"],
        cwd=house.project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
        check=False,
    )
    assert Answer(done).code == 1
    assert Answer(done).result["error"]["data"]["message"]
    assert "Traceback" not in done.stderr
    assert_sound(house)


def _halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


DAMAGE = {
    "half of it is gone": _halved,
    "its end is zeros": lambda data: data[:-4096] + bytes(4096),
    "its head is garbage": lambda data: b"garbage!" * 20 + data[160:],
    "its middle is zeros": lambda data: data[:8192] + bytes(8192) + data[16384:],
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", [("run", "--yes", "ping"), ("sessions", "list", "--all")])
def test_a_damaged_database_is_set_aside_and_named(
    chat_house: Household, damage: str, command: tuple[str, ...]
) -> None:
    house = chat_house
    house.play(lambda _: reply("pong"))
    assert house.prompt("ping").text == "pong"
    path = next(house.home.rglob("roost.db"))
    broken = DAMAGE[damage](path.read_bytes())
    path.write_bytes(broken)
    done = house.run(*command)
    assert done.returncode == 0, done.stderr
    (aside,) = house.home.rglob("roost.db.damaged-*")
    assert str(aside) in done.stderr
    assert aside.read_bytes() == broken
    assert house.prompt("ping").text == "pong"
    assert_rows_are_sound(house)


def test_a_newer_database_is_refused_and_left_alone(chat_house: Household) -> None:
    house = chat_house
    house.play(lambda _: reply("pong"))
    assert house.prompt("ping").text == "pong"
    path = next(house.home.rglob("roost.db"))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 900000")
        connection.execute("UPDATE meta SET value = '900000' WHERE key = 'schema'")
    connection.close()
    before = path.read_bytes()
    for command in (("run", "--yes", "--continue", "ping"), ("sessions", "list")):
        done = house.run(*command)
        assert done.returncode != 0
        assert "newer" in done.stderr
        assert "Traceback" not in done.stderr
    assert path.read_bytes() == before
    assert list(house.home.rglob("*damaged*")) == []


@pytest.mark.parametrize("state", [b"", b"\x00" * 64, b"{", b"[]", b"\xff\xfe"])
def test_a_broken_file_of_state_stops_nothing(chat_house: Household, state: bytes) -> None:
    house = chat_house
    house.write("roost.json", '{"permission": {"bash": "allow"}}')
    folder = house.home / "state"
    folder.mkdir(parents=True)
    (folder / "trust.json").write_bytes(state)
    house.play(lambda _: reply("pong"))
    answer = Answer(house.run("run", "--format", "json", "ping"))
    assert (answer.code, answer.text) == (0, "pong"), answer.err
    assert "until you trust" in answer.err


# Terminals and pipes


class Terminal:
    """A run on a terminal of its own."""

    def __init__(self, house: Household, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(self.ours)

        def lead() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        config = json.dumps(house.config)
        self.process = subprocess.Popen(
            [ROOST, *words],
            env={**house.environment, "TERM": "xterm", "ROOST_CONFIG_CONTENT": config},
            cwd=house.project,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=lead,
        )
        os.close(theirs)


DEATHS = {"closed": 129, "ctrl-c": 130, "kill -9": -9, "terminate": 143}


@pytest.mark.parametrize("death", DEATHS)
def test_a_run_never_outlives_its_terminal_and_leaves_its_modes(
    chat_house: Household, death: str
) -> None:
    house = chat_house
    command = "touch begun; setsid sleep 331 & sleep 331"
    house.play(scenario(Call("bash", {"command": command}), scope="server"))
    terminal = Terminal(house, "run", "--yes", "Go.")
    house.model.wait_until((house.project / "begun").exists)
    match death:
        case "closed":
            os.close(terminal.ours)
        case "ctrl-c":
            os.write(terminal.ours, b"\x03")
        case "kill -9":
            terminal.process.kill()
        case _:
            terminal.process.terminate()
    assert terminal.process.wait(10) == DEATHS[death]
    house.wait_until_nothing_lives(5)
    if death != "closed":
        assert termios.tcgetattr(terminal.ours) == terminal.before
        os.close(terminal.ours)
    assert_sound(house)


def test_a_reader_of_json_lines_who_leaves_ends_the_run_and_its_commands(
    chat_house: Household,
) -> None:
    house = chat_house
    house.play(lambda r: reply(Call("bash", {"command": f"sleep 0.2; echo {len(r.messages)}"})))
    environment = {**house.environment, "ROOST_CONFIG_CONTENT": json.dumps(house.config)}
    script = f"{ROOST} run --format json --yes Go. | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=house.project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    line, code = done.stdout.splitlines()
    assert json.loads(line)["type"] == "step_start"
    assert code == "141"
    assert "Traceback" not in done.stderr
    assert len(house.model.requests) < 4
    assert_nothing_open(house)
    assert_sound(house)


FAILURES: dict[str, tuple[list[str], int]] = {
    "no such model": (["--model", "test/none-such", "--agent", "nobody"], 2),
    "refused key": ([], 1),
    "no such session": (["--session", "ses_nothing"], 2),
    "no such folder": (["--dir", "nowhere"], 2),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_is_json_too_and_has_its_exit_code(
    chat_house: Household, failure: str
) -> None:
    house = chat_house
    options, code = FAILURES[failure]
    house.play(scenario(step(Status(401), times=5), scope="server"))
    process = house.start("run", "--format", "json", *options, "--", "Go.")
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines[-2:]] == ["error", "result"]
    assert lines[-1]["exit"] == code


def test_a_folder_without_git_or_without_anything_is_fine(chat_house: Household) -> None:
    house = chat_house
    shutil.rmtree(house.project)
    house.project.mkdir()
    house.environment["PATH"] = str(house.folder / "bin")
    (house.folder / "bin").mkdir()
    house.play(lambda _: reply("pong"))
    answer = house.prompt("ping")
    assert (answer.code, answer.text) == (0, "pong"), answer.err

"""What commands do to an agent: hang, fork, flood, ask, and write what is no text."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from household import Answer, Household
from invariants import assert_plain, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply, scenario


def states(house: Household, *calls: Call) -> list[dict[str, Any]]:
    """The states of calls that one run makes one after the other."""
    house.play(scenario(*calls, "done", scope="server"))
    answer = house.prompt("Go.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    found = [part["state"] for part in answer.tools()]
    assert len(found) == len(calls)
    return found


def bash(command: str, **more: Any) -> Call:
    return Call("bash", {"command": command, **more})


def seconds(state: dict[str, Any]) -> float:
    return float(state["time"]["end"] - state["time"]["start"]) / 1000


LEAVING = [
    "sleep 321 & echo done",
    "setsid sleep 321 & echo done",
    "(sleep 321 &); echo done",
    "nohup sleep 321 >/dev/null 2>&1 & disown; echo done",
    "nohup setsid sh -c 'sleep 321; echo never' </dev/null & echo done",
    "python3 -m http.server 0 --bind 127.0.0.1 & echo done",
    "while :; do sleep 321; done & echo done",
]


def test_what_stays_in_the_background_holds_no_call_and_ends_with_the_turn(
    chat_house: Household,
) -> None:
    house = chat_house
    for command, state in zip(LEAVING, states(house, *map(bash, LEAVING)), strict=True):
        assert state["output"].startswith("done\n"), command
        assert "Still running in the background" in state["output"], command
        assert seconds(state) < 3, command
    assert_sound(house)


STUCK = [
    "yes | sleep 322",
    "trap '' TERM; sleep 322 & sleep 322",
    "setsid sh -c 'trap \"\" TERM HUP INT; sleep 322; sleep 322' & sleep 322",
    "python3 -c 'import os, time; os.fork() or os.setsid(); time.sleep(322)'",
    "echo partial; sleep 322",
]


def test_a_call_that_takes_too_long_ends_with_all_its_processes(chat_house: Household) -> None:
    house = chat_house
    left: list[str] = []

    def play(request: Request) -> Reply:
        # The model is called again as soon as the call has its result.
        left.extend(line for line in house.living() if "322" in line)
        number = len(house.model.requests) - 1
        return reply(bash(STUCK[number], timeout=300)) if number < len(STUCK) else reply("done")

    house.play(play)
    answer = house.prompt("Go.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert left == []
    for command, part in zip(STUCK, answer.tools(), strict=True):
        assert "took longer than" in part["state"]["output"], command
        assert seconds(part["state"]) < 5, command
    assert "partial\n" in answer.tools()[-1]["state"]["output"]
    assert_sound(house)


ASKING = [
    "read x",
    "read x < /dev/tty",
    "git init -q .; git config user.name n; git config user.email e; git commit --allow-empty",
    "git commit -qm one --allow-empty; git rebase -i --root",
    "python3",
    "python3 -c 'input()'",
    "python3 -c 'import getpass; getpass.getpass()'",
    "printf 'Continue? [y/n] '; read answer",
    "select x in a b; do echo $x; done",
    "stty -a",
]


def test_a_command_that_wants_a_person_fails_at_once_and_says_what_to_do(
    chat_house: Household,
) -> None:
    house = chat_house
    for command, state in zip(ASKING, states(house, *map(bash, ASKING)), strict=True):
        assert seconds(state) < 4, command
        assert "no input" in state["output"], command
    (plain,) = states(house, bash("echo x > f; less f; git log -1; sudo -k true 2>/dev/null; cat"))
    assert plain["output"].startswith("x\n")
    assert seconds(plain) < 4
    assert_sound(house)


SHOWN = {
    "printf 'a\\0b\\033[31mred\\033[0m\\007 \\033]0;title\\007c\\n'": "a␀bred␇ c",
    "for i in 1 2 3; do printf '\\rprogress %d%%' $i; done; echo": "progress 3%",
    "printf 'caf\\351\\n'": "café",
    "printf '\\304\\343\\272\\303\\243\\254\\312\\300\\275\\347\\n'": "你好，世界",
    "for i in 1 2; do printf '\\344\\270'; sleep 0.05; printf '\\255'; done": "中中",
    "printf 'one\\r\\ntwo\\r\\n'": "one\ntwo",
    "printf ''": "(no output)",
}


def test_whatever_a_command_writes_is_shown_as_text(chat_house: Household) -> None:
    house = chat_house
    house.write("cut.bin", "")
    (house.project / "cut.bin").write_bytes(b"ok \xed\xa0\x80 \xff\xfe " + b"\xe4\xb8")
    calls = [bash(command) for command in SHOWN]
    found = states(house, *calls, bash("cat cut.bin"), bash("head -c 9000 /dev/urandom"))
    for (command, wanted), state in zip(SHOWN.items(), found, strict=False):
        assert state["output"].rstrip("\n") == wanted, command
    for state in found:
        state["output"].encode()
        assert_plain(state["output"])
    assert found[-2]["output"].startswith("ok ")
    assert_sound(house)


def test_a_flood_costs_no_memory_and_leaves_a_file_of_bounded_size(chat_house: Household) -> None:
    house = chat_house
    peaks: list[int] = []

    def play(request: Request) -> Reply:
        if not request.results:
            return reply(bash("echo begin; yes | head -c 200000000; echo end"))
        status = Path(f"/proc/{process.pid}/status").read_text()
        peaks.append(int(status.split("VmHWM:")[1].split()[0]))
        assert len(request.results[-1]) < 60_000
        return reply("done")

    house.play(play)
    process = house.start("run", "--format", "json", "--yes", "Go.")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert peaks[0] < 130_000, "kilobytes"
    assert "begin" in out
    files = list(house.home.rglob("outputs/*"))
    assert [path.stat().st_size for path in files] == [64 * 1024 * 1024]
    assert sum(path.stat().st_size for path in house.home.rglob("roost.db*")) < 3_000_000
    files[0].unlink()
    assert_sound(house)


def test_a_directory_that_is_gone_is_told_and_the_work_goes_on(chat_house: Household) -> None:
    house = chat_house
    (house.project / ".git").mkdir()
    sub = house.project / "sub"
    sub.mkdir()

    def play(_: Request) -> Reply:
        done = len(house.model.requests) - 1
        if done == 0:
            return reply(bash("cd ..; pwd"))
        if done == 1:
            shutil.rmtree(sub)
        return reply(bash("pwd")) if done < 3 else reply("done")

    house.play(play)
    answer = Answer(house.run("run", "--format", "json", "--yes", "--dir", "sub", "Go."))
    assert (answer.code, answer.text) == (0, "done"), answer.err
    outputs = [part["state"]["output"] for part in answer.tools()]
    assert outputs[0].strip() == str(house.project)
    assert outputs[1].splitlines()[0] == str(house.project)
    assert "does not exist" in outputs[1]


@pytest.mark.parametrize("name", ["timeout", "workdir", "command"])
def test_an_argument_that_makes_no_sense_is_an_error_of_the_call(
    chat_house: Household, name: str
) -> None:
    house = chat_house
    wrong = {"timeout": -5, "workdir": "no/where", "command": ""}
    (state,) = states(house, Call("bash", {"command": "touch ran", name: wrong[name]}))
    assert state["status"] == "error"
    assert name in state["error"]
    assert not (house.project / "ran").exists()


def test_calls_of_one_step_each_get_their_result_while_one_hangs(chat_house: Household) -> None:
    house = chat_house
    house.write("a.txt", "content\n")
    calls = [bash("sleep 323", timeout=500), Call("read", {"filePath": "a.txt"}), bash("echo x")]
    house.play(scenario(calls, "done", scope="server"))
    began = time.monotonic()
    answer = house.prompt("Go.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert time.monotonic() - began < 15
    outputs = [part["state"]["output"] for part in answer.tools()]
    assert "took longer" in outputs[0]
    assert "content" in outputs[1]
    assert outputs[2] == "x"
    assert_sound(house)

"""Two processes, one session: prompts that come while the actor works, and stops."""

import os
import signal
import time

import pytest
from household import Answer, Household
from invariants import assert_nothing_open, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Stall, Text, reply, scenario


def test_a_prompt_while_busy_is_seen_at_the_next_step_in_the_running_turn(
    house: Household,
) -> None:
    house.play(_until_told)
    first = house.start("run", "--yes", "--format", "json", "Work.")
    house.model.wait_for_requests(2)
    second = house.prompt("Now stop please.", "--continue")
    out, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    assert "I was told to stop." in out
    assert (second.code, second.text) == (0, "I was told to stop."), second.err
    turns = house.rows("SELECT outcome, steps FROM turn")
    assert [row["outcome"] for row in turns] == ["success"]
    assert_sound(house)


def _until_told(request: Request) -> Reply:
    if "Now stop please." in request.all_text:
        return reply([Text("I was told to stop.")])
    return reply([Call("bash", {"command": f"sleep 0.3; echo {len(request.messages)}"})])


def test_a_burst_of_prompts_keeps_its_order(chat_house: Household) -> None:
    house = chat_house
    house.play(_until_told)
    first = house.start("run", "--yes", "Work.")
    house.model.wait_for_requests(2)
    words = [f"note {number}" for number in range(5)]
    others = [house.start("run", "--yes", "--continue", word) for word in words]
    time.sleep(1.5)
    last = house.prompt("Now stop please.", "--continue")
    assert last.code == 0
    for process in (first, *others):
        process.communicate(timeout=30)
        assert process.returncode == 0
    rows = house.rows(
        "SELECT i.body FROM inbox i JOIN message m ON m.id = i.message_id ORDER BY m.seq"
    )
    accepted = house.rows("SELECT body FROM inbox ORDER BY seq")
    assert [row["body"] for row in rows] == [row["body"] for row in accepted]
    assert len(rows) == 7
    assert_sound(house)


STAGES = {
    "before the model answers": [Stall()],
    "while text streams": [Text("some words "), Stall()],
    "while a call streams": [Text("x"), Call("bash", '{"command": "touch ra'), Stall()],
    "while a tool runs": [Call("bash", {"command": "touch begun; sleep 60 & sleep 60"})],
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_at_any_stage_ends_in_order(house: Household, stage: str) -> None:
    house.play(scenario(STAGES[stage], scope="server"))
    process = house.start("run", "--yes", "--format", "json", "Work.")
    house.model.wait_for_requests(1)
    if stage == "while a tool runs":
        house.model.wait_until(lambda: (house.project / "begun").exists())
    else:
        time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert process.returncode == 130, err
    assert '"result"' in out.splitlines()[-1]
    assert_nothing_open(house)
    assert not (house.project / "ran").exists()
    assert_sound(house)


def test_an_interrupt_while_waiting_to_try_again_ends_at_once(chat_house: Household) -> None:
    from scripted_model.scenario import Status

    house = chat_house
    house.play(scenario(Status(429, {"retry-after": "60"}), scope="server"))
    process = house.start("run", "--yes", "Work.")
    house.model.wait_for_requests(1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=5)
    assert process.returncode == 130
    assert len(house.model.requests) == 1
    assert_sound(house)


def test_a_hang_up_ends_the_run_and_its_commands(chat_house: Household) -> None:
    house = chat_house
    house.play(scenario(Call("bash", {"command": "touch begun; sleep 60"}), scope="server"))
    process = house.start("run", "--yes", "Work.")
    house.model.wait_until(lambda: (house.project / "begun").exists())
    os.kill(process.pid, signal.SIGHUP)
    process.communicate(timeout=10)
    house.wait_until_nothing_lives(4)
    assert_sound(house)


def test_eight_first_runs_at_once_on_a_fresh_home_all_succeed(chat_house: Household) -> None:
    house = chat_house
    house.play(lambda _: reply([Text("pong")]))
    processes = [
        house.start("run", "--yes", "--format", "json", f"ping {number}") for number in range(8)
    ]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        import subprocess

        done = subprocess.CompletedProcess(process.args, 0, out, err)
        assert Answer(done).text == "pong"
    assert len(house.rows("SELECT id FROM session")) == 8
    assert_sound(house)


def test_a_second_process_leaves_a_live_actor_alone(chat_house: Household) -> None:
    house = chat_house
    house.play(
        lambda request: (
            reply([Text("pong")])
            if "other" in request.last_user_text or request.results
            else reply([Call("bash", {"command": "sleep 2; echo done > done.txt"})])
        )
    )
    first = house.start("run", "--yes", "--format", "json", "Work.")
    house.model.wait_for_requests(1)
    assert house.prompt("other work").text == "pong"
    out, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    assert (house.project / "done.txt").exists()
    assert '"interrupted"' not in out
    assert_sound(house)

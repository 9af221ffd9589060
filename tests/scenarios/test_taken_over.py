"""A run whose actor another process took over, because it was silent for too long."""

import signal
import subprocess

from household import Answer, Household

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply


def play(request: Request) -> Reply:
    if "one" not in request.last_user_text:
        return reply(f"heard {request.last_user_text}")
    if request.results:
        return reply([Text("half"), Barrier("gate")])
    return reply([Call("bash", {"command": "echo it"})])


def test_a_run_that_was_taken_over_counts_only_what_its_own_turn_used(
    chat_house: Household,
) -> None:
    house = chat_house
    house.play(play)
    old = house.start("run", "--format", "json", "--yes", "--title", "it", "one")
    house.model.wait_for_barrier("gate")
    (session,) = house.rows("SELECT id FROM session")
    old.send_signal(signal.SIGSTOP)
    try:
        house.change("UPDATE actor SET lease_until = 0")
        new = house.prompt("two", "-s", session["id"])
        assert new.text == "heard two"
        assert house.prompt("three", "-s", session["id"]).text == "heard three"
    finally:
        old.send_signal(signal.SIGCONT)
    house.model.release("gate")
    out, err = old.communicate(timeout=30)
    done = subprocess.CompletedProcess(old.args, old.returncode, out, err)
    result = Answer(done).result
    assert (result["outcome"], result["exit"], done.returncode) == ("interrupted", 1, 1)
    assert "silent for too long, and another one took over" in result["error"]["data"]["message"]
    assert result["usage"]["steps"] == 1
    assert [turn["outcome"] for turn in house.rows("SELECT outcome FROM turn ORDER BY number")] == [
        "interrupted",
        "success",
        "success",
    ]

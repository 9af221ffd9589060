"""Hooks around single steps: they may stop the turn, are told of each step, and change nothing."""

import json
import signal
from typing import Any

import pytest
from cast import WAIT, Cast, begin, end, notices, report, spawn
from household import Household
from invariants import assert_sound
from test_actor_hooks import NOTE, REFUSAL, hook, said
from test_costly_loops import TOO_LONG

from scripted_model.scenario import Call, Finish, Status, Text, scenario, step

pytestmark = pytest.mark.scenario


def test_each_step_is_told_before_and_after_with_what_it_said_and_called(
    chat_house: Household,
) -> None:
    before = hook(chat_house, "before", "step.pre", NOTE)
    after = hook(chat_house, "after", "step.post", NOTE)
    smith: list[Any] = [[Text("I look."), Call("bash", {"command": "true"})], report()]
    chat_house.play(Cast([[spawn("smith"), WAIT], "Heard."], smith=smith))
    assert chat_house.prompt("Delegate.").text == "Heard."
    for log in (before, after):
        steps = [(one["actor_id"], one["step"]) for one in said(log)]
        assert sorted(steps) == [("general-1", 1), ("general-1", 2), ("main", 1), ("main", 2)]
    told = next(one for one in said(after) if (one["actor_id"], one["step"]) == ("general-1", 1))
    assert (told["outcome"], told["text"], told["tools"]) == ("completed", "I look.", ["bash"])
    ids = [row["id"] for row in chat_house.rows("SELECT id FROM message WHERE role = 'assistant'")]
    assert sorted(one["message_id"] for one in said(after)) == sorted(ids)
    assert kept(chat_house) == []
    assert_sound(chat_house)


def test_a_hook_that_refuses_a_step_ends_the_turn_before_the_model_is_asked(
    chat_house: Household,
) -> None:
    third = 'cat >>"$LOG"; grep -q \'"step":2\' "$LOG" || exit 0; echo "enough" >&2; exit 2'
    hook(chat_house, "enough", "step.pre", third, "general")
    smith = [Call("bash", {"command": "touch made"})]
    cast = Cast([[spawn("smith"), WAIT], "Heard."], smith=smith)
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    (notice,) = notices(chat_house)
    assert notice["notice"] == "failed"
    assert "A hook stops the turn: enough" in notice["error"]
    assert len(cast.heard["smith"]) == 1
    assert [(one["on"], one["answer"], one["words"]) for one in kept(chat_house)] == [
        ("step.pre", "cancel", "enough")
    ]
    assert (chat_house.project / "made").exists()
    assert_sound(chat_house)


def kept(house: Household) -> list[dict[str, Any]]:
    """What is kept of hooks around steps."""
    facts = [json.loads(row["data"]) for row in house.rows("SELECT data FROM turn_trace")]
    return [fact for fact in facts if str(fact.get("on", "")).startswith("step.")]


FAULTY: dict[str, Any] = {
    "an error": [Status(400, {}, REFUSAL)],
    "a call in words": [Text('<tool_call>{"name": "bash", "arguments": {}}</tool_call>')],
    "nothing": [Finish("stop")],
    "too long": [Status(400, {}, TOO_LONG)],
}


@pytest.mark.parametrize("fault", FAULTY)
def test_what_follows_from_a_step_is_the_same_where_hooks_are_told_of_it(
    chat_house: Household, fault: str
) -> None:
    """Such a step is stored before the hooks are asked, and what follows from it afterwards."""
    found: list[Any] = []
    for told in (False, True):
        if told:
            hook(chat_house, "after", "step.post", NOTE)
        chat_house.play(scenario(*[step(*FAULTY[fault])] * 4, scope="server"))
        answer = chat_house.prompt("Go.")
        (turn,) = chat_house.rows("SELECT * FROM turn ORDER BY started DESC LIMIT 1")
        data = chat_house.rows(
            "SELECT data FROM message WHERE turn_id = ? AND role = 'assistant' ORDER BY seq",
            turn["id"],
        )
        infos = [json.loads(row["data"]) for row in data]
        ends = [(one.get("error", {}).get("name"), one.get("hidden")) for one in infos]
        used = json.loads(turn["budgets"])["used"]
        used.pop("seconds", None)
        found.append((answer.code, turn["outcome"], turn["steps"], turn["tokens"], used, ends))
    assert found[0] == found[1]
    assert_sound(chat_house)


def test_a_stop_while_hooks_are_told_of_a_step_keeps_the_step(chat_house: Household) -> None:
    log = hook(chat_house, "after", "step.post", 'cat >>"$LOG"; sleep 60')
    chat_house.play(scenario(Call("bash", {"command": "echo x >> count"}), scope="server"))
    process = begin(chat_house, "Go.")
    chat_house.model.wait_until(lambda: bool(said(log)))
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    (row,) = chat_house.rows("SELECT data FROM message WHERE role = 'assistant'")
    assert json.loads(row["data"])["finish"] == "tool-calls"
    assert (chat_house.project / "count").read_text() == "x\n"
    del chat_house.config["hook"]
    assert_sound(chat_house)


def test_a_kill_while_hooks_are_told_of_a_step_repeats_nothing_of_it(chat_house: Household) -> None:
    house = chat_house
    hook(house, "after", "step.post", NOTE)
    house.play(scenario(Call("bash", {"command": "echo x >> count"}), scope="server"))
    killed = house.run("run", "--yes", "Go.", ROOST_FAILPOINT="step.stored=kill")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert house.rows("SELECT steps FROM turn")[0]["steps"] == 1
    house.play(scenario("Done.", scope="server"))
    answer = house.prompt("Go on.", "--continue")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert (house.project / "count").read_text() == "x\n"
    assert_sound(house)

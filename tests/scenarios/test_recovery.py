"""What a model does wrong within a turn, and how the turn recovers or ends."""

import json
from typing import Any

import pytest
from cast import WAIT, Cast, act, begin, end, report, spawn
from household import Household
from invariants import assert_sound

from roost.turn.policies.waiting import NOBODY
from scripted_model.scenario import (
    Barrier,
    Call,
    Finish,
    Reasoning,
    Reset,
    Status,
    Text,
    reply,
    scenario,
    step,
)

pytestmark = pytest.mark.scenario


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def reminders(house: Household) -> list[str]:
    rows = house.rows("SELECT body FROM inbox WHERE kind = 'system' ORDER BY seq")
    return [json.loads(row["body"])["text"] for row in rows]


def hidden(house: Household) -> list[dict[str, Any]]:
    rows = house.rows("SELECT data FROM message WHERE role = 'assistant' ORDER BY seq")
    return [info for row in rows if (info := json.loads(row["data"])).get("hidden")]


# A degraded answer


def test_words_before_a_filter_cut_in_are_an_answer_and_shown_as_less_than_one(
    house: Household,
) -> None:
    filtered = [Text("Half of the answer"), Finish("content-filter")]
    house.play(scenario(step(*filtered, times=2), scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "Half of the answer"), answer.err
    words = "The provider's content filter ended this answer early"
    assert answer.result["degraded"] == words
    (stored,) = house.rows("SELECT data FROM message WHERE role = 'assistant'")
    assert json.loads(stored["data"])["degraded"] == words, "and so it goes out on the wire"
    shown = house.run("run", "--yes", "--continue", "Again.")
    assert (shown.returncode, shown.stdout) == (0, "Half of the answer\n"), shown.stderr
    assert f"note: {words}" in shown.stderr
    assert words in house.run("sessions", "show", answer.session).stdout
    assert_sound(house)


@pytest.mark.parametrize("house", ["chat", "anthropic"], indirect=True)
def test_words_with_an_end_that_nobody_knows_are_shown_so_too(house: Household) -> None:
    house.play(scenario([Text("An answer"), Finish("something_new")], scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "An answer"), answer.err
    assert "does not know" in answer.result["degraded"]
    assert_sound(house)


def test_a_parent_reads_that_the_answer_of_its_child_was_cut_short(chat_house: Household) -> None:
    half = [Text("It is in load.py, and"), Finish("content-filter")]
    cast = Cast([[spawn("scout", "explore"), WAIT], "Heard."], scout=[half])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    news = cast.news("main")
    assert "It is in load.py, and" in news
    assert "[The provider's content filter ended this answer early]" in news
    assert_sound(chat_house)


def test_a_filter_that_leaves_nothing_is_an_error(house: Household) -> None:
    house.play(scenario([Finish("content-filter")], scope="server"))
    answer = house.prompt("Say it.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "ContentFilterError"
    assert answer.result["degraded"] is None
    assert_sound(house)


# Calls as text


def test_a_call_in_words_is_not_run_and_the_model_calls_properly(house: Household) -> None:
    wrong = '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "touch wrong"}}]'
    house.play(scenario(f"Let me see.\n{wrong}", bash("touch right"), "done", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert not (house.project / "wrong").exists()
    assert (house.project / "right").exists()
    assert "[TOOL_CALLS]" in reminders(house)[0]
    assert all("[TOOL_CALLS][" not in one.request.all_text for one in house.model.requests[1:])
    assert_sound(house)


@pytest.mark.parametrize("house", ["chat"], indirect=True)
def test_calls_that_were_announced_and_never_came_are_asked_for(house: Household) -> None:
    promise = [Text("I will look."), Finish("tool-calls")]
    house.play(scenario(promise, bash("touch ran"), "done", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert (house.project / "ran").exists()
    house.play(scenario(step(*promise, times=5), scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "I will look."), answer.err
    assert "none ever came" in answer.result["degraded"]
    assert len([one for one in house.model.requests if one.request.tools]) >= 3 + 3
    assert_sound(house)


# Loops


def test_forty_equal_calls_of_one_step_are_run_once_and_told(house: Household) -> None:
    crowd = [bash("echo x >> count.txt") for _ in range(40)]
    house.play(scenario(crowd, "done", scope="server"))
    answer = house.prompt("Count.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert (house.project / "count.txt").read_text() == "x\n"
    assert len(answer.tools()) == 40
    assert {part["state"]["status"] for part in answer.tools()} == {"completed"}
    assert "39 calls of one step" in reminders(house)[0]
    assert_sound(house)


def test_the_same_step_over_and_over_climbs_to_an_error_and_the_next_prompt_is_fresh(
    house: Household,
) -> None:
    house.play(scenario(step(bash("echo same"), times=30), scope="server"))
    answer = house.prompt("Do it.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "RepetitionError"
    assert len(answer.tools()) == 9
    remind, replan = reminders(house)
    assert "take a different step" in remind
    assert "Write a new plan" in replan
    assert len(hidden(house)) == 5, "all of the first six but one"
    asked = house.model.requests[6].request
    assert sum(len(message.calls) for message in asked.messages) == 1
    house.play(scenario(bash("echo same"), bash("echo same"), "fine", scope="server"))
    answer = house.prompt("Once more.", "--continue")
    assert (answer.code, answer.text) == (0, "fine"), answer.err
    assert_sound(house)


def test_a_model_that_takes_another_way_after_the_reminder_goes_on(chat_house: Household) -> None:
    house = chat_house
    same = step(bash("echo same"), times=3)
    house.play(scenario(same, bash("echo other"), "done", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert len(reminders(house)) == 1
    assert hidden(house) == []
    assert_sound(house)


def test_arguments_without_an_end_are_cut(chat_house: Household) -> None:
    house = chat_house
    endless = Call("write", '{"filePath": "a.txt", "content": "' + "\\n" * 80_000, size=200)
    house.play(scenario([endless], "sorry", scope="server"))
    answer = house.prompt("Write.")
    assert (answer.code, answer.text) == (0, "sorry"), answer.err
    assert not (house.project / "a.txt").exists()
    assert len(hidden(house)) == 1
    assert_sound(house)


def test_a_person_sees_what_was_not_run_and_what_the_model_is_told(chat_house: Household) -> None:
    house = chat_house
    crowd = [bash("echo x") for _ in range(12)]
    house.play(scenario(crowd, "done", scope="server"))
    shown = house.run("run", "--yes", "Do it.")
    assert (shown.returncode, shown.stdout) == (0, "done\n")
    lines = shown.stderr.splitlines()
    assert lines.count("$ echo x") == 1
    assert lines.count("$ echo x  the same call again, not run") == 11
    assert any(line.startswith("↻ the model is told: You are repeating") for line in lines)
    house.play(scenario(crowd, "done", scope="server"))
    answer = house.prompt("Do it.")
    (again,) = [line for line in answer.lines if line["type"] == "again"]
    assert again["budget"] == "repetition"
    assert "11 calls of one step" in again["text"]
    assert_sound(house)


# What ran is kept


def test_results_of_tools_are_kept_when_the_next_stream_dies_and_the_model_is_asked_again(
    house: Household,
) -> None:
    dies = step(Reasoning("hm"), Text("The result is"), Reset(), times=3)
    house.play(scenario(bash("echo x >> count.txt"), dies, "It is x.", scope="server"))
    answer = house.prompt("Count.")
    assert (answer.code, answer.text) == (0, "It is x."), answer.err
    assert (house.project / "count.txt").read_text() == "x\n"
    assert len(house.model.requests) == 5
    assert all(one.request.results for one in house.model.requests[1:])
    assert_sound(house)


def test_a_stream_that_never_gets_through_ends_the_turn_with_what_ran_and_the_next_goes_on(
    house: Household,
) -> None:
    house.config["limits"] = {"retry_wait": 0.01, "retries": 2}
    dies = step(Text("The result is"), Reset(), times=20)
    house.play(scenario(bash("echo x >> count.txt"), dies, scope="server"))
    answer = house.prompt("Count.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "APIError"
    assert len(house.model.requests) == 4
    house.play(lambda request: reply(f"It is {request.results[-1].strip()}."))
    answer = house.prompt("Go on.", "--continue")
    assert answer.code == 0, answer.err
    assert (house.project / "count.txt").read_text() == "x\n"
    assert_sound(house)


# A conversation that is too long


def overflowing(house: Household) -> Status:
    words = "prompt is too long: 250000 tokens > 200000 maximum"
    body: dict[str, Any] = {"error": {"type": "invalid_request_error", "message": words}}
    if house.dialect != "anthropic":
        body["error"] |= {"code": "context_length_exceeded"}
    return Status(400, {}, json.dumps(body))


def test_a_provider_that_refuses_any_length_ends_each_turn_soon_with_the_way_on(
    house: Household,
) -> None:
    tests = bash("echo x >> count.txt")
    house.play(scenario(tests, step(overflowing(house), times=9), scope="server"))
    answer = house.prompt("Count.")
    assert answer.code == 1
    error = answer.result["error"]
    assert error["name"] == "ContextOverflowError"
    assert "though it was shortened twice" in error["data"]["message"]
    assert "begin a new session" in error["data"]["message"]
    assert len(house.model.requests) == 4, "it is shortened twice, and then no more"
    again = house.prompt("And now?", "--continue")
    assert again.result["error"]["name"] == "ContextOverflowError"
    assert len(house.model.requests) == 5, "what was of no use is not done again"
    prompts = house.rows("SELECT state FROM inbox WHERE kind = 'prompt'")
    assert [row["state"] for row in prompts] == ["delivered"] * 2, "what a person said is kept"
    assert (house.project / "count.txt").read_text() == "x\n"
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    house.play(scenario("went on", scope="server"))
    other = house.prompt("Go on.", "--continue", "--model", "test/gpt-scripted")
    assert (other.code, other.text) == (0, "went on"), other.err
    assert_sound(house)


# Waiting


def test_an_actor_that_waits_for_long_is_in_no_loop(chat_house: Household) -> None:
    house = chat_house
    wait = act("wait", timeout_ms=1_050)
    cast = Cast(
        [[spawn("scout"), wait], *[wait] * 5, WAIT, "Heard."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("slow")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 7, timeout=60)
    house.model.release("slow")
    answer = end(process, 60)
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    assert reminders(house).count(NOBODY) == 6
    assert not any("repeating" in one for one in reminders(house))
    assert_sound(house)

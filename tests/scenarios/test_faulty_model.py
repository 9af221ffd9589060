"""What models and networks do wrong, and what becomes of the turn."""

import json
from typing import Any

import pytest
from household import Household
from invariants import assert_sound

from scripted_model.scenario import (
    Call,
    Drop,
    Finish,
    NoEnd,
    Reasoning,
    Reset,
    Status,
    Text,
    reply,
    scenario,
    step,
)

FAST = {"retry-after": "0"}
FAULTS: dict[str, Any] = {
    "429": Status(429, FAST),
    "500": Status(500, FAST),
    "drop before the answer": Drop(),
    "drop in the middle": [Text("partial "), Drop()],
    "reset in the middle": [Text("partial "), Reset()],
    "no terminal event": [Text("partial "), NoEnd()],
    "drop inside a call": [Call("bash", '{"command": "touch twi'), Drop()],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_call_is_tried_again_and_leaves_no_trace(house: Household, fault: str) -> None:
    house.play(scenario(FAULTS[fault], "recovered", scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "recovered"), answer.err
    texts = [line["part"]["text"] for line in answer.lines if line["type"] == "text"]
    assert texts == ["recovered"]
    assert len(house.model.requests) == 2
    assert_sound(house)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_after_a_tool_never_runs_the_tool_again(house: Household, fault: str) -> None:
    house.play(
        scenario(
            Call("bash", {"command": "echo x >> count.txt"}),
            FAULTS[fault],
            "done",
            scope="server",
        )
    )
    answer = house.prompt("Count.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert (house.project / "count.txt").read_text() == "x\n"
    assert_sound(house)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, None),
        (400, None),
        (429, '{"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}'),
    ],
)
def test_what_waiting_cannot_mend_fails_at_once_with_a_plain_error(
    house: Household, status: int, body: str | None
) -> None:
    house.play(scenario(Status(status, {}, body), "never", scope="server"))
    answer = house.prompt("Say it.")
    assert answer.code == 1
    assert answer.result["error"]["data"]["message"]
    assert len(house.model.requests) == 1
    assert_sound(house)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "touch ran',
        '{"command": "touch ran"} trailing',
        "[1, 2]",
        '{"command": NaN}',
        '{"command": "touch ran", "command": "touch ran"}',
        '"not an object"',
    ],
)
def test_arguments_that_cannot_be_read_run_nothing_and_tell_the_model(
    house: Household, arguments: str
) -> None:
    house.play(scenario(Call("bash", arguments), "sorry", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "sorry"), answer.err
    assert not (house.project / "ran").exists()
    (part,) = answer.tools()
    assert part["state"]["status"] == "error"
    assert_sound(house)


def test_an_object_wrapped_in_a_string_is_understood(house: Household) -> None:
    wrapped = '"{\\"command\\": \\"touch ran\\"}"'
    house.play(scenario(Call("bash", wrapped), "done", scope="server"))
    answer = house.prompt("Do it.")
    assert answer.code == 0, answer.err
    assert (house.project / "ran").exists()
    assert_sound(house)


def test_a_cut_call_is_not_run(house: Household) -> None:
    house.play(
        scenario(
            [Call("bash", '{"command": "touch cut"'), Finish("length")], "done", scope="server"
        )
    )
    answer = house.prompt("Do it.")
    assert answer.code == 0, answer.err
    assert not (house.project / "cut").exists()
    assert answer.tools()[0]["state"]["status"] == "error"
    assert_sound(house)


@pytest.mark.parametrize("house", ["chat", "anthropic"], indirect=True)
def test_a_whole_call_is_run_although_the_answer_hit_its_limit(house: Household) -> None:
    house.play(
        scenario(
            [Call("bash", {"command": "touch whole"}), Finish("length")], "done", scope="server"
        )
    )
    answer = house.prompt("Do it.")
    assert answer.code == 0, answer.err
    assert (house.project / "whole").exists()
    assert_sound(house)


def test_an_unknown_tool_has_an_error_of_its_own(house: Household) -> None:
    house.play(scenario(Call("bsh", {"command": "touch ran"}), "done", scope="server"))
    answer = house.prompt("Do it.")
    assert answer.code == 0
    assert "Did you mean bash" in answer.tools()[0]["state"]["error"]
    assert_sound(house)


@pytest.mark.parametrize("name", ["", "bash; rm", "bash\x00", "b" * 500, "bäsh\n<x>"])
def test_a_name_that_no_tool_can_have_does_no_harm_to_the_session(
    house: Household, name: str
) -> None:
    house.play(scenario(Call(name, {"command": "touch ran"}), "sorry", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "sorry"), answer.err
    assert not (house.project / "ran").exists()
    assert_sound(house)


def test_calls_of_any_shape_and_number_leave_the_session_sound(house: Household) -> None:
    deep = '{"command": ' + "[" * 100_000 + "]" * 100_000 + "}"
    house.play(
        scenario(
            Call("bash", deep, size=0),
            Call("bash", '{"command": "ls", "timeout": ' + "9" * 400 + "}"),
            [
                Call("bash", {"command": "echo a"}, id="same"),
                Call("bash", {"command": "echo b"}, id="same"),
            ],
            Call("bash", {"command": "echo c"}, id="same"),
            Call("bash", {"command": "echo d"}, id="ünï id\n" + "x" * 300),
            [Call("read", {"filePath": f"{number}"}) for number in range(150)],
            "done",
            scope="server",
        )
    )
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    states = [part["state"] for part in answer.tools()]
    assert [state["status"] for state in states[:6]] == ["error"] * 2 + ["completed"] * 4
    assert len(states) == 156
    assert_sound(house)


def test_an_endless_stream_of_bad_calls_ends_by_a_limit(chat_house: Household) -> None:
    chat_house.play(lambda request: reply([Call("bash", {"n": len(request.messages)})]))
    answer = chat_house.prompt("Do it.")
    assert answer.code == 3, answer.err
    assert len(chat_house.model.requests) <= 14


def test_an_empty_answer_is_asked_again_twice_and_then_an_error(house: Household) -> None:
    house.play(scenario(step(Finish("stop"), times=10), scope="server"))
    answer = house.prompt("Say it.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "InvalidOutputError"
    assert len(house.model.requests) == 3
    assert_sound(house)


def test_reasoning_without_an_answer_is_asked_again(house: Household) -> None:
    house.play(scenario(Reasoning("hmm"), "the answer", scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "the answer"), answer.err
    assert_sound(house)


def test_a_cut_answer_is_continued(house: Household) -> None:
    house.play(scenario([Text("first half"), Finish("length")], "second half", scope="server"))
    answer = house.prompt("Say it.")
    assert (answer.code, answer.text) == (0, "second half"), answer.err
    assert len(house.model.requests) == 2
    assert_sound(house)


def test_an_answer_that_stays_cut_ends_with_its_own_error(house: Household) -> None:
    cut = step(Text("part"), Finish("length"), times=10)
    house.play(scenario(cut, scope="server"))
    answer = house.prompt("Say it.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "MessageOutputLengthError"
    assert len(house.model.requests) == 4
    assert_sound(house)


def test_an_overflow_says_what_happened(house: Household) -> None:
    words = "prompt is too long: 250000 tokens > 200000 maximum"
    body = {"error": {"type": "invalid_request_error", "message": words}}
    if house.dialect != "anthropic":
        body["error"] |= {"code": "context_length_exceeded"}
    house.play(scenario(step(Status(400, {}, json.dumps(body)), times=9), scope="server"))
    answer = house.prompt("Say it.")
    assert answer.code == 1
    error = answer.result["error"]
    assert error["name"] == "ContextOverflowError"
    assert words in error["data"]["message"]
    assert len(house.model.requests) == 3, "it is shortened twice"


@pytest.mark.parametrize("channel", [Reasoning, Text])
def test_a_stream_that_repeats_itself_is_cut_and_recovery_is_bounded(
    chat_house: Household, channel: Any
) -> None:
    sentence = "I should check the file again before I decide what to do. "
    loop = step(channel(sentence * 2_000, size=60), times=10)
    chat_house.play(scenario(loop, scope="server"))
    answer = chat_house.prompt("Say it.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "RepetitionError"
    assert len(chat_house.model.requests) == 3
    stored = sum(len(row["data"]) for row in chat_house.rows("SELECT data FROM part"))
    assert stored < 3 * 40 * len(sentence)
    assert_sound(chat_house)


def test_signed_reasoning_survives_a_restart_and_never_goes_to_another_model(
    house: Household,
) -> None:
    house.play(
        scenario(
            [Reasoning("think hard"), Call("bash", {"command": "true"})],
            [Reasoning("think again"), Text("first")],
            "second",
            "third",
            scope="server",
        )
    )
    assert house.prompt("One.").text == "first"
    assert house.prompt("Two.", "--continue").text == "second"
    other = house.config["provider"]["test"]["models"]
    other["other"] = other["scripted"]
    assert house.model.violations == []
    assert_sound(house)

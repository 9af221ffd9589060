"""The tool `actor` through the whole program: results come once, whatever the form and the end."""

import json
from typing import Any

import pytest
from household import Answer, Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Status, Text, reply

pytestmark = pytest.mark.scenario
REFUSAL = json.dumps({"error": {"message": "no such model", "type": "invalid_request_error"}})
RUN: dict[str, Any] = {
    "action": "run",
    "subagent_type": "general",
    "description": "Look at docs",
    "prompt": "Look at the docs.",
}


def _delegated(house: Household, call: dict[str, Any], child: list[Any]) -> Answer:
    """A run in which main makes one call of `actor`, and what it starts says `child`."""

    def play(request: Request) -> Reply:
        if not request.user_texts[0].startswith("Delegate"):
            return reply(child)
        if any(message.role == "assistant" for message in request.messages):
            return reply([Text("Done.")])
        return reply([Call("actor", call)])

    house.play(play)
    answer = house.prompt("Delegate.")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert house.model.violations == []
    return answer


def _part(answer: Answer) -> dict[str, Any]:
    (part,) = [part for part in answer.tools() if part["tool"] == "actor"]
    return part["state"]


def _assert_told_once(house: Household) -> None:
    """The notice was taken up by the answer of the tool and by nothing else."""
    (notice,) = house.rows("SELECT state, message_id FROM inbox WHERE kind = 'notice'")
    assert notice["state"] == "delivered"
    main = house.model.requests[-1].request
    assert "<notice" not in main.all_text
    (message,) = house.rows("SELECT role FROM message WHERE id = ?", notice["message_id"])
    assert message["role"] == "assistant"


def test_a_run_gives_its_result_in_the_answer_and_no_notice_besides(house: Household) -> None:
    report = "**Status**: partial\n**Summary**: half\n\nThe <b>docs</b>."
    answer = _delegated(house, {"operation": RUN}, [Text(report)])
    state = _part(answer)
    assert state["output"].startswith("actor_id: general-1 (send it another message")
    assert '<actor_result status="partial" summary="half">' in state["output"]
    assert "The &lt;b&gt;docs&lt;/b&gt;." in state["output"]
    assert state["title"] == "General Task — Look at docs"
    assert state["metadata"]["actorID"] == "general-1"
    _assert_told_once(house)
    assert_sound(house)


def test_a_run_that_fails_is_an_error_and_no_notice_besides(chat_house: Household) -> None:
    answer = _delegated(chat_house, {"operation": RUN}, [Status(400, {}, REFUSAL)])
    state = _part(answer)
    assert state["status"] == "error"
    assert "general-1 failed." in state["error"]
    assert "no such model" in state["error"]
    assert state["metadata"]["actorID"] == "general-1"
    _assert_told_once(chat_house)


def test_one_level_of_wrapping_too_few_is_forgiven(chat_house: Household) -> None:
    report = "**Status**: success\n**Summary**: all\n\nThe docs."
    answer = _delegated(chat_house, RUN, [Text(report)])
    assert '<actor_result status="success" summary="all">' in _part(answer)["output"]


def test_the_command_line_form_is_offered_where_the_configuration_asks_for_it(
    chat_house: Household,
) -> None:
    chat_house.config["tool"] = {"invocation_style": "shell"}
    line = 'actor run general "Look at docs" <<\'EOF\'\nLook at the "docs".\nEOF'
    answer = _delegated(chat_house, {"command": line}, [Text("**Status**: success\n\nSeen.")])
    assert '<actor_result status="success">' in _part(answer)["output"]
    first = chat_house.model.requests[0].request
    (tool,) = [tool for tool in first.tools if tool.name == "actor"]
    assert list(tool.schema["properties"]) == ["command"]
    child = chat_house.model.requests[1].request
    assert child.user_texts[0].startswith('Look at the "docs".')


def test_a_child_is_shown_only_how_to_talk_and_told_why_it_starts_no_others(
    chat_house: Household,
) -> None:
    def play(request: Request) -> Reply:
        answered = any(message.role == "assistant" for message in request.messages)
        if request.user_texts[0].startswith("Delegate"):
            return reply([Text("Done.") if answered else Call("actor", {"operation": RUN})])
        (tool,) = [tool for tool in request.tools if tool.name == "actor"]
        assert len(tool.schema["properties"]["operation"]["anyOf"]) == 3
        if answered:
            assert "starts, runs and stops no others" in request.all_text
            return reply([Text("**Status**: blocked\n**Summary**: alone")])
        return reply([Call("actor", {"operation": {**RUN, "action": "spawn"}})])

    chat_house.play(play)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert '<actor_result status="blocked" summary="alone">' in _part(answer)["output"]
    assert len(chat_house.rows("SELECT 1 FROM actor")) == 2

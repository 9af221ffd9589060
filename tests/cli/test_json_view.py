"""The lines of `--format json`, from sightings alone."""

import json
from typing import Any

from test_text_view import done, finish, head, looks, stored, text, tool, words

from roost.cli.run.json_view import JsonView
from roost.cli.run.sightings import Gone, Piece, Sighting, Trouble
from roost.sessions.parts import (
    ReasoningPart,
    Span,
    StepStartPart,
    ToolPending,
    ToolRunning,
)


def lines(*sightings: Sighting, thinking: bool = False) -> list[dict[str, Any]]:
    view = JsonView("ses_1", thinking=thinking)
    return [json.loads(line) for one in sightings for line in view.feed(one)]


def start() -> Piece:
    return Piece(StepStartPart("prt_0", "ses_1", "msg_1"))


def test_a_step_is_told_in_order_and_once() -> None:
    seen = lines(
        head(), start(), start(), text(""), words("hello"), text("hello", end=2),
        tool("read", ToolPending({}, "")), tool("read", ToolRunning({}, Span(1))),
        tool("read", done({"filePath": "a"})), tool("read", done({"filePath": "a"})),
        finish(), head(5), text("hello", end=2),
    )  # fmt: skip
    assert [line["type"] for line in seen] == ["step_start", "text", "tool_use", "step_finish"]
    assert all(line["sessionID"] == "ses_1" and line["timestamp"] > 0 for line in seen)
    assert seen[1]["part"]["text"] == "hello"
    assert seen[2]["part"]["state"]["status"] == "completed"
    assert seen[3]["part"]["reason"] == "stop"


def test_text_that_another_process_writes_is_told_whole_however_often_it_was_looked_at() -> None:
    states = [stored(""), stored("Hel"), stored("Hel"), stored("Hello", completed=4)]
    seen = lines(*looks(*states))
    assert [line["type"] for line in seen] == ["step_start", "text", "step_finish"]
    assert seen[1]["part"]["text"] == "Hello"


def test_text_that_is_taken_back_is_never_told() -> None:
    seen = lines(
        text("half", end=2), Gone("msg_1", "prt_1"), text("whole", end=3, part="prt_2"), finish()
    )
    assert [line["part"]["text"] for line in seen if line["type"] == "text"] == ["whole"]


def test_text_without_its_end_is_told_when_the_message_ends() -> None:
    seen = lines(text("so far"), head(9))
    assert [line["part"]["text"] for line in seen] == ["so far"]


def test_reasoning_comes_only_when_asked_for() -> None:
    part = Piece(ReasoningPart("prt_r", "ses_1", "msg_1", "hm", Span(1, 2)))
    assert lines(part, head(3)) == []
    assert [line["type"] for line in lines(part, head(3), thinking=True)] == ["reasoning"]


def test_the_same_error_is_told_once() -> None:
    error = {"name": "APIError", "data": {"message": "no"}}
    seen = lines(Trouble(error), Trouble(error))
    assert [line["type"] for line in seen] == ["error"]
    assert seen[0]["error"] == error

"""What is sent again is sent byte for byte, so that providers find it in their cache."""

import json
from itertools import pairwise
from typing import Any

import pytest
from cast import WAIT, act, report
from household import Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply, scenario, step

pytestmark = pytest.mark.scenario
MARK = b',"cache_control":{"type":"ephemeral"}'
STEPS = 300
UNPLANNED = "does not continue the one before it"


def stem(body: bytes) -> bytes:
    """A request without what closes its last message."""
    return body.replace(MARK, b"").rstrip(b'"}]')


def breaks(house: Household) -> list[int]:
    """The numbers of the requests that do not begin with all of the one before them."""
    bodies = [one.request.body for one in house.model.requests if one.request.tools]
    pairs = pairwise(bodies)
    return [
        number
        for number, (before, after) in enumerate(pairs, 1)
        if not after.replace(MARK, b"").startswith(stem(before))
    ]


def logged(house: Household) -> str:
    return "".join(path.read_text() for path in house.home.rglob("*.log*"))


def rows_of(house: Household) -> list[dict[str, Any]]:
    rows = house.rows("SELECT * FROM prefix_snapshot ORDER BY created, profile")
    return [dict(row) for row in rows]


def test_three_hundred_steps_break_no_prefix(house: Household) -> None:
    house.write("a.txt", "".join(f"line {n}\n" for n in range(STEPS)))

    def play(request: Request) -> Reply:
        done = sum(len(message.results) for message in request.messages)
        if not request.tools or done >= STEPS:
            return reply("done")
        look = Call("read", {"filePath": "a.txt", "offset": done + 1, "limit": 1})
        return reply([Text(f"Line {done}."), look])

    house.play(play)
    answer = house.prompt("Read.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert len(house.model.requests) == STEPS + 1
    assert breaks(house) == []
    assert UNPLANNED not in logged(house)
    asked = sum(one.input_tokens for one in house.model.requests)
    cached = sum(one.cached_tokens for one in house.model.requests)
    assert cached / asked > 0.97
    assert_sound(house)


def test_instructions_that_change_and_a_restart_leave_the_beginning_as_it_was(
    house: Household,
) -> None:
    house.write("AGENTS.md", "Write short lines.")
    house.play(lambda request: reply(f"answer {len(request.messages)}"))
    first = house.prompt("One.")
    house.write("AGENTS.md", "Write LONG lines.")
    house.prompt("Two.", "--continue")
    house.prompt("Three.", "--continue")
    assert breaks(house) == []
    (row,) = rows_of(house)
    assert (row["revision"], row["session_id"]) == (1, first.session)
    fresh = house.prompt("One.")
    assert "LONG" in house.model.requests[-1].request.all_text
    assert {one["session_id"] for one in rows_of(house)} == {first.session, fresh.session}
    assert_sound(house)


def test_only_another_set_of_tools_makes_the_beginning_anew(house: Household) -> None:
    house.write("AGENTS.md", "Write short lines.")
    house.play(lambda request: reply(f"answer {len(request.messages)}"))
    house.prompt("One.")
    house.write("AGENTS.md", "Write LONG lines.")
    house.config["permission"] = {"webfetch": "deny"}
    house.prompt("Two.", "--continue")
    assert breaks(house) == [1]
    assert "LONG" in house.model.requests[-1].request.all_text
    del house.config["permission"]
    house.prompt("Three.", "--continue")
    assert breaks(house) == [1, 2]
    assert "LONG" not in house.model.requests[-1].request.all_text, "as it was pinned first"
    assert len(rows_of(house)) == 2
    assert UNPLANNED not in logged(house)
    assert_sound(house)


def test_a_loop_that_is_left_out_is_a_break_that_was_planned(house: Household) -> None:
    same = step(Call("bash", {"command": "echo same"}), times=6)
    house.play(scenario(same, "done", scope="server"))
    answer = house.prompt("Do it.")
    assert (answer.code, answer.text) == (0, "done"), answer.err
    assert breaks(house) == [6]
    assert UNPLANNED not in logged(house)
    assert_sound(house)


def test_what_is_said_at_a_limit_is_in_no_later_request(house: Household) -> None:
    house.config["limits"]["steps"] = 2
    numbers = iter(range(100))
    house.play(lambda _: reply(Call("bash", {"command": f"true {next(numbers)}"})))
    assert house.prompt("Do it.").code == 3
    house.play(lambda _: reply("fine"))
    assert house.prompt("Go on.", "--continue").text == "fine"
    reminded = [n for n, one in enumerate(house.model.requests) if "is reached" in text_of(one)]
    assert reminded == [2]
    last = house.model.requests[3].request.body.replace(MARK, b"")
    assert last.startswith(stem(house.model.requests[1].request.body))
    assert_sound(house)


def text_of(record: Any) -> str:
    return "\n".join(record.request.user_texts)


def test_a_fork_begins_as_the_conversation_that_it_continues(house: Household) -> None:
    house.write("AGENTS.md", "Write short lines.")

    def play(request: Request) -> Reply:
        if not request.tools:
            return reply("A title")
        if "fork: look." in request.all_text and "fork: look." in request.last_user_text:
            return reply(report())
        if any(message.role == "assistant" for message in request.messages):
            return reply("ok")
        house.write("AGENTS.md", "Write LONG lines.")
        order = {"description": "look", "prompt": "fork: look.", "context": "full"}
        return reply([act("spawn", subagent_type="general", **order), WAIT])

    house.play(play)
    assert house.prompt("Delegate.").code == 0
    asked = [one.request for one in house.model.requests if one.request.tools]
    forked = next(one for one in asked if "fork: look." in one.last_user_text)
    assert forked.system == asked[0].system
    assert json.loads(forked.body)["tools"] == json.loads(asked[0].body)["tools"]
    assert_sound(house)

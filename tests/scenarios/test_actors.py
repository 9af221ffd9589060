"""Whole runs in which main delegates: in the background, in the foreground, and with forks."""

from typing import Any

from household import Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply

REPORT = "**Status**: success\n**Summary**: {0} was looked at\n\nThe details of {0}."


def spawn(agent: str, what: str, **more: Any) -> Call:
    operation = {
        "action": "spawn",
        "subagent_type": agent,
        "description": what,
        "prompt": f"Look at {what}.",
        **more,
    }
    return Call("actor", {"operation": operation})


def test_main_hears_from_each_of_its_background_children_once_and_goes_on(
    house: Household,
) -> None:
    def play(request: Request) -> Reply:
        asked = request.user_texts[0]
        if asked.startswith("Look at"):
            return reply([Text(REPORT.format(asked.split()[2].strip(".")))])
        notices = request.all_text.count("<notice")
        if not any(message.role == "assistant" for message in request.messages):
            return reply([spawn("general", "docs"), spawn("explore", "tests")])
        if notices == 2:
            return reply([Text("Both have reported.")])
        return reply([Text("They are at work.")])

    house.play(play)
    answer = house.prompt("Delegate.")
    assert (answer.code, answer.text) == (0, "Both have reported."), answer.err
    notices = house.rows("SELECT state, body, sender_actor FROM inbox WHERE kind = 'notice'")
    assert sorted(row["sender_actor"] for row in notices) == ["explore-1", "general-1"]
    assert {row["state"] for row in notices} == {"delivered"}
    assert all("details of" in row["body"] for row in notices)
    assert_sound(house)

"""A person has a conversation shortened: by command, by slash command, and while it works."""

import json
import time

from household import Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply

ACCOUNT = "# Intent\nBuild the parser; the port is 48213.\n# State\nThe lexer is done."


def play(request: Request) -> Reply:
    if "# Intent" in request.user_texts[-1] and "Write the account" in request.user_texts[-1]:
        return reply(ACCOUNT)
    return reply("Understood.")


def marks(house: Household) -> list[dict[str, object]]:
    rows = house.rows("SELECT data FROM part WHERE type = 'compaction'")
    return [json.loads(row["data"]) for row in rows]


def test_a_command_has_a_model_sum_the_conversation_up_and_the_session_goes_on(
    house: Household,
) -> None:
    house.play(play)
    words = "The lexer reads bytes. " * 400
    session = house.prompt(f"Build a parser. {words}").session
    house.prompt(f"Mind the port. {words}", "--continue")
    done = house.run("compact")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{session}: The conversation is shortened")
    (mark,) = marks(house)
    assert (mark["source"], mark["auto"]) == ("summary", False)
    answer = house.prompt("What is the port?", "--continue")
    assert answer.text == "Understood."
    last = house.model.requests[-1].request
    assert "the port is 48213" in last.all_text
    assert "/compact" not in last.all_text
    assert_sound(house)


def test_where_nothing_was_said_since_nothing_is_shortened(chat_house: Household) -> None:
    chat_house.play(play)
    chat_house.prompt("Hello.")
    assert chat_house.run("compact").returncode == 0
    again = chat_house.run("compact", "--format", "json")
    assert json.loads(again.stdout)["done"] is False
    assert len(marks(chat_house)) == 1
    assert_sound(chat_house)


def test_a_slash_command_in_a_run_does_the_same(chat_house: Household) -> None:
    chat_house.play(play)
    chat_house.prompt("Build a parser. " * 200)
    done = chat_house.run("run", "--continue", "/compact")
    assert done.returncode == 0, done.stderr
    assert "shortened" in done.stdout
    assert len(marks(chat_house)) == 1


def test_a_model_that_sums_nothing_up_is_no_reason_not_to_shorten(chat_house: Household) -> None:
    chat_house.play(lambda _: reply("No."))
    chat_house.prompt("Build a parser. " * 400)
    chat_house.prompt("Mind the port. " * 400, "--continue")
    done = chat_house.run("compact")
    assert done.returncode == 0, done.stderr
    (mark,) = marks(chat_house)
    assert mark.get("source", "checkpoint") == "checkpoint"


def test_a_turn_at_work_is_shortened_at_its_next_step_and_goes_on(chat_house: Household) -> None:
    steps: list[int] = []

    def slow(request: Request) -> Reply:
        if "Write the account" in request.user_texts[-1]:
            return reply(ACCOUNT)
        steps.append(1)
        if len(steps) > 3:
            return reply("All done.")
        return reply(Call("bash", {"command": f"sleep 1; echo {len(steps)}"}))

    chat_house.play(slow)
    working = chat_house.start("run", "--yes", "--format", "json", "Work.")
    while not steps:
        time.sleep(0.05)
    done = chat_house.run("compact")
    out, err = working.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "shortened" in done.stdout
    assert json.loads(out.splitlines()[-1])["text"] == "All done.", err
    assert len(marks(chat_house)) == 1
    assert_sound(chat_house)

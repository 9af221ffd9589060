"""What happens when a turn may not go on, or cannot begin."""

from household import Household
from invariants import assert_sound

from scripted_model.scenario import Call, scenario


def test_no_tool_runs_in_the_last_step_of_a_limited_turn(chat_house: Household) -> None:
    house = chat_house
    house.config["limits"]["steps"] = 1
    house.play(
        scenario(
            Call("bash", {"command": "echo a >> count.txt"}),
            Call("bash", {"command": "echo b >> count.txt"}),
            scope="server",
        )
    )
    answer = house.prompt("Count.")
    assert answer.code == 3, answer.err
    assert (house.project / "count.txt").read_text() == "a\n"
    house.config["limits"]["steps"] = 100
    assert_sound(house)


def test_a_prompt_for_a_model_that_is_gone_is_refused_and_nothing_is_left_waiting(
    chat_house: Household,
) -> None:
    house = chat_house
    house.play(scenario("first", scope="server"))
    assert house.prompt("One.").text == "first"
    good = house.config
    house.config = {**good, "provider": {}}
    assert house.run("run", "--yes", "--continue", "Two.").returncode == 2
    house.config = good
    assert house.rows("SELECT id FROM inbox WHERE state = 'queued'") == []
    assert_sound(house)


def test_mail_that_nobody_can_read_does_not_stand_in_the_way(chat_house: Household) -> None:
    house = chat_house
    house.play(scenario("first", "second", scope="server"))
    session = house.prompt("One.").session
    house.change(
        "INSERT INTO inbox (id, receiver_session, receiver_actor, kind, body, state, created)"
        " VALUES ('inb_alien', ?, 'main', 'alien', '{}', 'queued', 1)",
        session,
    )
    answer = house.prompt("Two.", "--continue")
    assert (answer.code, answer.text) == (0, "second"), answer.err
    (alien,) = house.rows("SELECT state FROM inbox WHERE id = 'inb_alien'")
    assert alien["state"] == "rejected"
    assert_sound(house)

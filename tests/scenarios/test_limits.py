"""A turn that reaches a limit reports once what was done, and exits with the code of limits."""

from household import Household
from invariants import assert_sound

from scripted_model.scenario import Call, Finish, Text, scenario, step


def test_the_last_word_at_a_limit_is_a_report_without_tools_and_stays_in_the_history(
    house: Household,
) -> None:
    house.config["limits"] = {"steps": 2}
    house.play(
        scenario(
            Call("bash", {"command": "echo a >> count.txt"}),
            Call("bash", {"command": "echo b >> count.txt"}),
            "Two are done, one is not.",
            "Going on.",
            scope="server",
        )
    )
    answer = house.prompt("Count to three.")
    assert answer.code == 3, answer.err
    assert answer.text == "Two are done, one is not."
    assert answer.result["error"]["name"] == "LimitError"
    assert len(house.model.requests) == 3
    assert "limit of this turn" in str(house.model.requests[-1].request)
    again = house.prompt("Go on.", "--continue")
    assert (again.code, again.text) == (0, "Going on."), again.err
    assert "Two are done, one is not." in str(house.model.requests[-1].request)
    assert_sound(house)


def test_the_configuration_says_how_often_a_cut_answer_is_continued(house: Household) -> None:
    house.config["limits"]["nudges"] = 1
    house.play(scenario(step(Text("part"), Finish("length"), times=10), scope="server"))
    answer = house.prompt("Tell it all.")
    assert answer.result["error"]["name"] == "MessageOutputLengthError", answer.err
    assert len(house.model.requests) == 2
    assert_sound(house)

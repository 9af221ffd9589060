"""Whoever names lines of a file that are none is told of which file."""

from household import Household

from scripted_model.scenario import scenario


def test_lines_that_are_none_are_told_with_the_name_of_the_file(chat_house: Household) -> None:
    chat_house.config["command"] = {"look": {"template": "Look at @notes.txt#3-1 and $1."}}
    chat_house.write("notes.txt", "one\ntwo\n")
    chat_house.play(scenario("unused"))
    done = chat_house.run("run", "/look closely")
    assert done.returncode == 2
    assert "lines 3 to 1 are no lines of notes.txt" in done.stderr
    assert chat_house.model.requests == []

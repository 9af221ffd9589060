"""What a turn is told beside the words that were said to it: that they came while it worked, and
what it leaves uncommitted."""

import subprocess

import pytest
from cast import Cast, report, run
from household import Household

from scripted_model.scenario import Call

pytestmark = pytest.mark.scenario
STEERED, UNCOMMITTED = "came while you were at work", "Not committed in the working tree"
WRITE = Call("write", {"filePath": "made.txt", "content": "x"})


def hold(name: str) -> Call:
    return Call("bash", {"command": f"until test -e {name}; do sleep 0.05; done"})


def repository(house: Household) -> None:
    subprocess.run(["git", "init", "-q"], cwd=house.project, check=True)


def test_words_that_come_while_a_turn_works_are_told_as_such_once(chat_house: Household) -> None:
    house = chat_house
    cast = Cast([hold("go"), hold("on"), "Both done."])
    house.play(cast)
    first = house.start("run", "--yes", "Do the work.")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 1)
    second = house.start("run", "--yes", "--continue", "Use tabs.")
    waiting = "SELECT 1 FROM inbox WHERE kind = 'prompt' AND state = 'queued'"
    house.model.wait_until(lambda: bool(house.rows(waiting)))
    (house.project / "go").touch()
    house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    (house.project / "on").touch()
    for process in (first, second):
        process.communicate(timeout=40)
    heard = cast.heard["main"]
    assert [one.all_text.count(STEERED) for one in heard] == [0, 1, 1]
    news = cast.news("main", 1)
    assert news.index("Use tabs.") < news.index(STEERED)
    assert "go on with it afterwards" in news
    before = heard[1].messages[:-1]  # the hint stands behind all that is sent again
    assert heard[2].messages[: len(before)] == before
    assert not any(STEERED in row["data"] for row in house.rows("SELECT data FROM part"))


def test_prompts_one_after_the_other_and_mail_of_children_are_no_news(
    chat_house: Household,
) -> None:
    cast = Cast([run("scout"), "One.", "Two."], scout=[report()])
    chat_house.play(cast)
    chat_house.prompt("First.")
    chat_house.prompt("Second.", "--continue")
    assert not any(STEERED in one.all_text for who in cast.heard.values() for one in who)
    assert not any("not answered yet" in one.all_text for one in cast.heard["main"])


def test_uncommitted_work_is_told_once_a_turn_where_that_is_wanted(
    chat_house: Household,
) -> None:
    house = chat_house
    repository(house)
    house.config["uncommitted_hint"] = True
    cast = Cast([WRITE, "Written.", "Written; made.txt is not committed.", "Only talk."])
    house.play(cast)
    assert house.prompt("Write.").text == "Written; made.txt is not committed."
    assert f"{UNCOMMITTED}: made.txt" in cast.news("main", 2)
    assert house.prompt("Talk.", "--continue").text == "Only talk."
    assert cast.heard["main"][3].all_text.count(UNCOMMITTED) == 1


@pytest.mark.parametrize("why", ["not asked for", "clean", "no repository", "planning"])
def test_nothing_is_said_of_uncommitted_work_otherwise(chat_house: Household, why: str) -> None:
    house = chat_house
    house.config["uncommitted_hint"] = why != "not asked for"
    if why != "no repository":
        repository(house)
    if why != "clean":
        house.write("there.txt", "x")
    cast = Cast([Call("bash", {"command": "ls"}), "Done."])
    house.play(cast)
    agent = "plan" if why == "planning" else "build"
    assert house.prompt("Look.", "--agent", agent).text == "Done."
    assert len(cast.heard["main"]) == 2

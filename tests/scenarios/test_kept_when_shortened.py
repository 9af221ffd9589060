"""What holds for a session goes on to hold once its conversation is shortened, and what was taken
back of it is in no words that stand for the rest.
"""

import base64
import json
import time
from pathlib import Path

import pytest
from household import WINDOW, Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Said, Stall, Usage, reply

pytestmark = pytest.mark.scenario
ACCOUNT = "# Intent\nShip it.\n# State\nThe lexer is done, the blue door is open.\n# Next\nTest it."
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
INPUT = "\n".join(f"line {number} of some input" for number in range(400))
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.fixture
def house(narrow_house: Household) -> Household:
    narrow_house.write("input.txt", INPUT)
    return narrow_house


class Worker:
    """Reads `until` its count of steps, then says `last`; asks for an account are answered."""

    def __init__(self, until: int, last: Said = "All done.") -> None:
        self.until = until
        self.last = last
        self.taken = 0
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        if any("Write the account" in text for text in request.user_texts):
            return reply(ACCOUNT)
        if not request.tools:
            return reply('{"verdict": "met", "reason": "all is there"}')
        self.requests.append(request)
        if self.taken >= self.until:
            return reply(self.last)
        self.taken += 1
        return reply(Call("bash", {"command": f"head -n {300 + self.taken} input.txt"}))


def marks(house: Household) -> int:
    return len(house.rows("SELECT 1 FROM part WHERE type = 'compaction'"))


def test_an_actor_that_plans_is_told_of_it_again_and_of_the_end_with_the_plan(
    house: Household,
) -> None:
    worker = Worker(25)
    house.play(worker)
    assert house.prompt("Plan it.", "--agent", "plan").code == 0
    assert marks(house) >= 1
    assert all(".roost/plans/" in request.all_text for request in worker.requests)
    house.prompt("Carry it out.", "--continue", "--agent", "build")
    assert "You are no longer planning" in worker.requests[-1].all_text
    assert_sound(house)


def test_what_was_taken_back_is_told_in_no_words_that_stand_for_the_rest(
    house: Household,
) -> None:
    worker = Worker(8)
    house.play(worker)
    house.prompt("First. Always use tabs.")
    worker.until += 30
    house.prompt("Second. Never touch legacy/. The port is 48213.", "--continue")
    assert marks(house) >= 1
    assert house.run("undo").returncode == 0
    before = len(worker.requests)
    worker.until += 30
    house.prompt("Third.", "--continue")
    assert marks(house) >= 1
    later = [request.all_text for request in worker.requests[before:]]
    assert not any("legacy/" in text or "48213" in text for text in later)
    assert "Always use tabs" in later[-1]
    assert_sound(house)


def test_the_goal_is_in_view_and_its_judge_sees_all_that_was_done(house: Household) -> None:
    worker = Worker(25)
    house.play(worker)
    answer = house.prompt("Read the input.", "--goal", "The violet report is written.")
    assert answer.result["goal"]["state"] == "met", answer.err
    assert marks(house) >= 1
    assert all("violet report" in request.all_text for request in worker.requests)
    (judge,) = (one.request for one in house.model.requests if not one.request.tools)
    assert "The agent took 26 steps" in judge.all_text
    assert "| Read the input." in judge.all_text
    assert_sound(house)


def slow(request: Request, steps: list[int], last: Said) -> Reply:
    if any("Write the account" in text for text in request.user_texts):
        return reply(ACCOUNT)
    steps.append(1)
    return reply(Call("bash", {"command": "sleep 1; echo"}) if len(steps) < 5 else last)


def test_a_wish_to_shorten_leaves_the_format_of_the_answer_at_work(
    house: Household, tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    steps: list[int] = []
    house.play(lambda request: slow(request, steps, Call("structured_output", {"n": 3})))
    options = ("--yes", "--format", "json", "--schema", str(schema))
    working = house.start("run", *options, "Count.")
    while not steps:
        time.sleep(0.05)
    assert "shortened" in house.run("compact").stdout
    out, err = working.communicate(timeout=60)
    assert json.loads(out.splitlines()[-1])["structured"] == {"n": 3}, err
    assert marks(house) == 1
    assert_sound(house)


def test_a_wish_to_shorten_is_heeded_though_other_words_come_behind_it(house: Household) -> None:
    steps: list[int] = []
    house.play(lambda request: slow(request, steps, "All done."))
    working = house.start("run", "--yes", "Work.")
    while len(steps) < 2:
        time.sleep(0.05)
    wish = house.start("compact")
    while not house.rows("SELECT 1 FROM inbox WHERE body LIKE '%\"compact\"%'"):
        time.sleep(0.05)
    more = house.start("run", "--yes", "--continue", "And mind the port.")
    out, err = wish.communicate(timeout=60)
    assert "is shortened" in out, err
    for one in (working, more):
        _, err = one.communicate(timeout=60)
        assert one.returncode == 0, err
    assert marks(house) == 1
    assert_sound(house)


def test_a_wish_to_shorten_is_answered_by_nobody_though_tasks_are_told_behind_it(
    house: Household,
) -> None:
    calls: list[Said] = [Call("task", {"action": "create", "summary": "Ship it."}), "Noted."]

    def play(request: Request) -> Reply:
        if any("Write the account" in text for text in request.user_texts):
            return reply(ACCOUNT)
        return reply(calls.pop(0) if calls else "Understood.")

    house.play(play)
    house.prompt("Build a parser. " * 400)
    before = len(house.model.requests)
    assert "is shortened" in house.run("compact").stdout
    assert len(house.model.requests) == before + 1
    assert "There is nothing to shorten" in house.run("compact").stdout
    assert len(house.model.requests) == before + 1
    assert_sound(house)


def test_what_a_person_has_shortened_is_shorter_than_before(house: Household) -> None:
    house.play(Worker(0))
    house.prompt("Build a parser. " * 500)
    house.prompt("Mind the port. " * 500, "--continue")
    done = json.loads(house.run("compact", "--format", "json").stdout)
    assert done["done"]
    assert done["after"] < done["before"] * 0.9
    house.prompt("Go on.", "--continue")
    counted = house.rows("SELECT data FROM message WHERE role = 'assistant' ORDER BY seq DESC")
    tokens = json.loads(counted[0]["data"])["tokens"]
    assert abs(tokens["input"] + tokens["cache"]["read"] - done["after"]) < 1_500


def test_how_large_a_conversation_is_counts_what_stands_before_it_in_a_new_process_too(
    house: Household,
) -> None:
    house.play(Worker(0))
    house.prompt("Hello.")
    house.run("compact")
    house.prompt("Go on.", "--continue")
    done = json.loads(house.run("compact", "--format", "json").stdout)
    assert done["after"] > done["before"] * 0.8
    assert done["before"] > 4_000


def test_a_wish_to_shorten_that_was_stopped_is_not_carried_out_later(house: Household) -> None:
    house.play(Worker(0))
    house.prompt("Build a parser. " * 400)
    house.play(lambda _: reply([Stall()]))
    before = len(house.model.requests)
    wish = house.start("compact")
    while len(house.model.requests) == before:
        time.sleep(0.05)
    wish.terminate()
    wish.communicate(timeout=30)
    assert wish.returncode != 0
    house.play(Worker(0))
    assert house.prompt("Go on.", "--continue").text == "All done."
    assert marks(house) == 0
    assert_sound(house)


def test_a_provider_that_counts_too_much_is_still_sent_less_once_it_refuses(
    house: Household,
) -> None:
    worker = Worker(40)
    wrong = Usage(input=WINDOW, output=5)

    def play(request: Request) -> Reply:
        said = worker(request).pieces
        return reply([*said, wrong])

    house.play(play)
    answer = house.prompt("Read the input.")
    assert (answer.code, answer.text) == (0, "All done."), answer.result["error"]
    assert_sound(house)


def test_images_that_there_is_no_room_for_are_told_and_take_up_none(house: Household) -> None:
    pixel = base64.b64decode(PIXEL)
    options: list[str] = []
    for number in range(19):
        (house.project / f"shot{number}.png").write_bytes(pixel)
        options += ["-f", f"shot{number}.png"]
    house.config["compaction"] = {"max_context": 16_000}
    house.play(Worker(0))
    answer = house.prompt("Look at these.", *options)
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert marks(house) == 1
    assert "shot7.png left out here" in house.model.requests[-1].request.all_text
    assert_sound(house)

"""Conversations that are longer than the model's window: they are shortened and go on, whatever
dies in between, and the provider never gets a request that is too long.
"""

import signal
from pathlib import Path

import pytest
from cast import report, run
from household import WINDOW, Answer, Household, narrowed
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Status, Text, reply
from scripted_model.server import ScriptedModel

pytestmark = pytest.mark.scenario
RULE = "Never touch the folder legacy/."
PORT = "The service listens on 127.0.0.1:48213."
SCRIPT = """\
for i in $(seq 1 150); do echo "step $1 line $i of some output that takes up room"; done
"""


@pytest.fixture(params=["chat", "responses", "anthropic"])
def house(request: pytest.FixtureRequest, tmp_path: Path, narrow_model: ScriptedModel) -> Household:
    found = narrowed(Household(tmp_path, narrow_model, request.param))
    found.write("noise.sh", SCRIPT)
    return found


@pytest.fixture
def chat(narrow_house: Household) -> Household:
    narrow_house.write("noise.sh", SCRIPT)
    return narrow_house


def noise(number: int) -> Call:
    """A command with about 2,500 tokens of output."""
    return Call("bash", {"command": f"bash noise.sh {number}"})


class Worker:
    """Works through so many noisy steps, then answers."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.taken = 0
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        if any("Write the account" in text for text in request.user_texts):
            return reply("I would rather not.")
        self.requests.append(request)
        if self.taken >= self.steps:
            return reply("All done.")
        self.taken += 1
        if self.taken == 5:
            return reply([Text("We decided to store dates in UTC."), noise(self.taken)])
        return reply(noise(self.taken))


def test_a_conversation_longer_than_the_window_goes_on_and_keeps_what_matters(
    house: Household,
) -> None:
    worker = Worker(60)
    house.play(worker)
    answer = house.prompt(f"Do the work. {RULE} {PORT}")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert worker.taken == 60
    marks = house.rows("SELECT data FROM part WHERE type = 'compaction'")
    assert len(marks) >= 4
    last = worker.requests[-1].all_text
    for kept in (RULE, PORT, "store dates in UTC"):
        assert kept in last
    assert_sound(house)


@pytest.mark.parametrize(
    "point",
    [
        "context.begin",
        "context.written",
        "context.sent",
        "context.committed",
        "context.committed:2",
    ],
)
def test_a_kill_while_a_conversation_is_shortened_loses_and_doubles_nothing(
    chat: Household, point: str
) -> None:
    worker = Worker(40)
    chat.play(worker)
    died = chat.run("run", "--yes", f"Do the work. {RULE} {PORT}", ROOST_FAILPOINT=f"{point}=kill")
    assert died.returncode == -signal.SIGKILL
    answer = chat.prompt("Go on.", "--continue")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    last = worker.requests[-1].all_text
    assert RULE in last
    assert PORT in last
    starts = chat.rows("SELECT data FROM part WHERE type = 'compaction'")
    assert len({row["data"] for row in starts}) == len(starts) >= 2
    assert_sound(chat)


def test_a_window_that_is_smaller_than_was_said_is_found_out_from_the_refusal(
    house: Household,
) -> None:
    limit = {"context": 1_000_000, "output": 4_000}
    house.config["provider"]["test"]["models"]["scripted"]["limit"] = limit
    worker = Worker(25)
    house.play(worker)
    answer = house.prompt(f"Do the work. {RULE} {PORT}")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert RULE in worker.requests[-1].all_text
    marks = house.rows(
        "SELECT json_extract(data, '$.overflow') AS refused FROM part WHERE type = 'compaction'"
    )
    assert [row["refused"] for row in marks] == [1] * len(marks) != []
    assert_sound(house)


def test_where_shortening_is_switched_off_the_refusal_ends_the_turn_and_says_so(
    chat: Household,
) -> None:
    chat.config["compaction"] = {"auto": False}
    chat.play(Worker(60))
    answer = chat.prompt("Do the work.")
    assert answer.code == 1
    assert "`compaction.auto` is off" in answer.result["error"]["data"]["message"]
    assert chat.rows("SELECT 1 FROM part WHERE type = 'compaction'") == []


def test_a_prompt_that_is_larger_than_the_window_is_shown_with_its_middle_left_out(
    chat: Household,
) -> None:
    chat.play(Worker(0))
    text = "\n".join(f"line {number} of a very long prompt" for number in range(20_000))
    answer = chat.prompt(f"{RULE}\n{text[:120_000]}\nNow say that all is done.")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert_sound(chat)


def test_a_child_has_a_model_sum_up_its_own_conversation_and_main_keeps_its_own(
    chat: Household,
) -> None:
    steps = {"main": 0, "child": 0}
    asked: list[Request] = []

    def play(request: Request) -> Reply:
        if "c: " not in request.user_texts[0]:
            steps["main"] += 1
            return reply(run("c") if steps["main"] == 1 else "All done.")
        if "# Intent" in request.user_texts[-1]:
            asked.append(request)
            return reply("# Intent\nThe child sums up: dates are kept in UTC.\n# State\nHalf done.")
        steps["child"] += 1
        return reply(noise(steps["child"]) if steps["child"] <= 30 else report("c"))

    chat.play(play)
    answer = chat.prompt("Have it done.")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert len(asked) >= 1
    marks = chat.rows(
        "SELECT m.actor_id, json_extract(p.data, '$.source') AS source FROM part p"
        " JOIN message m ON m.id = p.message_id WHERE p.type = 'compaction'"
    )
    assert {(row["actor_id"], row["source"]) for row in marks} == {("general-1", "summary")}
    assert "dates are kept in UTC" in chat.model.requests[-2].request.all_text
    assert_sound(chat)


def test_a_thousand_steps_with_kills_in_between_keep_what_the_user_said(chat: Household) -> None:
    chat.write("noise.sh", SCRIPT.replace("150", "50"))
    worker = Worker(1_000)
    chat.play(worker)
    points = ("apply.committed:250", "context.sent:3", "tool.done:200", "apply.stored:150")
    for number, point in enumerate(points):
        said = ("--continue", "Go on.") if number else (f"Do the work. {RULE} {PORT}",)
        died = chat.run("run", "--yes", *said, ROOST_FAILPOINT=f"{point}=kill")
        assert died.returncode == -signal.SIGKILL, point
    asked = ("run", "--format", "json", "--yes", "--continue", "Go on.")
    answer = Answer(chat.run(*asked, timeout=100))
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert worker.taken == 1_000
    marks = chat.rows("SELECT 1 FROM part WHERE type = 'compaction'")
    assert len(marks) >= 10
    last = worker.requests[-1].all_text
    for kept in (RULE, PORT, "store dates in UTC"):
        assert kept in last
    assert max(one.input_tokens for one in chat.model.requests) <= WINDOW
    assert_sound(chat)


@pytest.mark.parametrize("fault", ["refused", "empty", "too long"])
def test_where_nobody_sums_it_up_the_conversation_is_shortened_all_the_same(
    chat: Household, fault: str
) -> None:
    chat.config["checkpoint"] = {"enabled": False}
    worker = Worker(25)

    def play(request: Request) -> Reply:
        if "# Intent" not in request.user_texts[-1]:
            return worker(request)
        if fault == "refused":
            return reply([Status(401, {}, "{}")])
        return reply("Hm." if fault == "empty" else "word " * 90_000)

    chat.play(play)
    answer = chat.prompt(f"Do the work. {RULE} {PORT}")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert RULE in worker.requests[-1].all_text
    assert_sound(chat)

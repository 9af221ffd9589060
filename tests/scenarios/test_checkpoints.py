"""Checkpoints are written while the work goes on, and stand for a conversation once it is long."""

import time

import pytest
from household import Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Delay, Reply, Status, Text, reply

pytestmark = pytest.mark.scenario
ACCOUNT = "# Intent\nShip it.\n# State\nThe lexer is done, the blue door is open.\n# Next\nTest it."
SCRIPT = """\
sleep 0.02
for i in $(seq 1 150); do echo "step $1 line $i of some output that takes up room"; done
"""


@pytest.fixture
def house(narrow_house: Household) -> Household:
    narrow_house.write("noise.sh", SCRIPT)
    return narrow_house


class Worker:
    """Works through so many noisy steps, and lets `account` answer for the writer."""

    def __init__(self, steps: int, account: Reply | None = None) -> None:
        self.steps = steps
        self.taken = 0
        self.account = account or reply(ACCOUNT)
        self.writers: list[Request] = []
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        if any("Write the account" in text for text in request.user_texts):
            self.writers.append(request)
            return self.account
        self.requests.append(request)
        if self.taken >= self.steps:
            return reply("All done.")
        self.taken += 1
        return reply(Call("bash", {"command": f"bash noise.sh {self.taken}"}))


def states(house: Household) -> list[str]:
    return [row["state"] for row in house.rows("SELECT state FROM checkpoint ORDER BY version")]


def test_a_checkpoint_is_written_beside_the_work_and_stands_for_it_later(house: Household) -> None:
    worker = Worker(45)
    house.play(worker)
    answer = house.prompt("Do the work.")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert "written" in states(house)
    assert "the blue door is open" in worker.requests[-1].all_text
    first = worker.writers[0]
    same = [one for one in worker.requests if first.messages[: len(one.messages)] == one.messages]
    assert len(same) > 3, "the writer's request begins as those of the work do"
    assert house.rows("SELECT 1 FROM actor WHERE actor_id LIKE 'checkpoint-%'") == []
    assert_sound(house)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (reply("I would rather not."), "no account"),
        (reply(Call("bash", {"command": "touch made"})), "could not answer"),
        (reply([Status(401, {}, "{}")]), "could not answer"),
    ],
)
def test_a_writer_that_fails_leaves_the_work_alone(
    house: Household, fault: Reply, reason: str
) -> None:
    worker = Worker(45, fault)
    house.play(worker)
    answer = house.prompt("Do the work.")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert not (house.project / "made").exists()
    rows = house.rows("SELECT state, reason FROM checkpoint WHERE state != 'writing'")
    assert rows
    assert all(row["state"] == "failed" and reason in row["reason"] for row in rows)
    assert_sound(house)


def test_a_slow_writer_holds_nothing_up_and_is_the_only_one(house: Household) -> None:
    worker = Worker(60, reply([Delay(30), Text(ACCOUNT)]))
    house.play(worker)
    began = time.monotonic()
    answer = house.prompt("Do the work.")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    assert time.monotonic() - began < 25
    assert len(worker.writers) == 1
    assert len(house.rows("SELECT 1 FROM part WHERE type = 'compaction'")) >= 3


def test_nothing_is_written_where_checkpoints_are_switched_off(house: Household) -> None:
    house.config["checkpoint"] = {"enabled": False}
    worker = Worker(20)
    house.play(worker)
    assert house.prompt("Do the work.").code == 0
    assert states(house) == []


@pytest.mark.parametrize("point", ["checkpoint.spawned", "checkpoint.ended"])
def test_a_kill_at_a_checkpoint_leaves_one_version_or_none(house: Household, point: str) -> None:
    worker = Worker(45)
    house.play(worker)
    house.run("run", "--yes", "Do the work.", ROOST_FAILPOINT=f"{point}=kill")
    answer = house.prompt("Go on.", "--continue")
    assert (answer.code, answer.text) == (0, "All done."), answer.err
    versions = house.rows("SELECT version, state, body FROM checkpoint ORDER BY version")
    assert versions
    assert all(bool(row["body"]) == (row["state"] == "written") for row in versions)
    assert_sound(house)


def test_what_a_writer_used_counts(house: Household) -> None:
    worker = Worker(30)
    house.play(worker)
    answer = house.prompt("Do the work.")
    assert answer.code == 0
    written = house.rows("SELECT 1 FROM checkpoint WHERE state = 'written'")
    assert written
    steps = house.rows(
        "SELECT sum(json_extract(data, '$.cost')) AS cost FROM part WHERE type = 'step-finish'"
    )
    turn = house.rows("SELECT cost FROM turn WHERE actor_id = 'main'")[0]
    assert turn["cost"] > steps[0]["cost"]

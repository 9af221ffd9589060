"""A kill -9 at any moment loses nothing: restart, `go on`, and all invariants hold."""

import re
import signal

import pytest
from household import Answer, Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reasoning, Reply, Stall, Text, reply, scenario

FAILPOINTS = [
    "migrate.begin",
    "migrate.step",
    "migrate.commit",
    "migrate.end",
    "send.before",
    "send.inserted",
    "claim.before",
    "claim.end",
    "drain.before",
    "drain.message",
    "drain.marked",
    "drain.committed",
    "step.begin",
    "part.put",
    "part.put:2",
    "part.put:3",
    "part.put:4",
    "part.put:5",
    "part.put:6",
    "delta.saved",
    "tool.running",
    "tool.done",
    "apply.before",
    "apply.stored",
    "apply.committed",
    "apply.committed:2",
    "settle.before",
    "settle.written",
]


def job(request: Request) -> Reply:
    """Reason, write a line by a command, and answer; later prompts get `went on`."""
    if "go on" in request.last_user_text:
        return reply([Text("went on")])
    if request.results:
        return reply([Reasoning("so far so good"), Text(long_text("line", 700), size=700)])
    return reply(
        [
            Reasoning("let me see"),
            Text("Starting."),
            Call("bash", {"command": "echo ran >> runs.txt"}),
        ]
    )


def long_text(word: str, lines: int) -> str:
    """Text that does not repeat itself."""
    return "".join(f"{word} {number * number}. " for number in range(lines))


@pytest.mark.parametrize("point", FAILPOINTS)
def test_a_kill_at_any_failpoint_loses_and_repeats_nothing(
    chat_house: Household, point: str
) -> None:
    house = chat_house
    house.play(job)
    killed = house.run(
        "run", "--yes", "--format", "json", "Do it.", ROOST_FAILPOINT=f"{point}=kill"
    )
    assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
    accepted = house.rows("SELECT id FROM inbox") if house.rows_exist() else []
    answer = house.prompt("go on", *(["--continue"] if accepted else []))
    assert (answer.code, answer.text) == (0, "went on"), answer.err
    assert_rows_are_sound(house)
    runs = house.project / "runs.txt"
    assert not runs.exists() or runs.read_text() == "ran\n"
    if accepted:
        prompts = house.rows("SELECT body, state FROM inbox WHERE kind = 'prompt' ORDER BY seq")
        assert [row["state"] for row in prompts] == ["delivered", "delivered"]
        assert "Do it." in prompts[0]["body"]
    assert_sound(house)


@pytest.mark.parametrize("point", ["part.put:3", "tool.running", "apply.stored"])
def test_the_same_holds_in_every_dialect(house: Household, point: str) -> None:
    house.play(job)
    house.run("run", "--yes", "Do it.", ROOST_FAILPOINT=f"{point}=kill")
    answer = house.prompt("go on", "--continue")
    assert (answer.code, answer.text) == (0, "went on"), answer.err
    assert_sound(house)


def test_a_kill_while_text_streams_keeps_the_text_that_was_shown(chat_house: Household) -> None:
    house = chat_house
    shown = long_text("Once upon a time", 400)
    house.play(scenario([Text(shown, size=100), Barrier("rest"), Stall()], scope="server"))
    process = house.start("run", "--yes", "Tell me.")
    house.model.wait_for_barrier("rest")
    assert process.stdout is not None
    seen = process.stdout.read(len(shown) - 200)
    process.kill()
    process.communicate()
    kept = max(len(_text_of(house, row["id"])) for row in house.rows("SELECT id FROM part"))
    assert kept >= len(seen) - 4_096
    house.play(scenario("went on", scope="server"))
    answer = house.prompt("go on", "--continue")
    assert answer.text == "went on"
    assert_sound(house)


def _text_of(house: Household, part_id: str) -> str:
    (part,) = house.rows("SELECT data FROM part WHERE id = ?", part_id)
    found = re.search(r'"text":"(.*?)"', part["data"])
    tail = house.rows("SELECT text FROM part_tail WHERE part_id = ? ORDER BY seq", part_id)
    return (found.group(1) if found else "") + "".join(row["text"] for row in tail)


def test_a_kill_while_two_tools_run_leaves_no_process_and_no_open_call(
    house: Household,
) -> None:
    house.write("a.txt", "content\n")
    house.play(
        scenario(
            [
                Call("read", {"filePath": "a.txt"}),
                Call("bash", {"command": "echo started > started; sleep 30 & sleep 30"}),
            ],
            scope="server",
        )
    )
    process = house.start("run", "--yes", "Do it.")
    _wait_for(house, "started")
    process.kill()
    process.communicate()
    house.wait_until_nothing_lives(4)
    house.play(scenario("went on", scope="server"))
    answer = house.prompt("go on", "--continue")
    assert (answer.code, answer.text) == (0, "went on"), answer.err
    last = house.model.requests[-1].request
    assert any("may have had effects" in result for result in last.all_text.splitlines())
    assert_sound(house)


def _wait_for(house: Household, name: str) -> None:
    house.model.wait_until(lambda: (house.project / name).exists())


def test_killing_twice_and_repairing_twice_changes_nothing_more(chat_house: Household) -> None:
    house = chat_house
    house.play(job)
    house.run("run", "--yes", "Do it.", ROOST_FAILPOINT="tool.running=kill")
    house.run("run", "--yes", "--continue", "go on", ROOST_FAILPOINT="claim.end=kill")
    before = house.rows("SELECT id, data FROM part ORDER BY id")
    house.run("run", "--yes", "--continue", "go on", ROOST_FAILPOINT="claim.end=kill")
    after = house.rows("SELECT id, data FROM part ORDER BY id")
    assert len(after) == len(before)
    answer: Answer = house.prompt("go on", "--continue")
    assert answer.text == "went on"
    assert_sound(house)

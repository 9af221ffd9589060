"""Steps that are chosen from several proposals: who is taken, what it costs, what never happens."""

import json
import signal
import time
from typing import Any

import pytest
from cast import end
from household import Answer, Household
from invariants import assert_rows_are_sound, assert_sound
from panel import Panel, choice

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Begin, Call, Reply, Stall, Status, Text, Usage, reply

pytestmark = pytest.mark.scenario
IN = 1_000
"""Tokens of every request of a candidate."""


def says(*pieces: Any, out: int = 100) -> list[Any]:
    """A line with known tokens."""
    return [*pieces, Usage(input=IN, output=out, cache_read=0, cache_write=0)]


def bash(command: str, out: int = 100) -> list[Any]:
    return says(Call("bash", {"command": command}), out=out)


def done(text: str = "Done.", out: int = 100) -> list[Any]:
    return says(Text(text), out=out)


def judge(number: int, reason: str = "it is the best") -> list[Any]:
    return says(Text(choice(number, reason)), out=10)


def proposed(house: Household) -> list[dict[str, Any]]:
    """What is kept of rounds, in order."""
    rows = house.rows("SELECT data FROM turn_trace ORDER BY turn_id, seq")
    facts = [json.loads(row["data"]) for row in rows]
    return [fact for fact in facts if fact["type"] == "proposals"]


def steps(house: Household) -> list[dict[str, Any]]:
    rows = house.rows("SELECT data FROM message WHERE role = 'assistant' ORDER BY seq")
    return [json.loads(row["data"]) for row in rows]


def turn(house: Household) -> dict[str, Any]:
    return dict(house.rows("SELECT * FROM turn ORDER BY number DESC LIMIT 1")[0])


def commands(answer: Answer) -> list[str]:
    return [part["state"]["input"]["command"] for part in answer.tools()]


def test_the_judge_chooses_and_only_what_it_chose_is_done(house: Household) -> None:
    lines = [bash(f"echo {name} >> made; cat made", 10 * at) for at, name in enumerate("abc", 1)]
    panel = Panel(lines, [done("Done.\n"), done(" Done. "), done("Done.")], judge=[judge(2)])
    house.play(panel)
    answer = house.prompt("go", "--max")
    assert (answer.code, answer.text.strip()) == (0, "Done."), answer.err
    (made,) = (house.project / "made").read_text().split()
    (part,) = answer.tools()
    assert f"echo {made} >>" in part["state"]["input"]["command"]
    assert len(panel.judged) == 1
    record = panel.judged[0].last_user_text
    assert record.count("## Proposal") == 3
    assert record.count("of 1 of 3 candidates") == 3
    assert [len({one.body for one in heard}) for heard in panel.heard] == [1, 1]
    first, second = steps(house)
    used = 10 * ("abc".index(made) + 1)
    assert first["tokens"]["output"] == used
    assert first["chosen"]["by"] == "judge"
    assert first["chosen"]["reason"] == "it is the best"
    assert first["chosen"]["tokens"] == 2 * IN + (60 - used) + IN + 10
    assert (second["chosen"]["by"], second["chosen"]["usable"]) == ("agreement", 3)
    row = turn(house)
    assert (row["steps"], row["tokens"]) == (2, 7 * IN + 60 + 10 + 300)
    assert row["cost"] == pytest.approx((7 * IN + 2 * 370) / 1e6)
    assert answer.result["cost"] == pytest.approx(row["cost"])
    assert first["cost"] + second["cost"] == pytest.approx(row["cost"])
    assert_sound(house, ping=False)


def test_the_transcript_is_as_if_the_winner_had_been_alone(chat_house: Household) -> None:
    house = chat_house

    def shape() -> list[Any]:
        rows = house.rows(
            "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id"
            " JOIN turn t ON t.id = m.turn_id WHERE t.number ="
            " (SELECT max(number) FROM turn) AND m.session_id ="
            " (SELECT id FROM session ORDER BY created DESC LIMIT 1) ORDER BY m.seq, p.rowid"
        )
        parts = [json.loads(row["data"]) for row in rows]
        return [(one["type"], one.get("text"), one.get("state", {}).get("input")) for one in parts]

    def chooses_b(request: Request) -> list[Any]:
        shown = request.last_user_text
        return judge(1 if shown.index("echo b") < shown.index("echo c") else 2)

    house.play(Panel([bash("echo b")], [done()]))
    assert house.prompt("go").code == 0
    alone = shape()
    lines = [bash("echo c"), bash("echo b")]
    house.play(Panel(lines, [done(), done()], judge=[chooses_b]))
    assert house.prompt("go", "--max", "2").code == 0
    assert shape() == alone


LOOP = "The same sentence is said again and again, whatever comes. " * 400
BAD: dict[str, Any] = {
    "refused": [Status(400)],
    "an error that stays": [Status(500)],
    "a loop": says(Text(LOOP, size=0)),
    "nothing": says(),
    "a call that cannot be read": says(Call("bash", '{"command": ')),
    "a tool that is not there": says(Call("rocket", {})),
    "a call as text": says(
        Text('<invoke name="bash"><parameter name="command">x</parameter></invoke>')
    ),
    "too slow": [Begin(), Stall()],
}


@pytest.mark.parametrize("bad", BAD)
def test_one_bad_candidate_never_spoils_the_step(chat_house: Household, bad: str) -> None:
    house = chat_house
    house.config["max_mode"] = {"seconds": 3}
    failing = bad == "an error that stays"
    first = [BAD[bad], bash("echo fine")] + ([Status(500), Status(500)] if failing else [])
    panel = Panel(first, [done(), done()])
    house.play(panel)
    answer = house.prompt("go", "--max", "2")
    assert (answer.code, commands(answer)) == (0, ["echo fine"]), (answer.err, answer.lines)
    assert panel.judged == []
    (kept, _) = proposed(house)
    fates = sorted(kept["candidates"], key=lambda one: one == "usable")
    assert fates[1] == "usable"
    assert fates[0] != "usable"
    assert (kept["by"], kept["candidates"][kept["taken"] - 1]) == ("agreement", "usable")
    shown = house.run("trace").stdout
    assert "2 candidates" in shown
    if bad == "a loop":
        assert turn(house)["tokens"] > 3 * IN, "what the loop used is counted"


def test_where_all_are_refused_the_step_fails_as_any_other(house: Household) -> None:
    panel = Panel([Status(400)] * 3)
    house.play(panel)
    answer = house.prompt("go", "--max")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "APIError"
    assert len(panel.heard[0]) == 3
    assert_rows_are_sound(house)


def test_where_all_fail_for_a_while_one_is_tried_again_as_usual(chat_house: Household) -> None:
    house = chat_house
    panel = Panel([*[Status(500)] * 6, Status(500), done()])
    house.play(panel)
    answer = house.prompt("go", "--max", "2")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert len(panel.heard[0]) == 8


def test_where_all_go_round_in_circles_the_ladder_of_loops_decides(chat_house: Household) -> None:
    house = chat_house
    loop = says(Text(LOOP, size=0))
    panel = Panel([loop, loop, done(), done()])
    house.play(panel)
    answer = house.prompt("go", "--max", "2")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    first, second = steps(house)
    assert first["hidden"]
    assert first["chosen"]["usable"] == 0
    assert second["chosen"]["by"] == "agreement"
    assert "repeating yourself" in panel.heard[0][-1].last_user_text


@pytest.mark.parametrize("answer_of_judge", ["7", '{"choice": 9, "reason": "x"}', "prose"])
def test_a_judge_that_cannot_be_read_leaves_it_to_the_most(
    chat_house: Household, answer_of_judge: str
) -> None:
    house = chat_house
    lines = [bash("echo one"), bash("echo two"), bash("echo two")]
    panel = Panel(lines, [done()] * 3, judge=[says(Text(answer_of_judge))] * 9)
    house.play(panel)
    answer = house.prompt("go", "--max")
    assert (answer.code, commands(answer)) == (0, ["echo two"]), answer.err
    assert len(panel.judged) == 3
    first = steps(house)[0]["chosen"]
    assert first["by"] == "default"
    assert "gave no verdict" in first["reason"]
    shown = panel.judged[0].last_user_text
    assert shown.count("## Proposal") == 2
    assert "of 2 of 3 candidates" in shown


def test_a_judge_of_ones_own_is_asked(chat_house: Household) -> None:
    house = chat_house
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    house.config["max_mode"] = {"judge": "test/gpt-scripted"}
    panel = Panel([done("A."), done("B.")], judge=[judge(1)])
    house.play(panel)
    assert house.prompt("go", "--max", "2").code == 0
    assert [one.model for one in panel.judged] == ["gpt-scripted"]
    assert {one.model for one in panel.heard[0]} == {"scripted"}


def test_an_answer_in_a_format_is_not_chosen_from_several(chat_house: Household) -> None:
    house = chat_house
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    house.write("schema.json", json.dumps(schema))
    panel = Panel([bash("echo")], [says(Call("structured_output", {"n": 1}))])
    house.play(panel)
    run = house.run("run", "--yes", "--max", "--schema", "schema.json", "count")
    assert (run.returncode, run.stdout) == (0, '{"n":1}\n'), run.stderr
    (kept,) = proposed(house)
    assert "format" in kept["words"]


@pytest.mark.parametrize(("calls", "rounds"), [(6.5, [3, 3, 1]), (5.5, [3, 2, 1])])
def test_a_limit_of_money_is_looked_at_before_a_round(
    chat_house: Household, calls: float, rounds: list[int]
) -> None:
    house = chat_house
    one = (IN + 2 * 100) / 1e6
    panel = Panel([bash("echo 1")] * 3, [bash("echo 2")] * 3, [done()])
    house.play(panel)
    answer = house.prompt("go", "--max", "--max-cost", f"{calls * one:.6f}")
    assert (answer.code, commands(answer)) == (0, ["echo 1", "echo 2"]), answer.err
    assert [len(heard) for heard in panel.heard] == rounds
    assert "no room" in proposed(house)[-1]["words"]


def test_the_last_word_at_a_limit_is_not_chosen_from_several(chat_house: Household) -> None:
    house = chat_house
    panel = Panel([bash("echo 1")] * 2, [done("That is all.")])
    house.play(panel)
    answer = house.prompt("go", "--max", "2", "--max-steps", "1")
    assert (answer.code, answer.text) == (3, "That is all."), answer.err
    assert [len(heard) for heard in panel.heard] == [2, 1]


ON: dict[str, tuple[dict[str, Any], list[str], int]] = {
    "an agent": ({"agent": {"build": {"max_mode": 2}}}, [], 2),
    "an agent, as many as is usual": ({"agent": {"build": {"max_mode": True}}}, [], 3),
    "the configuration": ({"max_mode": {"on": True, "candidates": 4}}, [], 4),
    "a number in it": ({"max_mode": {"candidates": 4}}, [], 1),
    "the prompt first": ({"agent": {"build": {"max_mode": 2}}}, ["--max", "3"], 3),
    "off for an agent": (
        {"max_mode": {"on": True}, "agent": {"build": {"max_mode": False}}},
        [],
        1,
    ),
}


@pytest.mark.parametrize("who", ON)
def test_prompt_agent_and_configuration_say_how_many(chat_house: Household, who: str) -> None:
    house = chat_house
    config, options, count = ON[who]
    house.config |= config
    panel = Panel([done()] * count)
    house.play(panel)
    answer = house.prompt("go", *options)
    assert answer.code == 0, answer.err
    assert len(panel.heard[0]) == count


# Stops, words of a person, kills


def test_an_interrupt_ends_all_candidates_at_once(house: Household) -> None:
    panel = Panel([done(out=70), [Begin(), Barrier("b")], [Begin(), Barrier("c")]])
    house.play(panel)
    process = house.start("run", "--format", "json", "--max", "--", "go")
    house.model.wait_for_barrier("b")
    house.model.wait_for_barrier("c")
    wait_for_cost(house, IN + 70)
    process.send_signal(signal.SIGINT)
    answer = end(process)
    assert answer.code == 130, answer.err
    house.model.wait_until(
        lambda: sum(one.closed_by_client for one in house.model.requests) == 2, timeout=5
    )
    assert (turn(house)["tokens"], turn(house)["outcome"]) == (IN + 70, "cancelled")
    assert steps(house) == []
    house.play(Panel([done("Hello.")]))
    assert house.prompt("hello", "--continue").text == "Hello."
    assert_rows_are_sound(house)


def wait_for_cost(house: Household, tokens: int) -> None:
    deadline = time.monotonic() + 10
    while turn(house)["tokens"] < tokens:
        assert time.monotonic() < deadline, turn(house)
        time.sleep(0.05)


def test_words_of_a_person_leave_a_round_that_is_out_of_date(chat_house: Household) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if "and hurry" in request.last_user_text:
            return reply(done("Hurrying."))
        return reply([Begin(), Barrier("slow"), Text("Slow.")])

    house.play(play)
    first = house.start("run", "--format", "json", "--max", "2", "--", "go")
    house.model.wait_for_barrier("slow")
    second = house.run("run", "--continue", "and hurry")
    assert (second.returncode, second.stdout) == (0, "Hurrying.\n"), second.stderr
    answer = end(first)
    assert answer.text == "Hurrying.", answer.err
    (step,) = steps(house)
    assert step.get("error") is None
    left = proposed(house)[0]
    assert left["words"] == "a person spoke meanwhile"
    assert left["candidates"] == ["left", "left"]
    assert_rows_are_sound(house)


KILLS = [
    "ensemble.begin",
    "ensemble.candidate",
    "ensemble.candidate:2",
    "ensemble.judging",
    "ensemble.chosen",
    "apply.committed",
]


@pytest.mark.parametrize("point", KILLS)
def test_a_kill_leaves_the_step_as_never_taken_and_keeps_its_cost(
    chat_house: Household, point: str
) -> None:
    house = chat_house

    def play(request: Request) -> Reply:
        if not request.tool_names:
            return reply(judge(1))
        if any(message.role == "assistant" for message in request.messages):
            return reply(done())
        with_number[0] += 1
        return reply(bash(f"echo {with_number[0]} >> made"))

    with_number = [0]
    house.play(play)
    killed = house.run("run", "--yes", "--max", "2", "go", ROOST_FAILPOINT=f"{point}=kill")
    assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
    spent = turn(house)["tokens"]
    one = IN + 100
    least = {"ensemble.begin": 0, "ensemble.candidate": one, "apply.committed": 3 * one - 90}
    assert spent >= least.get(point, 2 * one)
    made = house.project / "made"
    if point == "apply.committed":
        assert len(made.read_text().split()) == 1
    else:
        assert not made.exists()
        assert steps(house) == []
    answer = house.prompt("go on", "--continue")
    assert (answer.code, answer.text) == (0, "Done."), answer.err
    assert_rows_are_sound(house)

"""When the same steps again and again are a loop, and when they are not."""

from typing import Any

import msgspec
import pytest
from step_samples import after, facts, failed, mail, person, runtime, step, thought, words

from roost.actors.models import Budgets
from roost.sessions.models import AssistantInfo, Message, MessageTime
from roost.sessions.parts import Part, TextPart, ToolCompleted, ToolPart, ToolTime
from roost.turn import loops
from roost.turn.models import Inject, Repeat, Sample, Stop
from roost.turn.policies import repetition, try_best
from roost.turn.verdict import verdict


def ids() -> Any:
    number = 0
    while True:
        number += 1
        yield f"msg_{number}"


names = ids()


def did(*parts: Part, finish: str = "tool-calls", created: int = 1, completed: int = 2) -> Message:
    """A step with an id of its own."""
    time = MessageTime(created, completed)
    made = step(*parts, finish=finish)
    return Message(msgspec.structs.replace(made.info, id=next(names), time=time), made.parts)


def call(
    command: str = "ls", output: str = "output", seconds: float = 0.1, **metadata: Any
) -> ToolPart:
    time = ToolTime(0, int(seconds * 1000))
    state = ToolCompleted({"command": command}, output, "", metadata, time)
    return ToolPart("prt", "ses_1", "msg_1", "call_1", "bash", state)


class Played:
    """What is said after each step of a turn that goes on with `steps`."""

    def __init__(self, steps: list[Message], between: Message | None = None) -> None:
        self.said: list[str] = []
        self.hidden: list[tuple[str, ...]] = []
        self.words: list[str] = []
        history, budgets = [person()], Budgets({try_best.PAUSES: 0})
        for number, one in enumerate(steps):
            action = verdict(after(one, *history, budgets=budgets, steps=number))
            history.append(one)
            match action:
                case Inject():
                    budgets = budgets.spend(**{action.policy: 1})
                    history.append(runtime())
                    self.said.append("replan" if "new plan" in action.words else "remind")
                    self.hidden.append(action.hide)
                    self.words.append(action.words)
                case Stop():
                    self.said.append("stop")
                    return
                case Sample():
                    self.said.append("")
                case _:
                    raise AssertionError(action)
            if between is not None:
                history.append(between)

    def rungs(self) -> list[int]:
        """After how many steps each rung came."""
        return [number for number, said in enumerate(self.said, 1) if said]


def test_the_same_call_again_and_again_climbs_a_ladder() -> None:
    ladder = ["", "", "remind", "", "", "replan", "", "", "stop"]
    assert Played([did(call()) for _ in range(20)]).said == ladder
    assert Played([did(failed()) for _ in range(20)]).said == ladder


def test_the_loop_leaves_the_view_with_the_second_rung_and_one_round_of_it_stays() -> None:
    steps = [did(call()) for _ in range(9)]
    first, second = Played(steps).hidden
    assert first == ()
    assert set(second) == {one.info.id for one in steps[1:6]}


@pytest.mark.parametrize("period", [2, 3, 4])
def test_a_round_of_several_steps_is_noticed(period: int) -> None:
    steps = [did(call(f"command {n % period}")) for n in range(100)]
    played = Played(steps)
    assert played.rungs() == [3 * period, 6 * period, 9 * period]
    assert set(played.hidden[1]) == {one.info.id for one in steps[period : 6 * period]}


@pytest.mark.parametrize("period", [5, 6, 10])
def test_longer_rounds_are_work(period: int) -> None:
    assert Played([did(call(f"command {n % period}")) for n in range(100)]).rungs() == []


def test_what_is_said_beside_the_same_call_makes_it_no_other() -> None:
    steps = [did(thought(f"idea {n}"), words(f"Try {n}."), call()) for n in range(9)]
    assert Played(steps).rungs() == [3, 6, 9]


def test_results_that_change_are_given_more_time_and_the_newest_stays() -> None:
    steps = [did(call(output=f"{n} left")) for n in range(40)]
    played = Played(steps)
    assert played.rungs() == [8, 16, 24]
    assert set(played.hidden[1]) == {one.info.id for one in steps[:15]}


def test_who_watches_something_that_gets_on_is_in_no_loop() -> None:
    polling = [did(call("sleep 30; tail -1 log", f"{n} %", seconds=30)) for n in range(200)]
    assert Played(polling).rungs() == []


def test_who_waits_patiently_for_what_does_not_change_is_reminded_late() -> None:
    polling = [did(call("gh run watch", "queued", seconds=60)) for _ in range(100)]
    assert Played(polling).rungs() == [20, 40, 60]


def waited(seconds: float, times: int) -> list[Message]:
    """Steps that wait for mail, and each time hear that nobody wrote."""
    found: list[Message] = []
    for n in range(times):
        begin = int(n * seconds * 1000)
        found.append(did(call("wait"), created=begin, completed=begin))
    return found


def nobody() -> Message:
    told = mail("system")
    origin = {"origin": {"kind": "system", "name": loops.WAITING}}
    parts = tuple(
        msgspec.structs.replace(part, metadata=origin)
        for part in told.parts
        if isinstance(part, TextPart)
    )
    return Message(told.info, parts)


def test_waits_for_mail_in_which_time_passed_are_no_loop_and_such_without_are() -> None:
    assert Played(waited(600, 50), nobody()).rungs() == []
    assert Played(waited(0.01, 50), nobody()).rungs() == [3, 6, 9]


@pytest.mark.parametrize("kinds", [("message",), ("notice",), ("system", "permission")])
def test_an_actor_that_is_written_to_each_time_is_in_no_loop(kinds: tuple[str, ...]) -> None:
    assert Played([did(call("wait")) for _ in range(30)], mail(*kinds)).rungs() == []


def test_what_the_runtime_says_of_itself_does_not_end_a_streak() -> None:
    assert Played([did(call()) for _ in range(9)], mail("system", "system")).rungs() == [3, 6, 9]


def test_a_person_who_speaks_ends_a_streak() -> None:
    same = did(call())
    history = (person(), same, same, person("again please"))
    assert verdict(after(same, *history)) == Sample()
    assert isinstance(verdict(after(same, person(), same, runtime(), same)), Inject)


def test_different_work_is_no_loop() -> None:
    edits = [did(call(f"edit {n}")) if n % 2 else did(call("test")) for n in range(40)]
    assert Played(edits).rungs() == []
    pause = [did(call()), did(call()), did(call("pwd")), did(call()), did(call())]
    assert Played(pause).rungs() == []


def test_an_answer_that_was_given_before_is_no_loop() -> None:
    answer = step(words("All tests pass."))
    history = [person(), answer, runtime(), answer, runtime(), answer, runtime()]
    assert verdict(after(answer, *history)) == Stop("success")


def test_an_answer_that_is_cut_and_begun_anew_each_time_is_one() -> None:
    cut = [did(words("Once upon a time there was " * 9), finish="length") for _ in range(3)]
    history: list[Message] = [person()]
    for one in cut[:2]:
        history += [one, runtime()]
    action = verdict(after(cut[2], *history, budgets=Budgets().spend(length=2)))
    assert isinstance(action, Inject)
    assert action.policy == repetition.BUDGET


def test_a_step_with_dozens_of_the_same_call_is_a_loop_by_itself() -> None:
    def crowd(command: str, count: int) -> Message:
        more = [call(command, duplicateOf="call_1") for _ in range(count)]
        return did(call(command), *more)

    played = Played([crowd(f"ls {n}", 39) for n in range(3)])
    assert played.said == ["remind", "replan", "stop"]
    assert "39 calls of one step" in played.words[0]
    assert Played([crowd(f"ls {n}", 5) for n in range(9)]).rungs() == []


def test_equal_calls_are_equal_whatever_the_order_of_their_fields() -> None:
    one = {"a": 1, "b": {"c": 2, "d": 3}}
    other = {"b": {"d": 3, "c": 2}, "a": 1}
    assert loops.call_signature("bash", one) == loops.call_signature("bash", other)
    assert loops.call_signature("bash", one) != loops.call_signature("read", one)
    assert loops.call_signature("bash", {"a": 1}) != loops.call_signature("bash", {"a": "1"})


def test_the_cost_of_looking_for_loops_does_not_grow_with_the_history() -> None:
    history = tuple(did(call(f"command {n}")) for n in range(3_000))
    seen = 0

    class Counting(tuple[Message, ...]):
        __slots__ = ()

        def __reversed__(self) -> Any:
            nonlocal seen
            for index in range(len(self) - 1, -1, -1):
                seen += 1
                yield self[index]

    assert loops.rounds(Counting((person(), *history))) is None
    assert seen < 20


def test_a_stream_that_was_cut_is_told_and_left_out_at_once() -> None:
    cut = did(words("x"))
    action = verdict(after(Repeat(cut, "the same 5 characters")))
    assert isinstance(action, Inject)
    assert "the same 5 characters" in action.words
    assert action.hide == (cut.info.id,)


def test_a_loop_that_is_found_at_the_start_of_a_step_is_judged_like_one_that_just_closed() -> None:
    steps = [did(call()) for _ in range(3)]
    found = verdict(facts(person(), *steps))
    assert found == verdict(after(steps[2], person(), *steps[:2]))
    assert isinstance(steps[2].info, AssistantInfo)

from typing import Any

import msgspec
import pytest
from step_samples import DONE, WHERE, after, facts, person, ran, runtime, step, thought, words

from roost.actors.models import Budgets
from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart
from roost.tools.structured_output import NAME
from roost.turn.models import Facts, Inject, Repeat, Review, Sample, Stop
from roost.turn.policies import hooks, structured
from roost.turn.verdict import verdict

FORMAT = {"type": "json_schema", "schema": {"type": "object"}}


def asked(**more: Any) -> UserInfo:
    info = person().info
    assert isinstance(info, UserInfo)
    return msgspec.structs.replace(info, format={**FORMAT, **more})


def answer(**state: Any) -> ToolPart:
    return ToolPart("prt", *WHERE, "call_2", NAME, ToolCompleted(state, "taken", "", {}, DONE))


def misfit(error: str = "/a: is wrong") -> ToolPart:
    return ToolPart("prt", *WHERE, "call_2", NAME, ToolFailed({}, error, DONE, None))


def taken(message: Any, *before: Message, used: int = 0, **more: Any) -> Facts:
    prompt = more.pop("prompt", asked())
    budgets = Budgets(used={structured.BUDGET: used} if used else {})
    return after(message, *before, prompt=prompt, budgets=budgets, **more)


def test_an_answer_that_fits_ends_the_turn_whatever_was_called_beside_it() -> None:
    assert verdict(taken(step(answer(), finish="tool-calls"))) == Stop("success")
    assert verdict(taken(step(words("so"), ran(), answer()))) == Stop("success")
    assert verdict(taken(step(misfit(), answer()))) == Stop("success")


def test_other_tools_come_first_as_always() -> None:
    assert verdict(taken(step(ran(), finish="tool-calls"))) == Sample()
    assert verdict(facts(prompt=asked())) == Sample()


NO_ANSWERS = [
    ("words", step(words("done")), False),
    ("thought", step(thought("hm")), False),
    ("nothing", step(), False),
    ("a cut answer", step(words("half"), finish="length"), False),
    ("a call in words", step(words('<tool_call>{"name": "x"}</tool_call>')), True),
]


@pytest.mark.parametrize(("message", "hides"), [n[1:] for n in NO_ANSWERS])
def test_without_the_call_the_model_is_asked_again_and_then_the_turn_fails(
    message: Message, hides: bool
) -> None:
    hidden = (message.info.id,) if hides else ()
    for used in range(2):
        action = verdict(taken(message, used=used))
        assert action == Inject(structured.BUDGET, structured.WORDS, hide=hidden)
    action = verdict(taken(message, used=2))
    assert isinstance(action, Stop)
    assert action.error is not None
    assert action.error.name == "StructuredOutputError"
    assert action.error.data["retries"] == 2


def test_an_answer_that_does_not_fit_costs_a_try_and_its_fault_is_told_at_the_end() -> None:
    assert verdict(taken(step(misfit()), used=1)) == Sample(spend=structured.BUDGET)
    action = verdict(taken(step(misfit()), used=2))
    assert isinstance(action, Stop)
    assert action.error is not None
    assert "/a: is wrong" in action.error.message


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_the_prompt_says_how_often_it_is_asked_again(retries: int) -> None:
    prompt = asked(retryCount=retries)
    last = verdict(taken(step(words("x")), used=retries, prompt=prompt))
    assert isinstance(last, Stop)
    if retries:
        before = verdict(taken(step(words("x")), used=retries - 1, prompt=prompt))
        assert isinstance(before, Inject)


def test_the_number_of_the_prompt_comes_before_that_of_the_configuration() -> None:
    budgets = Budgets({structured.BUDGET: 0})
    given = after(step(words("x")), prompt=asked(retryCount=1), budgets=budgets)
    assert isinstance(verdict(given), Inject)
    assert isinstance(verdict(after(step(words("x")), prompt=asked(), budgets=budgets)), Stop)


def test_without_a_format_words_are_the_answer() -> None:
    assert verdict(after(step(words("done")), prompt=None)) == Stop("success")
    plain = msgspec.structs.replace(asked(), format={"type": "text"})
    assert verdict(after(step(words("done")), prompt=plain)) == Stop("success")


def test_loops_and_objections_count_as_ever() -> None:
    loop = verdict(taken(Repeat(step(words("x")), "a loop")))
    assert isinstance(loop, Inject)
    assert loop.policy == "repetition"
    objecting = msgspec.structs.replace(
        taken(step(answer())), review=Review(objections=("Not yet.",))
    )
    assert verdict(objecting) == Inject(hooks.BUDGET, "Not yet.")


def test_the_same_answer_in_turn_after_turn_is_no_loop() -> None:
    same = step(answer(a=1))
    assert verdict(taken(same, person(), same, runtime(), same, runtime())) == Stop("success")


def test_a_turn_that_wakes_with_its_answer_given_ends() -> None:
    assert verdict(facts(person(), step(answer()), prompt=asked())) == Stop("success")

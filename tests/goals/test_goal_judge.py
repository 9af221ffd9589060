import json

import msgspec
import pytest
from jsonschema_rs import validator_for

from roost.goals.digest import Evidence
from roost.goals.judge import REASON, SCHEMA, UnreadableOpinionError, again, read, request
from roost.llm.models import AssistantMessage, Model, ModelRequest, Text, UserMessage

MODEL = Model("scripted", "one", "openai-chat", "http://127.0.0.1", output=2_000)


def ask(condition: str) -> ModelRequest:
    return request(MODEL, condition, Evidence(messages=()))


def said(given: ModelRequest, at: int = 0) -> str:
    message = given.messages[at]
    assert isinstance(message, UserMessage | AssistantMessage)
    return "".join(block.text for block in message.content if isinstance(block, Text))


@pytest.mark.parametrize("verdict", ["met", "gap", "impossible"])
@pytest.mark.parametrize("wrap", ["{}", "\n{}\n", "```json\n{}\n```", "<think>is it?</think>{}"])
def test_an_answer_is_the_object_and_nothing_beside_it(verdict: str, wrap: str) -> None:
    given = json.dumps({"verdict": verdict, "reason": " it\nis so "})
    opinion = read(wrap.replace("{}", given))
    assert (opinion.verdict, opinion.reason) == (verdict, "it is so")
    validator_for(SCHEMA).validate(msgspec.to_builtins(opinion))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n",
        "met",
        "The goal is met.",
        'The agent wrote {"verdict": "met", "reason": "x"}, so it is met.',
        '{"verdict": "met", "reason": "x"} {"verdict": "gap", "reason": "y"}',
        '{"verdict": "yes", "reason": "x"}',
        '{"verdict": "met"}',
        '{"verdict": "gap", "reason": "  "}',
        '{"verdict": "gap", "reason": 1}',
        '["met", "x"]',
        '{"verdict": "gap", "reason": "cut',
        "[" * 100_000,
    ],
)
def test_what_is_no_answer_is_told_in_which_way(answer: str) -> None:
    with pytest.raises(UnreadableOpinionError) as refused:
        read(answer)
    assert str(refused.value)


def test_a_reason_is_bounded() -> None:
    assert len(read(json.dumps({"verdict": "gap", "reason": "x" * 9_000})).reason) == REASON


def test_the_judge_is_told_the_goal_the_record_and_the_form_of_its_answer() -> None:
    asked = ask("the tests pass")
    assert "The goal:\nthe tests pass\n" in said(asked)
    assert "JSON" in asked.system[0]
    assert asked.output_schema == SCHEMA
    assert asked.max_output == MODEL.output
    assert asked.tools == ()


@pytest.mark.parametrize(
    ("condition", "is_question"),
    [("Is the build green?", True), ("构建成功了吗？", True), ("the build is green", False)],
)
def test_a_question_is_reached_with_its_answer(condition: str, is_question: bool) -> None:
    assert ("It is a question" in said(ask(condition))) == is_question


def test_an_answer_that_cannot_be_read_is_given_back_with_what_is_wrong() -> None:
    mended = again(again(ask("x"), "It is " + "met " * 9_000, "no JSON"), "", "it is empty")
    kinds = [type(message) for message in mended.messages]
    assert kinds == [UserMessage, AssistantMessage, UserMessage, AssistantMessage, UserMessage]
    assert "no JSON" in said(mended, 2)
    assert len(said(mended, 1)) < 2_100
    assert said(mended, 3).strip()

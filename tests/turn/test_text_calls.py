"""Tool calls as text: what models write in place of a call, and answers that only speak of it."""

import json
from pathlib import Path

import pytest
from step_samples import facts, step, words

from roost.llm.models import ToolSpec
from roost.tools.registry import builtin_tools
from roost.turn.classes import traits_of
from roost.turn.models import Completed, Inject
from roost.turn.policies import text_tool_call
from roost.turn.text_calls import FORMS, find
from roost.turn.verdict import verdict

TOOLS = {name: frozenset(tool.schema()["properties"]) for name, tool in builtin_tools().items()}
SPECS = tuple(ToolSpec(t.name, t.description, t.schema()) for t in builtin_tools().values())

SAMPLES = Path(__file__).with_name("written_calls")


def samples(name: str) -> list[str]:
    """Texts of a file, each as the whole of what a model says."""
    text = (SAMPLES / name).read_text(encoding="utf-8").removesuffix("\n")
    return text.split("\n-------- next --------\n")


MEANT = samples("meant.txt")
ONLY_SAID = samples("only_said.txt")


@pytest.mark.parametrize("text", MEANT)
def test_a_call_in_any_form_that_models_write_is_found(text: str) -> None:
    assert find(text, TOOLS) in FORMS


@pytest.mark.parametrize("text", MEANT)
def test_it_is_found_behind_a_short_word_and_before_a_token_that_ends_the_turn(text: str) -> None:
    assert find(f"Now I look at it.\n\n{text}", TOOLS)
    assert find(f"{text}<|im_end|>\n", TOOLS)


@pytest.mark.parametrize("text", ONLY_SAID)
def test_an_answer_that_speaks_of_calls_is_none(text: str) -> None:
    assert find(text, TOOLS) == ""


@pytest.mark.parametrize("text", [text for text in MEANT if "```" not in text])
def test_a_quoted_call_in_an_explanation_is_none(text: str) -> None:
    """Whoever explains how calls are written quotes them, and goes on."""
    told = f"Such a model writes:\n\n```\n{text}\n```\n\nThe loop asks it to call the tool again."
    assert find(told, TOOLS) == ""
    assert find(f"An example of it:\n\n```\n{text}\n```", TOOLS) == ""


def test_a_long_text_with_a_block_at_its_end_is_an_explanation() -> None:
    block = '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```'
    report = "I have changed the reader so that it takes such a body, and the tests pass. " * 12
    assert find(f"{report}\n\n{block}", TOOLS) == ""
    assert find(f"Let me see.\n\n{block}", TOOLS) == "JSON"


def test_without_an_argument_that_the_tool_takes_json_is_no_call() -> None:
    for name in TOOLS:
        assert find(json.dumps({"name": name, "arguments": {"colour": "red"}}), TOOLS) == ""
        assert find(json.dumps({"name": name, "version": "1.0"}), TOOLS) == ""
        assert find(json.dumps([name]), TOOLS) == ""


def test_a_description_of_a_tool_is_no_call() -> None:
    for spec in SPECS:
        shown = {"name": spec.name, "description": "x", "parameters": spec.schema}
        assert find(json.dumps(shown), TOOLS) == ""
        assert find(f"Here it is:\n\n```json\n{json.dumps(shown, indent=2)}\n```", TOOLS) == ""


def test_the_model_is_told_in_which_form_it_wrote() -> None:
    said = step(words('Let me see.\n\n[TOOL_CALLS]bash[ARGS]{"command": "ls"}'))
    assert traits_of(said, SPECS).text_call == "[TOOL_CALLS]"
    action = verdict(facts().after(Completed(said), tools=SPECS))
    assert isinstance(action, Inject)
    assert action.words == text_tool_call.WORDS.format(form="[TOOL_CALLS]")
    assert action.hide == (said.info.id,)


def test_a_call_that_was_cut_at_the_output_limit_is_one_too() -> None:
    cut = '<tool_call>{"name": "write", "arguments": {"filePath": "a", "content": "def f'
    assert find(cut, TOOLS)


def test_reading_a_long_text_takes_little_time() -> None:
    import time

    rows = "".join(f'{{"name": "row {n}", "value": [{n}, {n * n}]}}\n' for n in range(6_000))
    tags = "".join(f"<p class='x'>{n} <tool_call> </p>\n" for n in range(6_000))
    began = time.process_time()
    for text in (rows, tags, "<tool_call>" * 20_000, "{" * 50_000, "bash(" * 30_000):
        assert find(text, TOOLS) == ""
    assert time.process_time() - began < 6

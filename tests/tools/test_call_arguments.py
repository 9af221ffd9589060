import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from roost.tools.arguments import RAW_SHOWN, ArgumentsError, Parsed, parse_call, read_object
from roost.tools.contract import Tool, ToolContext, ToolOutput


class Edit(Struct, frozen=True):
    old: str
    new: str


class Arguments(Struct, frozen=True, rename="camel"):
    file_path: str
    limit: int = 0
    force: bool = False
    edits: list[Edit] = []
    options: dict[str, Any] = {}
    note: str | None = None


class Sample(Tool[Arguments]):
    name = "sample"
    parameters = Arguments
    permission = "sample"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("")


TOOLS = {"sample": Sample(), "bash": Sample()}


def parse(raw: str, name: str = "sample", *, complete: bool = True) -> Parsed:
    return parse_call(TOOLS, name, raw, complete=complete)


def refused(raw: str, name: str = "sample", *, complete: bool = True) -> ArgumentsError:
    with pytest.raises(ArgumentsError) as caught:
        parse(raw, name, complete=complete)
    assert len(caught.value.message) < RAW_SHOWN + 400
    msgspec.json.encode([caught.value.message, caught.value.input])
    return caught.value


def test_an_object_of_strict_json_is_read() -> None:
    parsed = parse('{"filePath": "ä.txt", "limit": 3}')
    assert parsed.arguments == Arguments("ä.txt", 3)
    assert parsed.input == {"filePath": "ä.txt", "limit": 3}
    assert parsed.tool is TOOLS["sample"]


def test_an_object_that_was_written_as_a_string_is_read_but_not_twice_over() -> None:
    once = json.dumps('{"filePath": "a"}')
    assert parse(once).arguments == Arguments("a")
    assert parse(once).input == {"filePath": "a"}
    assert "JSON object is needed" in refused(json.dumps(once)).message


def test_a_field_that_is_no_string_may_be_json_in_a_string() -> None:
    raw = {"filePath": "[a]", "edits": '[{"old": "x", "new": "[1]"}]', "options": '{"a": 1}'}
    parsed = parse(json.dumps(raw))
    assert parsed.arguments == Arguments("[a]", edits=[Edit("x", "[1]")], options={"a": 1})
    assert "$.edits" in refused('{"filePath": "a", "edits": "[1"}').message
    assert "$.edits" in refused('{"filePath": "a", "edits": "[1, NaN]"}').message


def test_numbers_and_truth_values_may_be_written_as_strings() -> None:
    assert parse('{"filePath": "a", "limit": "7", "force": "true"}').arguments == Arguments(
        "a", 7, force=True
    )


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"filePath": "a", "limit": NaN}', "NaN"),
        ('{"filePath": "a", "limit": -Infinity}', "Infinity"),
        ('{"filePath": "a", "limit": 1e999}', "too large"),
        ('{"filePath": "a", "limit": 1' + "0" * 30 + "}", "too large"),
        ('{"filePath": "a", "limit": 1' + "0" * 9_000 + "}", "too large"),
        ('{"filePath": "a", "filePath": "b"}', "'filePath' stands there twice"),
        ('{"filePath": "a", "options": {"x": 1, "x": 2}}', "'x' stands there twice"),
        ('{"filePath": "a"', "cannot be read"),
        ('{"filePath": "a"} and more', "cannot be read"),
        ("{'filePath': 'a'}", "cannot be read"),
        ('{"filePath": "a",}', "cannot be read"),
        ('["a"]', "JSON object is needed"),
        ("42", "JSON object is needed"),
        ("null", "JSON object is needed"),
        ('"filePath"', "cannot be read"),
        ("[" * 100_000, "nested"),
        ('{"filePath": "a", "options": ' + '{"a":' * 200 + "1" + "}" * 200 + "}", "nested"),
    ],
)
def test_what_is_not_strict_json_is_refused_and_shown_back(raw: str, why: str) -> None:
    error = refused(raw)
    assert why in error.message
    assert "was not run" in error.message
    assert raw[:20] in error.message
    assert error.input == {}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ("{}", "filePath"),
        ("", "filePath"),
        (" \n", "filePath"),
        ('{"filePath": 5}', "$.filePath"),
        ('{"filePath": null}', "$.filePath"),
        ('{"filePath": ["a"]}', "$.filePath"),
        ('{"filePath": "a", "limit": "many"}', "$.limit"),
        ('{"filePath": "a", "limit": 1.5}', "$.limit"),
        ('{"filePath": "a", "edits": {"old": "x", "new": "y"}}', "$.edits"),
        ('{"filePath": "a", "edits": [{"old": "x"}]}', "$.edits[0]"),
    ],
)
def test_arguments_that_do_not_fit_name_the_field(raw: str, field: str) -> None:
    error = refused(raw)
    assert field.removeprefix("$.") in error.message
    assert error.input == (json.loads(raw) if raw.strip() else {})


def test_text_is_made_safe_before_it_enters_history() -> None:
    parsed = parse(r'{"filePath": "a\ud800\u0000b", "options": {"\udfff": ["\ud83d"]}}')
    assert parsed.arguments == Arguments("a\ufffd␀b", options={"\ufffd": ["\ufffd"]})
    assert parse(r'{"filePath": "\ud83d\ude00"}').arguments == Arguments("😀")
    error = refused('{"filePath": "\ud800\x00')
    assert "\ufffd␀" in error.message


def test_a_call_that_was_cut_off_is_not_run_and_says_how_long_it_was() -> None:
    error = refused('{"filePath": "ä', complete=False)
    assert "cut off after 16 bytes" in error.message
    assert error.input == {}
    assert "cut off" in refused('{"filePath": "a"}', complete=False).message


def test_long_arguments_are_shown_back_in_part() -> None:
    error = refused("x" * 100_000)
    assert error.message.count("x") <= RAW_SHOWN


def test_an_unknown_tool_has_its_own_error_and_a_guess() -> None:
    error = refused('{"command": "ls"}', "bsh")
    assert "There is no tool 'bsh'" in error.message
    assert "Did you mean bash?" in error.message
    assert error.input == {"command": "ls"}
    assert "sample, bash" in refused("{}", "x" * 50_000).message


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, database=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), json_values, max_size=4))
def test_every_object_comes_through_unchanged_plain_or_wrapped_once(value: dict[str, Any]) -> None:
    raw = json.dumps(value)
    assert read_object(raw) == value
    assert read_object(json.dumps(raw)) == value
    msgspec.json.encode(read_object(raw))


@settings(max_examples=150, deadline=None, database=None)
@given(st.text('{}[]":,\\u0d8ntrue 1e', max_size=40) | st.text(max_size=20))
def test_no_text_whatever_does_more_than_be_refused(raw: str) -> None:
    try:
        msgspec.json.encode(read_object(raw))
    except ArgumentsError as error:
        msgspec.json.encode(error.message)

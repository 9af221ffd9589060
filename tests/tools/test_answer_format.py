import json
import subprocess
import sys
from typing import Any

import pytest

from roost.core.errors import UsageError
from roost.llm.schema_refs import moved
from roost.tools.answer_format import AnswerFormat, answer_format, check_format, retries_of
from roost.tools.arguments import ArgumentsError, parse_call
from roost.tools.structured_output import NAME, StructuredOutputTool
from scripted_model.picture import Tool
from scripted_model.tool_rules import schema_fault

BUG = {
    "type": "object",
    "properties": {"file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
    "required": ["file", "line"],
    "additionalProperties": False,
}
TREE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$ref": "#/definitions/node",
    "definitions": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/definitions/node"}},
            },
            "required": ["name"],
        }
    },
}


def made(schema: Any) -> AnswerFormat:
    return answer_format({"type": "json_schema", "schema": schema})


def test_an_object_is_asked_for_as_it_is() -> None:
    bug = made(BUG)
    assert bug.arguments == BUG
    assert bug.faults({"file": "a.py", "line": 3}) == []
    assert bug.answer({"file": "a.py", "line": 3}) == {"file": "a.py", "line": 3}


def test_every_fault_is_told_with_its_place() -> None:
    faults = made({"type": "object", "properties": {"bugs": {"items": BUG}}}).faults(
        {"bugs": [{"file": "a", "line": 1}, {"file": 2, "line": 0, "x": 1}]}
    )
    assert sorted(one.partition(":")[0] for one in faults) == [
        "/bugs/1",
        "/bugs/1/file",
        "/bugs/1/line",
    ]
    assert len(made({"type": "object", "required": [str(n) for n in range(99)]}).faults({})) == 10


@pytest.mark.parametrize(
    ("schema", "answer", "wrong"),
    [
        ({"type": "array", "items": {"type": "string"}}, ["a"], [1]),
        ({"enum": ["yes", "no"]}, "yes", "perhaps"),
        ({"type": ["string", "null"]}, None, 1),
        ({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "number"}]}, 3, {"b": 1}),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 3, "x"),
        (TREE, {"name": "a", "children": [{"name": "b"}]}, {"name": "a", "children": [{}]}),
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [1]),
    ],
)
def test_what_is_no_object_stands_in_a_value(schema: Any, answer: Any, wrong: Any) -> None:
    shape = made(schema)
    assert list(shape.arguments["properties"]) == ["value"]
    assert shape.faults({"value": answer}) == []
    assert shape.answer({"value": answer}) == answer
    assert shape.faults({"value": wrong})
    assert shape.faults({}) == ['/: "value" is a required property']


@pytest.mark.parametrize(
    "schema",
    [
        BUG,
        TREE,
        {"type": "object"},
        {"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array"}, "b": {"$ref": "#"}}},
        {"type": "array"},
        {"type": "object", "properties": {"items": {"type": ["array", "null"]}}},
        {"oneOf": [{"type": "string"}, {"type": "array"}]},
        {},
    ],
)
@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_the_tool_suits_the_pickiest_provider(schema: Any, dialect: Any) -> None:
    arguments = made(schema).arguments
    assert schema_fault(dialect, Tool(name="x", description="x", schema=arguments)) == ""


@pytest.mark.parametrize(
    ("format_", "place"),
    [
        ({"type": "json_schema"}, "format.schema: must be"),
        ({"type": "json_schema", "schema": []}, "format.schema: must be"),
        ({"type": "json_schema", "schema": True}, "format.schema: must be"),
        ({"type": "json_schema", "schema": {"type": "strin"}}, 'format.schema/type: "strin"'),
        (
            {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": 3}}}},
            "format.schema/properties/a/type: 3 is not allowed",
        ),
        (
            {"type": "json_schema", "schema": {"type": "array", "items": {"minLength": "x"}}},
            "format.schema/items/minLength:",
        ),
        ({"type": "json_schema", "schema": {"$ref": "#/nowhere"}}, "nowhere"),
        ({"type": "json_schema", "schema": {"pattern": "(("}}, "format.schema/pattern:"),
        ({"type": "json_schema", "schema": {"x": "a" * 300_000}}, "larger than"),
        ({"type": "json_schema", "schema": BUG, "retryCount": -1}, "format.retryCount:"),
        ({"type": "json_schema", "schema": BUG, "retryCount": True}, "format.retryCount:"),
        ({"type": "json_schema", "schema": BUG, "retryCount": "2"}, "format.retryCount:"),
        ({"type": "xml"}, "format.type: 'xml'"),
    ],
)
def test_a_format_that_cannot_be_used_is_refused_with_its_place(
    format_: dict[str, Any], place: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check_format(format_)
    assert place in caught.value.message


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/x.json", "file:///etc/hostname"])
def test_a_schema_makes_nobody_fetch_anything(uri: str) -> None:
    with pytest.raises(UsageError, match=r"format\.schema"):
        made({"type": "object", "properties": {"a": {"$ref": uri}}})


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(UsageError, match=r"format\.schema"):
        made(deep)


def test_words_and_no_format_at_all_are_fine() -> None:
    check_format(None)
    check_format({"type": "text"})
    check_format({"type": "json_schema", "schema": BUG, "retryCount": 0})
    assert retries_of({"retryCount": 0}) == 0
    assert retries_of({}) is None


def test_a_call_that_does_not_fit_is_answered_with_its_faults() -> None:
    tools = {NAME: StructuredOutputTool(made(BUG))}
    with pytest.raises(ArgumentsError) as caught:
        parse_call(tools, NAME, json.dumps({"file": "a", "line": 0}), complete=True)
    assert "/line: 0 is less than the minimum of 1" in caught.value.message
    with pytest.raises(ArgumentsError, match="cut off"):
        parse_call(tools, NAME, '{"file": "a"', complete=False)


def test_references_follow_a_schema_that_moves_and_properties_of_that_name_stay() -> None:
    schema = {"$ref": "#/$defs/a", "properties": {"$ref": {"$ref": "#"}}, "x": [{"$ref": "#b"}]}
    assert moved(schema, "/p") == {
        "$ref": "#/p/$defs/a",
        "properties": {"$ref": {"$ref": "#/p"}},
        "x": [{"$ref": "#b"}],
    }


def test_the_library_is_loaded_for_formats_alone() -> None:
    code = (
        "import sys; import roost.runtime.runtime, roost.tools.structured_output as _;"
        "assert 'jsonschema_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

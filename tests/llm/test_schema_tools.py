import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_samples import BASH, CALM, Heard, answered, asked, called, model, png, request, user

from roost.llm.models import AssistantMessage, Finish, StreamEvent, Text, ToolSpec
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare
from roost.llm.providers.json_reader import ObjectReader, StringReader
from roost.llm.providers.schema_stream import SchemaDecoder
from roost.llm.providers.tool_schema import answer_schema

SMALL = model(small_prompt=True)
ANSWER = '{"answer": "He said \\"hi\\" \\u00e9 \\ud83d\\ude00\\n{ok}"}'
CALL = '{"tool": "bash", "arguments": {"command": "echo \\"}\\" {", "n": {"x": 1}}}'


def pieces(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(edges) if a < b]


def spoken(parts: list[str], finish: str = "stop") -> Heard:
    decoder = SchemaDecoder(SMALL, set(), lambda: "new")
    events: list[StreamEvent] = []
    for part in parts:
        events += decoder.feed(json.dumps({"choices": [{"delta": {"content": part}}]}).encode())
    last: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": finish}]}
    events += decoder.feed(json.dumps(last).encode())
    assert decoder.finished
    return Heard(SMALL, events + decoder.feed(b"[DONE]") + decoder.end())


def test_an_answer_reads_the_same_wherever_it_is_cut() -> None:
    for at in range(len(ANSWER) + 1):
        heard = spoken(pieces(ANSWER, [at]))
        assert heard.text == 'He said "hi" é 😀\n{ok}'
        assert heard.finish == Finish("stop", "stop")


def test_a_call_reads_the_same_wherever_it_is_cut() -> None:
    for at in range(len(CALL) + 1):
        heard = spoken(pieces(CALL, [at]))
        assert (heard.calls[0].id, heard.calls[0].name) == ("new", "bash")
        assert json.loads(heard.calls[0].arguments) == {"command": 'echo "}" {', "n": {"x": 1}}
        assert heard.finish == Finish("tool-calls", "stop")
        assert heard.complete == {"call"}


@CALM
@given(st.lists(st.integers(0, 80), max_size=30))
def test_letters_come_one_by_one_or_all_at_once(cuts: list[int]) -> None:
    assert spoken(pieces(ANSWER, cuts)).text == 'He said "hi" é 😀\n{ok}'
    assert spoken(pieces(CALL, cuts)).complete == {"call"}


def test_words_stream_as_they_come() -> None:
    decoder = SchemaDecoder(SMALL, set())
    chunk = json.dumps({"choices": [{"delta": {"content": '{"answer": "Hel'}}]}).encode()
    assert [type(event).__name__ for event in decoder.feed(chunk)] == ["TextStart", "TextDelta"]


def test_a_call_cut_off_by_length_gets_no_end() -> None:
    heard = spoken([CALL[:50]], "length")
    assert (heard.complete, heard.finish) == (set(), Finish("length", "length"))


@pytest.mark.parametrize("words", ["Plain words.", "", "{oops", '{"answer": 3}', "[1]"])
def test_what_keeps_to_no_schema_is_heard_as_it_is(words: str) -> None:
    assert spoken([words] if words else []).text == words


def test_keys_may_come_in_another_order() -> None:
    heard = spoken(['{"arguments": {"command": "ls"}, "tool": "bash"}'])
    assert (heard.calls[0].name, heard.calls[0].arguments) == ("bash", '{"command":"ls"}')


@CALM
@given(st.text(), st.lists(st.integers(0, 60), max_size=12))
def test_a_string_is_read_as_json_reads_it(text: str, cuts: list[int]) -> None:
    for ascii_only in (True, False):
        written = json.dumps(text, ensure_ascii=ascii_only)[1:] + "rest"
        reader = StringReader()
        assert "".join(reader.feed(piece) for piece in pieces(written, cuts)) == text
        assert reader.complete


@CALM
@given(
    st.dictionaries(st.text(), st.recursive(st.text() | st.integers(), st.lists), max_size=4),
    st.lists(st.integers(0, 60), max_size=12),
)
def test_an_object_ends_with_the_brace_that_closes_it(
    value: dict[str, Any], cuts: list[int]
) -> None:
    written = json.dumps(value)
    reader = ObjectReader()
    read = "".join(reader.feed(piece) for piece in pieces(written + ' } "x"', cuts))
    assert (read, reader.complete) == (written, True)


def sent(*messages: Any, **changes: Any) -> dict[str, Any]:
    wire, _ = prepare(request(SMALL, *messages, **changes), EncodingCache())
    return json.loads(wire.body)


def test_tools_become_a_schema_of_the_answer() -> None:
    body = sent(user("hi"))
    forms = body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [list(form["properties"]) for form in forms] == [["tool", "arguments"], ["answer"]]
    assert forms[0]["properties"] == {"tool": {"const": "bash"}, "arguments": BASH.schema}
    assert "tools" not in body
    assert "bash(command): Run a command." in body["messages"][0]["content"]


def test_a_model_that_must_call_cannot_answer() -> None:
    forms = sent(user("hi"), tool_choice="required")["response_format"]["json_schema"]["schema"]
    assert len(forms["anyOf"]) == 1


def test_without_tools_it_speaks_freely() -> None:
    assert "response_format" not in sent(user("hi"), tools=())
    assert "response_format" not in sent(user("hi"), tool_choice="none")


def test_optional_arguments_are_marked() -> None:
    tool = ToolSpec("read", "Read a file.\nMore.", {"type": "object", "properties": {"limit": {}}})
    assert (
        "- read(limit?): Read a file.\n"
        in sent(user("hi"), tools=(tool,))["messages"][0]["content"] + "\n"
    )


def test_history_is_told_in_the_models_own_words_and_roles_alternate() -> None:
    body = sent(
        user("hi"),
        user("look", png(name="a.png")),
        asked(called("c1"), text="let me"),
        answered("c1", ""),
        user("go on"),
        AssistantMessage((Text("done"),)),
        user("more"),
    )
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    texts = [message["content"] for message in body["messages"]]
    assert "[The image a.png was left out: this model reads only text]" in texts[1]
    assert json.loads(texts[2]) == {"tool": "bash", "arguments": {"command": "ls"}}
    assert texts[3] == "The tool bash answered:\n(no output)\n\ngo on"
    assert json.loads(texts[4]) == {"answer": "done"}


def test_references_of_a_tool_lead_to_places_in_the_whole_schema() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"$ref": "#/$defs/n"}}}
    tools = (ToolSpec("a", "A.", {"type": "object"}), ToolSpec("b", "B.", node))
    arguments = answer_schema(tools, must_call=True)["anyOf"][1]["properties"]["arguments"]
    here = "#/anyOf/1/properties/arguments"
    assert arguments["properties"] == {"next": {"$ref": here}, "n": {"$ref": f"{here}/$defs/n"}}

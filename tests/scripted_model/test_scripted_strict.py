"""Every rule of the strict model, in every dialect it holds in: the good request, then the bad."""

import base64
import json
import struct
import zlib

import pytest
from scripted_requests import DIALECTS, answer, calls_of, first, go_on, items, post, text_of

from scripted_model.scenario import ALWAYS, Call, scenario, step
from scripted_model.server import ScriptedModel

LOOP = scenario(
    [Call("bash", {"command": "ls"}), Call("bash", {"command": "pwd"})],
    step("Two files.", times=ALWAYS),
)


@pytest.fixture(scope="module")
def model():
    with ScriptedModel(LOOP) as served:
        yield served


def png(width, height, padding=0):
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    check = struct.pack(">I", zlib.crc32(head))
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + head + check + b"\0\0\0\0IDAT" + bytes(padding)


def image(dialect, data, mime="image/png"):
    encoded = base64.b64encode(data).decode()
    if dialect == "chat":
        return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{encoded}"}}
    if dialect == "responses":
        return {
            "type": "input_image",
            "image_url": f"data:{mime};base64,{encoded}",
            "detail": "auto",
        }
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": encoded}}


def with_images(dialect, *images):
    body = first(dialect)
    words = {"responses": "input_text"}.get(dialect, "text")
    items(body)[-1]["content"] = [{"type": words, "text": "Look."}, *images]
    return body


def refused(model, dialect, body, **headers):
    before = len(model.violations)
    response = post(model, dialect, body, **headers)
    assert response.status_code in (400, 401, 404, 413), response.text
    found = model.violations[before:]
    assert found, "refused without a violation on record"
    error = response.json()["error"]
    assert error["message"] == found[0].message
    return found[0].rule


def loop(model, dialect):
    """A whole tool loop that is right: the request with both results."""
    body = first(dialect)
    reply = answer(model, dialect, body)
    return go_on(dialect, body, reply, ["a.txt", "/home"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_right_tool_loop_and_a_second_prompt_are_accepted(model, dialect):
    after = loop(model, dialect)
    reply = answer(model, dialect, after)
    assert text_of(dialect, reply) == "Two files."
    last = go_on(dialect, after, reply, say="ping")
    assert answer(model, dialect, last)
    assert model.requests[-1].violations == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_without_its_result_is_refused(model, dialect):
    after = loop(model, dialect)
    if dialect == "anthropic":
        items(after)[-1]["content"].pop()
    else:
        items(after).pop()
    assert refused(model, dialect, after) == "pairing"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_words_of_the_user_before_the_results_are_refused(model, dialect):
    after = loop(model, dialect)
    words = {"type": "text", "text": "stop"}
    if dialect == "anthropic":
        items(after)[-1]["content"].insert(0, words)
    elif dialect == "chat":
        items(after).insert(-1, {"role": "user", "content": "stop"})
    else:
        items(after).insert(-1, {"role": "user", "content": "stop"})
    assert refused(model, dialect, after) == "pairing"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_second_result_for_a_call_is_refused(model, dialect):
    after = loop(model, dialect)
    listed = items(after)[-1]["content"] if dialect == "anthropic" else items(after)
    listed.append(dict(listed[-1]))
    assert refused(model, dialect, after) == "pairing"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_without_a_call_is_refused(model, dialect):
    after = loop(model, dialect)
    listed = items(after)[-1]["content"] if dialect == "anthropic" else items(after)
    key = {"chat": "tool_call_id", "responses": "call_id", "anthropic": "tool_use_id"}[dialect]
    listed.append(dict(listed[-1]) | {key: "call_nobody_made"})
    assert refused(model, dialect, after) == "pairing"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_id_that_comes_twice_is_refused(model, dialect):
    after = loop(model, dialect)
    twice = items(after)[2:] if dialect == "chat" else items(after)[1:]
    items(after).extend(json.loads(json.dumps(twice)))
    assert refused(model, dialect, after) in ("ids", "pairing")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_blank_words_and_blank_results_are_refused(model, dialect, blank):
    assert refused(model, dialect, first(dialect, blank)) == "empty"
    after = loop(model, dialect)
    if dialect == "anthropic":
        items(after)[-1]["content"][-1]["content"] = blank
    else:
        items(after)[-1][{"chat": "content", "responses": "output"}[dialect]] = blank
    assert refused(model, dialect, after) == "empty"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_message_without_content_is_refused(model, dialect):
    body = first(dialect)
    items(body)[-1]["content"] = []
    assert refused(model, dialect, body) == "empty"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_messages_at_all_are_refused(model, dialect):
    body = first(dialect)
    items(body).clear()
    assert refused(model, dialect, body) == "empty"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw.replace(b"List the files.", b"List \xff files."),
        lambda raw: raw.replace(b"List the files.", b"List \\ud83d files."),
        lambda raw: raw.replace(b"List the files.", b"List \\u0000 files."),
        lambda raw: raw.replace(b'"model"', b'"temperature": NaN, "model"'),
        lambda raw: raw.replace(b'"model"', b'"model": "other", "model"'),
        lambda raw: raw.replace(b'"role": "user"', b'"role": "user", "role": "user"'),
        lambda raw: raw[:-1],
        lambda raw: b"[]",
        lambda raw: b"",
    ],
    ids=["utf-8", "surrogate", "nul", "nan", "key-twice", "inner-key-twice", "cut", "list", "void"],
)
def test_bytes_that_some_parser_refuses_are_refused(model, dialect, damage):
    body = damage(json.dumps(first(dialect)).encode())
    assert refused(model, dialect, body) == "json"


@pytest.mark.parametrize("dialect", ["chat", "responses"])
@pytest.mark.parametrize(
    "arguments", ["", "[]", '"ls"', '{"a":', '{"a":1,"a":2}', '{"a":NaN}', '{"a":"\\ud800"}']
)
def test_arguments_that_are_no_json_object_are_refused(model, dialect, arguments):
    after = loop(model, dialect)
    if dialect == "chat":
        items(after)[2]["tool_calls"][0]["function"]["arguments"] = arguments
    else:
        items(after)[1]["arguments"] = arguments
    assert refused(model, dialect, after) == "json"


def test_anthropic_input_must_be_an_object(model):
    after = loop(model, "anthropic")
    items(after)[1]["content"][0]["input"] = "ls"
    assert refused(model, "anthropic", after) == "fields"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_last_word_cannot_be_the_models(model, dialect):
    body = first(dialect)
    said = {"role": "assistant", "content": "Well,"}
    items(body).append(said)
    assert refused(model, dialect, body) == "order"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_model_cannot_speak_first(model, dialect):
    body = first(dialect)
    items(body).insert(len(items(body)) - 1, {"role": "assistant", "content": "Hello."})
    assert refused(model, dialect, body) == "order"


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_the_system_message_comes_first(model, dialect):
    body = first(dialect)
    items(body).append({"role": "system", "content": "Be kind."})
    assert refused(model, dialect, body) == "order"


def test_anthropic_roles_alternate(model):
    body = first("anthropic")
    items(body).append({"role": "user", "content": "And the hidden ones."})
    assert refused(model, "anthropic", body) == "order"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_unknown_and_badly_typed_fields_are_refused(model, dialect):
    assert refused(model, dialect, first(dialect, frobnicate=1)) == "fields"
    assert refused(model, dialect, first(dialect, temperature="hot")) == "fields"
    body = first(dialect)
    items(body)[-1]["timestamp"] = 1
    assert refused(model, dialect, body) == "fields"
    body = first(dialect)
    del body["model"]
    assert refused(model, dialect, body) == "fields"


def test_what_may_not_stand_together_is_refused(model):
    assert refused(model, "chat", first("chat", stream_options={"include_usage": True})) == "fields"
    body = first("chat", tool_choice="auto")
    del body["tools"]
    assert refused(model, "chat", body) == "fields"
    assert refused(model, "chat", first("chat", max_tokens=9, max_completion_tokens=9)) == "fields"
    assert refused(model, "chat", first("chat", tools=[])) == "fields"
    thinking = {"type": "enabled", "budget_tokens": 2000}
    assert refused(model, "anthropic", first("anthropic", thinking=thinking)) == "fields"
    previous = first("responses", previous_response_id="resp_1")
    assert refused(model, "responses", previous) == "fields"


def test_anthropic_wants_max_tokens_and_its_version_header(model):
    body = first("anthropic")
    del body["max_tokens"]
    assert refused(model, "anthropic", body) == "fields"
    assert model.violations[-1].message == "max_tokens: Field required"
    without = {"anthropic-version": None}
    assert refused(model, "anthropic", first("anthropic"), **without) == "fields"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_have_unique_names_of_the_right_shape_and_sound_schemas(model, dialect):
    def tools(change):
        body = first(dialect)
        tool = body["tools"][0]["function"] if dialect == "chat" else body["tools"][0]
        change(body, tool, "input_schema" if dialect == "anthropic" else "parameters")
        return refused(model, dialect, body)

    assert tools(lambda body, tool, key: body["tools"].append(body["tools"][0])) == "tools"
    assert tools(lambda body, tool, key: tool.update(name="my tool")) == "tools"
    assert tools(lambda body, tool, key: tool.update(name="x" * 65)) == "tools"
    assert tools(lambda body, tool, key: tool.update(description=" ")) == "tools"
    for schema in (
        {},
        {"type": "array", "items": {}},
        {"type": "object", "anyOf": []},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"enum": []}}},
        {"type": "object", "properties": {"a b": {}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "array"}]}}},
    ):
        assert tools(lambda body, tool, key, s=schema: tool.update({key: s})) == "tools", schema


@pytest.mark.parametrize("dialect", DIALECTS)
def test_images_within_the_limits_are_accepted(model, dialect):
    picture = image(dialect, png(8000, 8000))
    assert answer(model, dialect, with_images(dialect, *[picture] * 20))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "data",
    [b"", png(9000, 1), png(1, 8001), png(0, 1), png(9, 9)[:20], png(9, 9, 4_000_000), b"GIF89a"],
    ids=["empty", "wide", "high", "no-pixels", "cut", "heavy", "cut-gif"],
)
def test_images_over_the_limits_are_refused(model, dialect, data):
    assert refused(model, dialect, with_images(dialect, image(dialect, data))) == "media"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_too_many_images_and_false_kinds_are_refused(model, dialect):
    picture = image(dialect, png(10, 10))
    assert refused(model, dialect, with_images(dialect, *[picture] * 21)) == "media"
    false = image(dialect, png(10, 10), "image/jpeg")
    assert refused(model, dialect, with_images(dialect, false)) == "media"


def test_images_in_tool_results_count_too(model):
    after = loop(model, "anthropic")
    items(after)[-1]["content"][0]["content"] = [image("anthropic", png(9000, 1))]
    assert refused(model, "anthropic", after) == "media"


def test_at_most_four_cache_breakpoints(model):
    mark = {"cache_control": {"type": "ephemeral"}}
    body = first("anthropic")
    body["tools"][0] |= mark
    body["system"][0] |= mark
    content = items(body)[0]["content"]
    content[0] |= mark
    content.append({"type": "text", "text": "Now."} | mark)
    assert answer(model, "anthropic", body)
    content.append({"type": "text", "text": "Please."} | mark)
    assert refused(model, "anthropic", body) == "cache"


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("chat", "maximum context length is 1000 tokens"),
        ("responses", "exceeds the context window"),
        ("anthropic", "prompt is too long"),
    ],
)
def test_a_request_over_the_window_overflows_in_the_words_of_the_provider(dialect, words):
    with ScriptedModel(LOOP, context=1000) as model:
        response = post(model, dialect, first(dialect, "word " * 1000))
        assert response.status_code == 400
        assert words in response.json()["error"]["message"]
        if dialect != "anthropic":
            assert response.json()["error"]["code"] == "context_length_exceeded"
        assert model.requests[0].outcome == "overflow"
        assert model.violations == []


def test_images_are_not_counted_as_text():
    with ScriptedModel(LOOP, context=5000) as model:
        picture = image("chat", png(1000, 1000, 500_000))
        assert answer(model, "chat", with_images("chat", picture))
        assert 1333 < model.requests[0].input_tokens < 2000


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_key_must_be_the_right_one(dialect):
    with ScriptedModel(LOOP, api_key="sk-test-000") as model:
        assert answer(model, dialect, first(dialect))
        wrong = {"authorization": "Bearer no", "x-api-key": "no"}
        response = post(model, dialect, first(dialect), **wrong)
        assert response.status_code == 401
        assert [each.rule for each in model.violations] == ["auth"]
        assert "sk-test-000" not in str(model.requests[0].request.headers)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_lenient_model_takes_all_of_it(dialect):
    with ScriptedModel(LOOP, strict=False) as model:
        body = first(dialect, " ", frobnicate=1)
        reply = answer(model, dialect, body)
        items(body).append({"role": "assistant", "content": ""})
        assert answer(model, dialect, body)
        assert calls_of(dialect, reply)
        assert model.violations == []


def test_named_extra_fields_are_let_through():
    with ScriptedModel(LOOP, extra_fields=["enable_thinking"]) as model:
        assert answer(model, "chat", first("chat", enable_thinking=True))


def test_an_unknown_model_is_not_found():
    with ScriptedModel(LOOP, models=["gpt-test"]) as model:
        assert answer(model, "chat", first("chat"))
        response = post(model, "chat", first("chat", model="gpt-none"))
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "model_not_found"


def test_a_bad_message_is_refused_again_although_those_before_it_are_known(model):
    after = loop(model, "chat")
    items(after).append({"role": "user", "content": " "})
    assert refused(model, "chat", after) == "empty"
    assert refused(model, "chat", after) == "empty"
    items(after)[-1]["content"] = "ping"
    assert answer(model, "chat", after)

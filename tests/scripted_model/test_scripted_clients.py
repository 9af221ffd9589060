"""The providers' own client libraries read what the scripted model streams.

They are no dependencies of this project: without them these tests are skipped.
"""

import json

import pytest
from scripted_requests import TOOL_SCHEMA

from scripted_model.scenario import (
    Call,
    Fail,
    Finish,
    NoEnd,
    Reasoning,
    Reply,
    Status,
    Text,
    scenario,
)
from scripted_model.server import ScriptedModel

WORDS = "Grüße 👩‍👩‍👧 und Ключ\n"
FIRST = (Reasoning("Erst überlegen …"), Text(WORDS), Call("bash", {"command": "echo é"}))
LOOP = scenario(Reply(FIRST, wire_chunk=3, newline="\r\n"), "Done.")


def _openai(model, **options):
    openai = pytest.importorskip("openai", reason="the openai package is not installed")
    return openai, openai.OpenAI(
        base_url=f"{model.url}/v1", api_key="sk-test-000", max_retries=0, **options
    )


def _anthropic(model):
    anthropic = pytest.importorskip("anthropic", reason="the anthropic package is not installed")
    return anthropic, anthropic.Anthropic(base_url=model.url, api_key="sk-test-000", max_retries=0)


@pytest.fixture
def model():
    with ScriptedModel(LOOP) as served:
        yield served
        assert served.violations == []


CHAT_TOOLS = [
    {
        "type": "function",
        "function": {"name": "bash", "description": "Run it", "parameters": TOOL_SCHEMA},
    }
]


def test_openai_chat_streams_a_tool_loop(model):
    _, client = _openai(model)
    messages = [{"role": "user", "content": "hi"}]
    with client.chat.completions.stream(
        model="gpt-test",
        messages=messages,
        tools=CHAT_TOOLS,
        stream_options={"include_usage": True},
    ) as stream:
        final = stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == WORDS
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage.prompt_tokens > 0
    (call,) = message.tool_calls
    assert json.loads(call.function.arguments) == {"command": "echo é"}
    kept = {"id": call.id, "type": "function"}
    function = {"name": call.function.name, "arguments": call.function.arguments}
    messages += [
        {"role": "assistant", "content": WORDS, "tool_calls": [kept | {"function": function}]},
        {"role": "tool", "tool_call_id": call.id, "content": "é"},
    ]
    whole = client.chat.completions.create(model="gpt-test", messages=messages, tools=CHAT_TOOLS)
    assert whole.choices[0].message.content == "Done."
    assert whole.usage.prompt_tokens_details.cached_tokens > 0


def test_openai_responses_streams_a_tool_loop(model):
    _, client = _openai(model)
    tools = [
        {
            "type": "function",
            "name": "bash",
            "description": "Run it",
            "parameters": TOOL_SCHEMA,
            "strict": False,
        }
    ]
    common = {
        "model": "gpt-test",
        "tools": tools,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    asked = [{"role": "user", "content": "hi"}]
    with client.responses.stream(input=asked, **common) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert final.output_text == WORDS
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    call = final.output[2]
    assert json.loads(call.arguments) == {"command": "echo é"}
    # The parsing client adds fields of its own to items; only the wire's go back.
    back = [
        {
            key: value
            for key, value in item.to_dict(exclude_none=True).items()
            if "parsed" not in key
        }
        for item in final.output
    ]
    for part in back[1]["content"]:
        part.pop("parsed", None)
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "é"}
    whole = client.responses.create(input=[*asked, *back, output], **common)
    assert whole.output_text == "Done."
    assert whole.usage.input_tokens_details.cached_tokens > 0


def test_anthropic_streams_a_tool_loop_with_signed_thinking(model):
    _, client = _anthropic(model)
    tools = [{"name": "bash", "description": "Run it", "input_schema": TOOL_SCHEMA}]
    common = {"model": "claude-test", "max_tokens": 4000, "tools": tools}
    messages = [{"role": "user", "content": "hi"}]
    with client.messages.stream(messages=messages, **common) as stream:
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use"]
    thought, said, call = final.content
    assert thought.thinking == "Erst überlegen …"
    assert thought.signature
    assert said.text == WORDS
    assert call.input == {"command": "echo é"}
    assert final.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "é"}
    blocks = [
        {"type": "thinking", "thinking": thought.thinking, "signature": thought.signature},
        {"type": "text", "text": said.text},
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input},
    ]
    messages += [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [result]},
    ]
    whole = client.messages.create(messages=messages, **common)
    assert whole.content[0].text == "Done."
    assert whole.usage.output_tokens > 0


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (404, "NotFoundError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ],
)
def test_errors_become_the_clients_own_errors(status, name):
    with ScriptedModel(scenario(*[Status(status)] * 3)) as model:
        openai, client = _openai(model)
        with pytest.raises(getattr(openai, name)):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        anthropic, other = _anthropic(model)
        with pytest.raises(getattr(anthropic, name)) as raised:
            other.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
        assert raised.value.body["type"] == "error"


def test_errors_in_the_stream_are_seen_by_the_clients():
    with ScriptedModel(scenario([Text("half"), Fail("overloaded")], scope="server")) as model:
        _, client = _openai(model)
        model.use(scenario([Text("half"), Fail("overloaded")]))
        openai = pytest.importorskip("openai")
        said = [{"role": "user", "content": "hi"}]
        with pytest.raises(openai.APIError):
            list(client.chat.completions.create(model="m", messages=said, stream=True))
        anthropic, other = _anthropic(model)
        with pytest.raises(anthropic.APIStatusError):
            list(other.messages.create(model="m", max_tokens=9, messages=said, stream=True))


def test_other_endings_are_seen_by_the_clients():
    with ScriptedModel(scenario([Text("half"), Finish("length")])) as model:
        _, client = _openai(model)
        said = [{"role": "user", "content": "hi"}]
        reply = client.responses.create(model="m", input=said)
        assert reply.status == "incomplete"
        assert reply.incomplete_details.reason == "max_output_tokens"
        _, other = _anthropic(model)
        reply = other.messages.create(model="m", max_tokens=9, messages=said)
        assert reply.stop_reason == "max_tokens"
    with ScriptedModel(scenario([Text("half"), NoEnd()])) as model:
        _, client = _openai(model)
        stream = client.responses.create(model="m", input=said, stream=True)
        assert "response.completed" not in [event.type for event in stream]


def test_models_are_listed_for_both_clients():
    with ScriptedModel(scenario("x"), models=["a", "b"]) as model:
        _, client = _openai(model)
        assert [each.id for each in client.models.list()] == ["a", "b"]
        _, other = _anthropic(model)
        assert [each.id for each in other.models.list()] == ["a", "b"]

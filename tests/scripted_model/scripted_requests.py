"""Requests as a correct client makes them, for the tests of the scripted model."""

import copy
import json

import httpx2

TOOL_SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
HEADERS = {
    "chat": {"authorization": "Bearer sk-test-000"},
    "responses": {"authorization": "Bearer sk-test-000"},
    "anthropic": {"x-api-key": "sk-test-000", "anthropic-version": "2023-06-01"},
}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}
DIALECTS = tuple(PATHS)

_CHAT = {
    "model": "gpt-test",
    "messages": [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "List the files."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "bash", "description": "Run it", "parameters": TOOL_SCHEMA},
        }
    ],
}
_RESPONSES = {
    "model": "gpt-test",
    "instructions": "You are terse.",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "List the files."}]}],
    "tools": [
        {
            "type": "function",
            "name": "bash",
            "description": "Run it",
            "parameters": TOOL_SCHEMA,
            "strict": False,
        }
    ],
}
_ANTHROPIC = {
    "model": "claude-test",
    "max_tokens": 1000,
    "system": [{"type": "text", "text": "You are terse."}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "List the files."}]}],
    "tools": [{"name": "bash", "description": "Run it", "input_schema": TOOL_SCHEMA}],
}


def first(dialect, text="List the files.", **changes):
    """A first request of a conversation."""
    body = copy.deepcopy({"chat": _CHAT, "responses": _RESPONSES, "anthropic": _ANTHROPIC}[dialect])
    listed = items(body)
    if dialect == "chat":
        listed[-1]["content"] = text
    else:
        listed[-1]["content"][0]["text"] = text
    return body | changes


def items(body):
    """The growing list of a request."""
    return body["input"] if "input" in body else body["messages"]


def post(model, dialect, body, **headers):
    """Send a request and wait for all of the answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"content-type": "application/json", **HEADERS[dialect], **headers}
    sent = {name: value for name, value in sent.items() if value is not None}
    url = model.url + PATHS[dialect]
    return httpx2.post(url, content=content, headers=sent, timeout=20)


def answer(model, dialect, body):
    """The JSON answer to a request that must be accepted."""
    response = post(model, dialect, body)
    assert response.status_code == 200, response.text
    return response.json()


def text_of(dialect, reply):
    """All words of a JSON answer."""
    if dialect == "chat":
        return reply["choices"][0]["message"]["content"] or ""
    if dialect == "anthropic":
        return "".join(b["text"] for b in reply["content"] if b["type"] == "text")
    found = [each for each in reply["output"] if each["type"] == "message"]
    return "".join(part["text"] for each in found for part in each["content"])


def calls_of(dialect, reply):
    """Ids of the calls of a JSON answer."""
    if dialect == "chat":
        return [call["id"] for call in reply["choices"][0]["message"].get("tool_calls") or []]
    if dialect == "anthropic":
        return [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
    return [each["call_id"] for each in reply["output"] if each["type"] == "function_call"]


def go_on(dialect, body, reply, results=(), say=None):
    """The next request: the answer handed back, results for its calls, then maybe new words."""
    after = copy.deepcopy(body)
    listed = items(after)
    if dialect == "chat":
        message = reply["choices"][0]["message"]
        listed.append({key: value for key, value in message.items() if value is not None})
    elif dialect == "anthropic":
        listed.append({"role": "assistant", "content": copy.deepcopy(reply["content"])})
    else:
        listed.extend(copy.deepcopy(reply["output"]))
    ids = calls_of(dialect, reply)
    _append_results(dialect, listed, list(zip(ids, results, strict=True)))
    if say is not None:
        _append_words(dialect, listed, say)
    return after


def _append_results(dialect, listed, pairs):
    if dialect == "chat":
        listed += [{"role": "tool", "tool_call_id": i, "content": text} for i, text in pairs]
    elif dialect == "responses":
        listed += [
            {"type": "function_call_output", "call_id": i, "output": text} for i, text in pairs
        ]
    elif pairs:
        content = [
            {"type": "tool_result", "tool_use_id": i, "content": [{"type": "text", "text": text}]}
            for i, text in pairs
        ]
        listed.append({"role": "user", "content": content})


def _append_words(dialect, listed, say):
    if dialect == "chat":
        listed.append({"role": "user", "content": say})
    elif dialect == "responses":
        listed.append({"role": "user", "content": [{"type": "input_text", "text": say}]})
    elif listed[-1]["role"] == "user":
        listed[-1]["content"].append({"type": "text", "text": say})
    else:
        listed.append({"role": "user", "content": [{"type": "text", "text": say}]})


def stream(model, dialect, body, **headers):
    """The raw chunks of a streamed answer, as the HTTP client saw them, and what broke it off."""
    sent = {"content-type": "application/json", **HEADERS[dialect], **headers}
    content = json.dumps(body | {"stream": True})
    chunks, broken = [], None
    try:
        with httpx2.stream(
            "POST", model.url + PATHS[dialect], content=content, headers=sent, timeout=20
        ) as response:
            assert response.status_code == 200, response.read()
            for chunk in response.iter_raw():
                chunks.append(chunk)  # noqa: PERF402 - what came before an error counts
    except httpx2.TransportError as error:
        broken = error
    return chunks, broken


def events(data):
    """The events of an SSE stream: their names and data, whatever the line ends are."""
    text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            data = fields["data"]
            found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found

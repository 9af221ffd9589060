"""Reminders of one request: behind everything, past the last breakpoint, gone with the next."""

from typing import Any

import msgspec
import pytest
from model_samples import answered, asked, called, model, request, user

from roost.llm.models import Dialect, Message, ModelRequest
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare

HISTORIES: dict[str, tuple[Message, ...]] = {
    "a prompt": (user("go"),),
    "results": (user("go"), asked(called("c1")), answered("c1")),
    "mail behind results": (user("go"), asked(called("c1")), answered("c1"), user("stop")),
    "an answer": (user("go"), asked(text="done")),
}
MODELS = {
    "chat": model(),
    "chat with marks": model(provider="openrouter", id="anthropic/claude-sonnet-4"),
    "chat that wants an assistant between": model(provider="mistral", id="mistral-large"),
    "responses": model("openai-responses"),
    "anthropic": model("anthropic", id="claude-sonnet-4-5"),
}
KEYS: dict[Dialect, str] = {"openai-responses": "input"}


def body(asked_for: ModelRequest, cache: EncodingCache) -> dict[str, Any]:
    return msgspec.json.decode(prepare(asked_for, cache)[0].body)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("history", HISTORIES)
def test_a_reminder_is_the_last_thing_said_and_no_breakpoint_comes_after_it(
    name: str, history: str
) -> None:
    of = MODELS[name]
    plain = request(of, *HISTORIES[history])
    cache = EncodingCache()
    before = prepare(plain, cache)[0].body
    reminded = msgspec.structs.replace(plain, reminders=("Be brief.", "Be kind."))
    sent = prepare(reminded, cache)[0].body
    assert sent.index(b"Be brief.") < sent.index(b"Be kind.")
    assert sent.count(b"cache_control") == before.count(b"cache_control")
    assert b"cache_control" not in sent[sent.index(b"Be brief.") :]
    last = body(reminded, cache)[KEYS.get(of.dialect, "messages")][-1]
    assert last["role"] == "user"
    assert "Be kind." in msgspec.json.encode(last["content"]).decode()
    assert prepare(plain, cache)[0].body == before, "nothing of it is left"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("history", [name for name in HISTORIES if name != "an answer"])
def test_what_stands_before_it_is_what_the_next_request_begins_with(
    name: str, history: str
) -> None:
    of, cache = MODELS[name], EncodingCache()
    reminded = request(of, *HISTORIES[history], reminders=("Be brief.",))
    sent = prepare(reminded, cache)[0].body
    more = (*HISTORIES[history], asked(called("c2")), answered("c2"))
    following = prepare(request(of, *more), cache)[0].body
    marks = b',"cache_control":{"type":"ephemeral"}'
    stable = sent[: sent.index(b"Be brief.")].replace(marks, b"")
    shared = _shared(stable, following.replace(marks, b""))
    assert len(stable) - shared < 90, "all but the words that open the reminder"


def _shared(one: bytes, other: bytes) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))

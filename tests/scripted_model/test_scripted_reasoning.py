"""Thinking handed back: unchanged, to the model that thought it, and while tools are in play."""

import copy

import pytest
from scripted_requests import DIALECTS, answer, first, go_on, items, post

from scripted_model.scenario import ALWAYS, Call, Reasoning, Status, Text, scenario, step
from scripted_model.server import ScriptedModel
from scripted_model.signing import Signer

THINKER = {
    "chat": "deep-reasoner",
    "responses": "gpt-test",
    "anthropic": "claude-test",
}
LOOP = scenario(
    [Reasoning("Let me see …"), Text("Looking."), Call("bash", {"command": "ls"})],
    step("Done.", times=ALWAYS),
)


def thinking(dialect, item):
    """The field of an item that holds thinking, as (holder, key), or None."""
    if dialect == "chat":
        return (item, "reasoning_content") if "reasoning_content" in item else None
    if dialect == "responses":
        return (item, "encrypted_content") if item.get("type") == "reasoning" else None
    content = item["content"] if isinstance(item["content"], list) else []
    found = [block for block in content if block["type"] == "thinking"]
    return (found[0], "thinking") if found else None


def places(dialect, body):
    return [place for item in items(body) if (place := thinking(dialect, item))]


def without_thinking(dialect, body):
    body = copy.deepcopy(body)
    for item in list(items(body)):
        if dialect == "responses" and item.get("type") == "reasoning":
            items(body).remove(item)
        elif dialect == "anthropic" and item["role"] == "assistant":
            item["content"] = [b for b in item["content"] if "thinking" not in b["type"]]
        else:
            item.pop("reasoning_content", None)
    return body


def begin(model, dialect, **changes):
    body = first(dialect, model=THINKER[dialect], **changes)
    return go_on(dialect, body, answer(model, dialect, body), ["a.txt"])


@pytest.fixture
def model():
    with ScriptedModel(LOOP) as served:
        yield served


def rules(model):
    return [each.rule for each in model.violations]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_handed_back_as_it_was_is_accepted(model, dialect):
    after = begin(model, dialect)
    assert len(places(dialect, after)) == 1
    assert answer(model, dialect, after)
    assert model.violations == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_changed_thinking_is_refused(model, dialect):
    after = begin(model, dialect)
    holder, key = places(dialect, after)[0]
    holder[key] = holder[key][:-1]
    assert post(model, dialect, after).status_code == 400
    assert rules(model) == ["reasoning"]


@pytest.mark.parametrize("dialect", ["responses", "anthropic"])
def test_the_visible_words_of_thinking_are_covered_by_the_proof(model, dialect):
    after = begin(model, dialect)
    if dialect == "anthropic":
        places(dialect, after)[0][0]["thinking"] = "Other thoughts"
    else:
        places(dialect, after)[0][0]["summary"][0]["text"] = "Other thoughts"
    assert post(model, dialect, after).status_code == 400
    assert rules(model) == ["reasoning"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_missing_thinking_is_refused_while_tools_are_in_play(model, dialect):
    after = without_thinking(dialect, begin(model, dialect))
    assert post(model, dialect, after).status_code == 400
    assert rules(model) == ["reasoning"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_after_thinking_was_refused_it_may_come_again_without(model, dialect):
    after = begin(model, dialect)
    holder, key = places(dialect, after)[0]
    holder[key] = "broken"
    assert post(model, dialect, after).status_code == 400
    assert answer(model, dialect, without_thinking(dialect, after))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_after_a_scripted_refusal_too(dialect):
    refusal = Status(400, {}, '{"error": {"message": "Invalid signature in thinking block"}}')
    scene = scenario(LOOP.steps[0], refusal, "Done.")
    with ScriptedModel(scene) as model:
        after = begin(model, dialect)
        assert post(model, dialect, after).status_code == 400
        assert answer(model, dialect, without_thinking(dialect, after))
        assert model.violations == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_of_one_model_is_refused_by_another(model, dialect):
    after = begin(model, dialect)
    other = after | {"model": "other-reasoner"}
    assert post(model, dialect, other).status_code == 400
    assert rules(model) == ["reasoning"]
    assert answer(model, dialect, without_thinking(dialect, other))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_before_the_users_last_words_may_be_left_out(model, dialect):
    after = begin(model, dialect)
    last = go_on(dialect, after, answer(model, dialect, after), say="more")
    assert answer(model, dialect, without_thinking(dialect, last))
    assert answer(model, dialect, last)


def test_a_chat_model_not_named_for_thinking_need_not_get_it_back(model):
    body = first("chat", model="plain")
    after = go_on("chat", body, answer(model, "chat", body), ["a.txt"])
    assert answer(model, "chat", without_thinking("chat", after))
    assert answer(model, "chat", after)


def test_made_up_thinking_is_refused(model):
    body = first("chat")
    said = {"role": "assistant", "content": "Hello", "reasoning_content": "I never thought this"}
    items(body).extend([said, {"role": "user", "content": "go on"}])
    assert post(model, "chat", body).status_code == 400
    assert rules(model) == ["reasoning"]


def test_a_reasoning_item_must_lead_somewhere(model):
    after = begin(model, "responses")
    kept = [item for item in items(after) if item.get("type") in (None, "reasoning")]
    after["input"] = [*kept, {"role": "user", "content": "go on"}]
    assert post(model, "responses", after).status_code == 400
    assert "required following item" in model.violations[0].message


def test_a_reasoning_item_without_its_content_is_unknown_when_nothing_is_stored(model):
    after = begin(model, "responses", include=[])
    assert post(model, "responses", after).status_code == 404
    assert answer(model, "responses", without_thinking("responses", after))


def test_a_stored_reasoning_item_may_be_named_by_its_id(model):
    after = begin(model, "responses", store=True, include=[])
    assert answer(model, "responses", after)


def test_thinking_off_asks_for_none_back(model):
    after = begin(model, "anthropic", thinking={"type": "disabled"})
    assert answer(model, "anthropic", without_thinking("anthropic", after))


def test_redacted_thinking_is_opaque_and_must_come_back_too():
    scene = scenario([Reasoning("secret", redacted=True), Call("bash", {"command": "ls"})], "Done.")
    with ScriptedModel(scene) as model:
        body = first("anthropic")
        reply = answer(model, "anthropic", body)
        assert reply["content"][0]["type"] == "redacted_thinking"
        after = go_on("anthropic", body, reply, ["x"])
        bad = copy.deepcopy(after)
        items(bad)[1]["content"][0]["data"] += "x"
        assert post(model, "anthropic", bad).status_code == 400
        assert answer(model, "anthropic", after)


def test_a_restarted_server_still_knows_its_signatures():
    with ScriptedModel(LOOP) as model:
        after = begin(model, "anthropic")
    with ScriptedModel(scenario(default="Done.")) as model:
        assert answer(model, "anthropic", after)
    with ScriptedModel(scenario(default="Done."), secret="another") as model:
        assert post(model, "anthropic", after).status_code == 400


@pytest.mark.parametrize("proof", ["", "!", "bm8=", "eyJhIjoxfQ=="])
def test_proofs_that_are_no_proofs_are_not_taken(proof):
    signer = Signer("s")
    assert not signer.is_signed("m", "t", proof)
    assert not signer.is_sealed("m", "rs_1", "t", proof)
    assert not signer.is_redacted("m", proof)
    assert signer.is_sealed("m", "", "t", signer.seal("m", "rs_1", "t"))

"""What requests cost, and what of it was paid for before."""

import copy
import time

import httpx2
from scripted_requests import HEADERS, answer, first, go_on, items

from scripted_model.scenario import ALWAYS, Text, scenario, step
from scripted_model.server import ScriptedModel

TALK = scenario(step("Well said.", times=ALWAYS))
MARK = {"cache_control": {"type": "ephemeral"}}


def test_tokens_are_about_a_quarter_of_the_bytes():
    with ScriptedModel(TALK) as model:
        usage = answer(model, "chat", first("chat", "word " * 800))["usage"]
        assert 1000 < usage["prompt_tokens"] < 1200
        assert usage["completion_tokens"] == 3
        assert usage["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_request_that_goes_on_finds_all_of_the_one_before_in_the_cache():
    with ScriptedModel(TALK) as model:
        body = first("chat", "word " * 400)
        reply = answer(model, "chat", body)
        after = go_on("chat", body, reply, say="more")
        usage = answer(model, "chat", after)["usage"]
        before = reply["usage"]["prompt_tokens"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == before
        assert usage["prompt_tokens"] > before


def test_a_changed_start_finds_nothing_in_the_cache():
    with ScriptedModel(TALK) as model:
        body = first("chat", "word " * 400)
        answer(model, "chat", body)
        items(body)[0]["content"] = "You are verbose."
        usage = answer(model, "chat", body)["usage"]
        tools = usage["prompt_tokens_details"]["cached_tokens"]
        assert 0 < tools < 60


def test_anthropic_writes_to_its_breakpoints_and_reads_from_them():
    with ScriptedModel(TALK) as model:
        body = first("anthropic", "word " * 400)
        body["system"][0] |= MARK
        items(body)[0]["content"][0] |= MARK
        reply = answer(model, "anthropic", body)
        one = reply["usage"]
        assert one["cache_read_input_tokens"] == 0
        assert one["cache_creation_input_tokens"] > 500
        assert one["input_tokens"] == 0
        after = go_on("anthropic", body, reply, say="more")
        # The mark moves on; what it stood on is found all the same.
        del items(after)[0]["content"][0]["cache_control"]
        items(after)[-1]["content"][0] |= MARK
        two = answer(model, "anthropic", after)["usage"]
        assert two["cache_read_input_tokens"] == one["cache_creation_input_tokens"]
        assert 0 < two["cache_creation_input_tokens"] < 40


def test_what_stands_after_the_last_breakpoint_may_change_without_harm():
    with ScriptedModel(TALK) as model:
        body = first("anthropic", "word " * 400)
        items(body)[0]["content"][0] |= MARK
        reminded = copy.deepcopy(body)
        items(reminded)[0]["content"].append({"type": "text", "text": "Mind the gap."})
        one = answer(model, "anthropic", reminded)["usage"]
        two = answer(model, "anthropic", body)["usage"]
        assert two["cache_read_input_tokens"] == one["cache_creation_input_tokens"]


def test_anthropic_without_breakpoints_caches_nothing():
    with ScriptedModel(TALK) as model:
        answer(model, "anthropic", first("anthropic"))
        usage = answer(model, "anthropic", first("anthropic"))["usage"]
        assert usage["cache_read_input_tokens"] == 0
        assert usage["cache_creation_input_tokens"] == 0


def test_tokens_can_be_counted_beforehand():
    with ScriptedModel(TALK) as model:
        body = first("anthropic", "word " * 400)
        counted = dict(body)
        del counted["max_tokens"]
        url = f"{model.url}/v1/messages/count_tokens"
        tokens = httpx2.post(url, json=counted, headers=HEADERS["anthropic"]).json()["input_tokens"]
        assert tokens == answer(model, "anthropic", body)["usage"]["input_tokens"]


def test_only_the_latest_bodies_are_kept_if_so_asked():
    with ScriptedModel(TALK, keep=2) as model:
        for _ in range(4):
            answer(model, "chat", first("chat"))
        assert [bool(record.request.body) for record in model.requests] == [
            False,
            False,
            True,
            True,
        ]


def test_a_long_loop_stays_cheap_although_every_message_was_checked():
    with ScriptedModel(TALK) as model, httpx2.Client() as client:
        body = first("chat")
        url = f"{model.url}/v1/chat/completions"
        times = []
        for number in range(400):
            start = time.perf_counter()
            reply = client.post(url, json=body, headers=HEADERS["chat"]).json()
            times.append(time.perf_counter() - start)
            message = {"role": "assistant", "content": reply["choices"][0]["message"]["content"]}
            items(body).extend([message, {"role": "user", "content": f"more {number} " * 10}])
        assert model.violations == []
        assert min(times[-50:]) < 10 * min(times[:50]) + 0.005


def test_a_long_answer_streams_fast():
    with ScriptedModel(scenario(Text("word ", size=5, repeat=20_000))) as model:
        url = f"{model.url}/v1/chat/completions"
        start = time.perf_counter()
        body = first("chat", stream=True)
        data = httpx2.post(url, json=body, headers=HEADERS["chat"], timeout=60).content
        assert data.count(b'"content":"word "') == 20_000
        assert time.perf_counter() - start < 20

"""Which step a request gets: order, conversations, forks, retries, matchers, scripts."""

import json
import threading
from pathlib import Path

import msgspec
import pytest
from scripted_requests import DIALECTS, answer, calls_of, first, go_on, items, post, text_of

from scripted_model.picture import Request
from scripted_model.scenario import (
    ALWAYS,
    Barrier,
    Call,
    Drop,
    Finish,
    NoEnd,
    Reasoning,
    Reply,
    Scenario,
    Status,
    Text,
    When,
    load,
    scenario,
    step,
)
from scripted_model.server import ScriptedModel


@pytest.mark.parametrize("dialect", DIALECTS)
def test_steps_come_in_order_through_a_loop_and_a_second_prompt(dialect):
    scene = scenario(Call("bash", {"command": "ls"}), "one", "two")
    with ScriptedModel(scene) as model:
        body = first(dialect)
        reply = answer(model, dialect, body)
        body = go_on(dialect, body, reply, ["a.txt"])
        reply = answer(model, dialect, body)
        assert text_of(dialect, reply) == "one"
        body = go_on(dialect, body, reply, say="more")
        assert text_of(dialect, answer(model, dialect, body)) == "two"
        assert {record.conversation for record in model.requests} == {0}
        assert [record.step for record in model.requests] == [0, 1, 2]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_conversations_that_begin_alike_each_get_every_step(dialect):
    with ScriptedModel(scenario(Call("bash", {"command": "ls"}), "one")) as model:
        bodies = [first(dialect), first(dialect)]
        replies = [answer(model, dialect, body) for body in bodies]
        assert calls_of(dialect, replies[0]) != calls_of(dialect, replies[1])
        for body, reply in zip(bodies, replies, strict=True):
            after = answer(model, dialect, go_on(dialect, body, reply, ["x"]))
            assert text_of(dialect, after) == "one"
        assert [record.conversation for record in model.requests] == [0, 1, 0, 1]


def test_two_conversations_at_once_do_not_take_each_others_steps():
    with ScriptedModel(scenario([Text("a"), Barrier("go")], "b")) as model:
        got = []

        def ask():
            got.append(text_of("chat", answer(model, "chat", first("chat"))))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        model.wait_for_barrier("go", count=3)
        model.release("go")
        for thread in threads:
            thread.join(5)
        assert got == ["a", "a", "a"]


def test_a_fork_goes_on_from_where_it_forked():
    with ScriptedModel(scenario("one", "two", "three")) as model:
        body = first("chat")
        after = go_on("chat", body, answer(model, "chat", body), say="left")
        other = go_on("chat", body, {"choices": [{"message": items(after)[2]}]}, say="right")
        assert text_of("chat", answer(model, "chat", after)) == "two"
        assert text_of("chat", answer(model, "chat", other)) == "two"


def test_asking_the_same_again_after_a_whole_answer_gets_the_same_again():
    with ScriptedModel(scenario("one", "two")) as model:
        assert text_of("chat", answer(model, "chat", first("chat"))) == "one"
        assert text_of("chat", answer(model, "chat", first("chat"))) == "one"


@pytest.mark.parametrize("ending", [Drop(), NoEnd(), Status(500)])
def test_a_failed_answer_uses_up_its_step(ending):
    broken = ending if isinstance(ending, Status) else [Text("par"), ending]
    with ScriptedModel(scenario(broken, "whole")) as model:
        try:
            post(model, "chat", first("chat", stream=True))
        except Exception:
            model.wait_until_quiet()
        assert text_of("chat", answer(model, "chat", first("chat"))) == "whole"


def test_partial_words_kept_from_a_broken_answer_do_not_confuse_the_order():
    with ScriptedModel(scenario([Text("partial"), Drop()], "whole")) as model:
        with pytest.raises(Exception, match="peer"):
            post(model, "chat", first("chat", stream=True))
        body = first("chat")
        items(body).append({"role": "assistant", "content": "partial"})
        items(body).append({"role": "user", "content": "go on"})
        assert text_of("chat", answer(model, "chat", body)) == "whole"


def test_a_prompt_joined_to_one_that_failed_belongs_to_its_conversation():
    with ScriptedModel(scenario(Status(500), "whole")) as model:
        post(model, "anthropic", first("anthropic"))
        body = first("anthropic")
        items(body)[0]["content"].append({"type": "text", "text": "Hello?"})
        assert text_of("anthropic", answer(model, "anthropic", body)) == "whole"


def test_a_compacted_conversation_is_known_by_its_cache_key():
    with ScriptedModel(scenario("one", "two", "three")) as model:
        body = first("chat", prompt_cache_key="main")
        answer(model, "chat", body)
        compacted = first("chat", "Summary: files were listed.", prompt_cache_key="main")
        reply = answer(model, "chat", compacted)
        assert text_of("chat", reply) == "two"
        after = go_on("chat", compacted, reply, say="more")
        assert text_of("chat", answer(model, "chat", after)) == "three"
        assert {record.conversation for record in model.requests} == {0}


def test_a_server_wide_scenario_gives_each_step_once():
    with ScriptedModel(scenario("one", "two", scope="server")) as model:
        assert text_of("chat", answer(model, "chat", first("chat"))) == "one"
        assert text_of("chat", answer(model, "chat", first("chat"))) == "two"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_matchers_give_several_actors_and_title_requests_their_own_lines(dialect):
    scene = scenario(
        step("A title", when=When(tools=False), times=ALWAYS),
        step("found", when=When(user="find")),
        step("fixed", when=When(user="fix", system="terse", model="test", dialect=dialect)),
        step("seen a.txt", when=When(result="a.txt")),
        step("never", when=When(tools=("bash", "nothing"))),
        Call("bash", {"command": "ls"}),
    )
    with ScriptedModel(scene) as model:

        def say(text, **changes):
            return text_of(dialect, answer(model, dialect, first(dialect, text, **changes)))

        title = first(dialect)
        del title["tools"]
        assert text_of(dialect, answer(model, dialect, title)) == "A title"
        assert say("please find it") == "found"
        assert say("please fix it") == "fixed"
        body = first(dialect, "list it")
        reply = answer(model, dialect, body)
        after = go_on(dialect, body, reply, ["a.txt b.txt"])
        assert text_of(dialect, answer(model, dialect, after)) == "seen a.txt"


def test_a_scenario_with_nothing_left_refuses_and_notes_it():
    with ScriptedModel(scenario("one")) as model:
        body = first("chat")
        after = go_on("chat", body, answer(model, "chat", body), say="more")
        assert post(model, "chat", after).status_code == 400
        assert [each.rule for each in model.violations] == ["script"]


def test_the_default_answers_what_no_step_is_left_for():
    with ScriptedModel(scenario("one", default="again")) as model:
        body = first("chat")
        after = go_on("chat", body, answer(model, "chat", body), say="more")
        assert text_of("chat", answer(model, "chat", after)) == "again"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_sees_the_same_picture_in_every_dialect(dialect):
    seen = []

    def script(request: Request):
        seen.append(request)
        if request.results:
            return Reply((Text("got " + request.results[-1]),))
        return Reply((Reasoning("hm"), Text("Now."), Call("bash", {"command": "ls"})))

    with ScriptedModel(script) as model:
        body = first(dialect)
        after = go_on(dialect, body, answer(model, dialect, body), ["a.txt"])
        assert text_of(dialect, answer(model, dialect, after)) == "got a.txt"
        assert model.violations == []
    last = seen[-1]
    assert last.system == ("You are terse.",)
    assert last.last_user_text == "List the files."
    assert last.user_texts == ("List the files.",)
    assert last.tool_names == ("bash",)
    assert "a.txt" in last.all_text
    assert "Now." in last.all_text
    assert last.json == json.loads(json.dumps(after))
    calls = [call for message in last.messages for call in message.calls]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("bash", {"command": "ls"})
    ]


def test_another_scenario_can_be_played_on_the_same_server():
    with ScriptedModel(scenario("one")) as model:
        assert text_of("chat", answer(model, "chat", first("chat"))) == "one"
        model.use(scenario("other"))
        assert text_of("chat", answer(model, "chat", first("chat"))) == "other"


def test_a_scenario_survives_json(tmp_path: Path):
    made = scenario(
        [Reasoning("hm", new=True), Call("bash", {"command": "ls"}), Finish("length")],
        step(Status(429, {"retry-after": "1"}), when=When(user="x", tools=("bash",)), times=2),
        default="ok",
        scope="server",
    )
    path = tmp_path / "scenario.json"
    path.write_bytes(msgspec.json.encode(made))
    assert load(path) == made
    path.write_text('{"steps": [{"reply": {"pieces": [{"type": "shout"}]}}]}')
    with pytest.raises(msgspec.ValidationError, match="shout"):
        load(path)
    assert Scenario() == msgspec.json.decode(b"{}", type=Scenario)

"""What a child sees of its parent: nothing, the state of things, or everything byte for byte."""

import json
from typing import Any

import pytest
from cast import WAIT, Cast, act, actor_parts, begin, end, notices, report, run, spawn
from household import Household
from invariants import assert_sound

from scripted_model.recording import Record
from scripted_model.scenario import Barrier, Call, Reasoning, Stall, Text

pytestmark = pytest.mark.scenario
SECRET = "The colour of the door is mauve."


def test_a_child_sees_nothing_but_its_brief(house: Household) -> None:
    cast = Cast([[Text(SECRET), run("scout")], "Heard."], scout=[report()])
    house.play(cast)
    house.prompt(f"Delegate. {SECRET}")
    (request,) = cast.heard["scout"]
    assert "mauve" not in request.all_text
    assert len(request.user_texts) == 1
    assert [message.role for message in request.messages if message.role != "system"] == ["user"]


def test_with_the_state_a_child_is_told_what_was_asked_and_said_and_what_is_open(
    house: Household,
) -> None:
    create = Call("task", {"action": "create", "summary": "paint the door"})
    cast = Cast(
        [[Text("I shall paint it <mauve>."), create], [run("scout", context="state")], "Heard."],
        scout=[report()],
    )
    house.play(cast)
    house.prompt("Which colour is the door?")
    (request,) = cast.heard["scout"]
    (brief,) = request.user_texts
    state, _, rest = brief.partition("\n</session-state>\n\n")
    assert state.startswith("<session-state>\n")
    assert "Which colour is the door?" in state
    assert "I shall paint it &lt;mauve&gt;." in state
    assert "T1 [open] paint the door" in state
    assert rest.startswith("scout: do your part.")


def _bodies(record: Record) -> dict[str, Any]:
    body = json.loads(record.request.body)
    assert isinstance(body, dict)
    return body


def _items(body: dict[str, Any]) -> list[Any]:
    """The messages of a request without the marks for the cache, which move on by intent."""
    found = _unmarked(body.get("messages") or body.get("input") or [])
    if any(isinstance(one.get("content"), str) for one in found):
        return found
    # What one side says twice in a row is one message of more blocks.
    return [(one.get("role"), block) for one in found for block in one.get("content") or [one]]


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return value


def test_a_fork_continues_the_requests_of_its_parent_byte_for_byte(
    house: Household, capsys: pytest.CaptureFixture[str]
) -> None:
    house.write("a.txt", "what stands in a\n" * 40)
    cast = Cast(
        [
            [Reasoning("I look first."), Call("read", {"filePath": "a.txt"})],
            [Text("Now I fork."), spawn("scout", context="full"), WAIT],
            "Heard.",
        ],
        scout=[Call("read", {"filePath": "a.txt"}), report("success", "forked")],
    )
    house.play(cast)
    answer = house.prompt(f"Look around. {SECRET}")
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    records = {id(record.request): record for record in house.model.requests}
    parent = [records[id(request)] for request in cast.heard["main"]]
    child = [records[id(request)] for request in cast.heard["scout"]]
    before, first, second = _bodies(parent[1]), _bodies(child[0]), _bodies(child[1])
    for field in ("system", "tools", "instructions", "model", "tool_choice"):
        assert json.dumps(before.get(field)) == json.dumps(first.get(field)), field
        assert json.dumps(first.get(field)) == json.dumps(second.get(field)), field
    shared = _items(before)
    assert json.dumps(_items(first)[: len(shared)]) == json.dumps(shared)
    assert json.dumps(_items(second)[: len(_items(first))]) == json.dumps(_items(first))
    assert "scout: do your part." in json.dumps(_items(first)[len(shared) :])
    assert child[0].request.cache_key == parent[1].request.cache_key
    # The parent's last request was the last prefix that anybody had paid for.
    paid = parent[1].input_tokens
    with capsys.disabled():
        share = 100 * child[0].cached_tokens / child[0].input_tokens
        print(
            f"\n{house.dialect}: {child[0].cached_tokens} of {child[0].input_tokens} tokens of the"
            f" first request of a fork were cached ({share:.0f} %)"
        )
    assert child[0].cached_tokens >= 0.95 * paid
    assert child[1].cached_tokens >= child[0].input_tokens * 0.95
    assert notices(house)[0]["summary"] == "forked"
    assert_sound(house)


def test_a_fork_sees_what_stood_there_when_it_began_and_nothing_later(
    chat_house: Household,
) -> None:
    cast = Cast(
        [
            [Text("First words."), spawn("scout", context="full")],
            [Text("Later words."), act("status"), WAIT],
            "Heard.",
        ],
        scout=[Call("bash", {"command": "sleep 0.5"}), report()],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    for request in cast.heard["scout"]:
        assert "Delegate." in request.all_text
        assert "Later words." not in request.all_text
    main = cast.heard["main"][-1]
    assert "scout: do your part." not in "\n".join(main.user_texts)


def test_a_fork_that_is_woken_again_still_knows_what_it_knew(chat_house: Household) -> None:
    cast = Cast(
        [
            [spawn("scout", context="full"), WAIT],
            [act("send", to_actor_id="general-1", content="And the roof?"), WAIT],
            "Heard.",
        ],
        scout=[report(summary="door"), report(summary="roof")],
    )
    chat_house.play(cast)
    chat_house.prompt(f"Delegate. {SECRET}")
    first, second = cast.heard["scout"]
    assert SECRET in second.all_text
    assert "And the roof?" in second.all_text
    assert [tool.name for tool in first.tools] == [tool.name for tool in second.tools]
    assert [one["summary"] for one in notices(chat_house)] == ["door", "roof"]
    assert_sound(chat_house)


def test_a_fork_is_shown_its_parents_tools_and_yet_may_start_nobody(
    chat_house: Household,
) -> None:
    cast = Cast(
        [[spawn("scout", context="full"), WAIT], "Heard."],
        scout=[spawn("another"), report("blocked", "alone")],
        another=[],
    )
    chat_house.play(cast)
    chat_house.prompt("Delegate.")
    assert "a subagent cannot spawn others" in cast.news("scout")
    assert len(chat_house.rows("SELECT 1 FROM actor")) == 2


def test_a_fork_does_no_more_than_its_own_agent(chat_house: Household) -> None:
    write = Call("write", {"filePath": "x.txt", "content": "x"})
    cast = Cast(
        [[spawn("scout", agent="explore", context="full"), WAIT], "Heard."],
        scout=[write, "It is not mine to write."],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert "Not run: the agent explore does not use the tool write." in cast.news("scout")
    assert not (chat_house.project / "x.txt").exists()


def test_a_fork_on_another_model_is_refused_at_the_call(chat_house: Household) -> None:
    fork = spawn("scout", context="full", model="test/scripted")
    chat_house.play(Cast([fork, "Refused."], scout=[]))
    (state,) = actor_parts(chat_house.prompt("Delegate."))
    assert "with context `full` a child runs on your own model" in state["error"]


# Models


def _two_models(house: Household) -> None:
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = {
        "limit": {"context": 100_000, "output": 4_000},
        "cost": {"input": 0.1, "output": 0.2},
    }


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        (None, "scripted"),
        ("test/gpt-scripted", "gpt-scripted"),
        ("gpt-scripted", "gpt-scripted"),
        ("lite", "gpt-scripted"),
        ("ultra", "scripted"),
        ("cheap", "gpt-scripted"),
    ],
)
def test_a_child_runs_on_the_model_that_was_named_or_on_its_parents(
    chat_house: Household, wanted: str | None, got: str
) -> None:
    _two_models(chat_house)
    chat_house.config["model_groups"] = {"cheap": "test/gpt-scripted", "lite": "test/gpt-scripted"}
    more = {} if wanted is None else {"model": wanted}
    cast = Cast([run("scout", **more), "Heard."], scout=[report()])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert cast.heard["scout"][0].model == got
    (row,) = chat_house.rows("SELECT model FROM actor WHERE mode = 'subagent'")
    assert row["model"] == f"test/{got}"


def test_the_model_of_an_agent_comes_before_that_of_the_parent(chat_house: Household) -> None:
    _two_models(chat_house)
    chat_house.config["agent"] = {"general": {"model": "test/gpt-scripted"}}
    cast = Cast(
        [run("one"), run("two", model="test/scripted"), "Heard."], one=[report()], two=[report()]
    )
    chat_house.play(cast)
    chat_house.prompt("Delegate.")
    assert [cast.heard[name][0].model for name in ("one", "two")] == ["gpt-scripted", "scripted"]


def test_a_model_that_is_not_there_is_refused_with_those_most_like_it(
    chat_house: Household,
) -> None:
    _two_models(chat_house)
    chat_house.play(Cast([run("scout", model="gpt-skripted"), "Refused."], scout=[]))
    (state,) = actor_parts(chat_house.prompt("Delegate."))
    assert state["status"] == "error"
    assert "test/gpt-scripted" in state["error"]
    assert chat_house.rows("SELECT 1 FROM actor WHERE mode = 'subagent'") == []


def test_models_are_listed_with_what_they_cost_and_see(chat_house: Household) -> None:
    _two_models(chat_house)
    chat_house.play(Cast([[act("models"), act("models", vision=True, limit=1)], "Seen."]))
    everything, seeing = actor_parts(chat_house.prompt("Which models?"))
    assert "- test/scripted" in everything["output"]
    assert "- test/gpt-scripted" in everything["output"]
    assert "- test/scripted" in seeing["output"]
    assert "gpt-scripted" not in seeing["output"]


# Who is at work


def test_who_is_prompted_while_its_children_work_is_told_of_them_once(house: Household) -> None:
    cast = Cast(
        [
            [spawn("scout", description="count <doors>"), spawn("smith")],
            "They work.",
            "I know.",
            "Both.",
        ],
        scout=[[Barrier("slow"), Text(report())]],
        smith=[Call("bash", {"command": "touch begun; sleep 60"})],
    )
    house.play(cast)
    first = begin(house, "Delegate.")
    house.model.wait_for_barrier("slow")
    house.model.wait_until(lambda: (house.project / "begun").exists())
    house.model.wait_until(
        lambda: bool(house.rows("SELECT 1 FROM actor WHERE actor_id='main' AND status='idle'"))
    )
    second = begin(house, "What now?", "--continue")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 3)
    news = cast.news("main")
    assert news.startswith("What now?\n")
    assert "<system-reminder>\n## Active actors\n" in news
    assert "- general-1 (general): count &lt;doors&gt; [progressing, calling its model;" in news
    assert "- general-2 (general): The work of smith [progressing, bash" in news
    assert news.count("Active actors") == 1
    for process in (second, first):
        process.terminate()
        end(process)
    house.wait_until_nothing_lives()
    (row,) = house.rows("SELECT body FROM inbox WHERE kind = 'system' AND key LIKE 'active:%'")
    assert "general-1" in row["body"]
    assert_sound(house, ping=False)


def test_nothing_is_said_of_actors_where_none_are_at_work(chat_house: Household) -> None:
    cast = Cast([run("scout"), "Heard.", "Again."], scout=[report()])
    chat_house.play(cast)
    chat_house.prompt("Delegate.")
    chat_house.prompt("And now?", "--continue")
    assert not any("Active actors" in request.all_text for request in cast.heard["main"])


def test_a_run_tells_what_all_its_actors_used(house: Household) -> None:
    cast = Cast(
        [[spawn("one"), spawn("two")], "They work.", "Heard.", "Heard.", "Alone."],
        one=[Call("bash", {"command": "true"}), report()],
        two=[report()],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    result = answer.result
    steps = house.rows("SELECT sum(steps) AS steps, sum(cost) AS cost FROM turn")[0]
    total = result["total"]
    assert total["actors"] == 3
    assert total["steps"] == steps["steps"] == len(house.model.requests)
    assert total["cost"] == pytest.approx(steps["cost"])
    assert total["cost"] > result["cost"] > 0
    assert total["tokens"]["output"] > result["usage"]["tokens"]["output"]
    again = house.prompt("Alone?", "--continue").result
    assert (again["total"]["actors"], again["total"]["steps"]) == (1, 1)
    assert again["total"]["cost"] == pytest.approx(again["cost"])


def test_people_are_told_what_all_actors_used(chat_house: Household) -> None:
    chat_house.play(Cast([run("scout"), "Heard.", "Alone."], scout=[report()]))
    done = chat_house.run("run", "--yes", "Delegate.")
    assert "2 actors together: 3 steps · " in done.stderr
    assert "all " not in chat_house.run("run", "--yes", "-c", "Alone?").stderr


def test_what_a_stopped_run_used_is_told(chat_house: Household) -> None:
    cast = Cast([run("scout")], scout=[Call("bash", {"command": "true"}), [Stall()]])
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.", "--time-limit", "3")
    answer = end(process)
    assert answer.code == 124
    assert answer.result["total"]["actors"] == 2
    assert answer.result["total"]["cost"] > answer.result["cost"]

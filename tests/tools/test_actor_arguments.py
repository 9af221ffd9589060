import json
from typing import Any

import pytest
from fake_actors import AGENTS

from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.actor_operations import (
    Cancel,
    Models,
    Run,
    Send,
    Spawn,
    StatusOf,
    Wait,
    WaitForMail,
)
from roost.tools.arguments import ArgumentsError, parse_call

TRIPLE = {"subagent_type": "explore", "description": "Find it", "prompt": "Where is it?"}
SPAWN = Spawn(**TRIPLE)
WHOLE = actor_tool(ActorOffer(agents=AGENTS))
TALK = actor_tool(ActorOffer())
LINES = actor_tool(ActorOffer(agents=AGENTS, style="shell"))
TALK_LINES = actor_tool(ActorOffer(style="shell"))


def _parsed(value: Any, tool: Any = WHOLE) -> Any:
    return parse_call({"actor": tool}, "actor", json.dumps(value), complete=True).arguments


def _refused(value: Any, tool: Any = WHOLE) -> str:
    with pytest.raises(ArgumentsError) as caught:
        _parsed(value, tool)
    return caught.value.message.removeprefix("The arguments of actor do not fit: ")


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"action": "spawn", **TRIPLE}, SPAWN),
        (
            {
                "action": "spawn",
                **TRIPLE,
                "model": "lite",
                "task_id": "T1",
                "command": "/look",
                "context": "state",
                "output_schema": {"type": "object"},
            },
            Spawn(
                **TRIPLE,
                model="lite",
                task_id="T1",
                command="/look",
                context="state",
                output_schema={"type": "object"},
            ),
        ),
        ({"action": "run", **TRIPLE, "timeout_ms": 5}, Run(**TRIPLE, timeout_ms=5)),
        ({"action": "status"}, StatusOf()),
        ({"action": "status", "actor_id": "explore-1"}, StatusOf(actor_id="explore-1")),
        ({"action": "wait", "timeout_ms": "60"}, Wait(timeout_ms=60)),
        ({"action": "wait", "actor_id": "a-1"}, Wait(actor_id="a-1")),
        (
            {"action": "cancel", "actor_id": "a-1", "mode": "forced"},
            Cancel(actor_id="a-1", mode="forced"),
        ),
        (
            {"action": "send", "to_actor_id": "a-1", "content": "Hm"},
            Send(to_actor_id="a-1", content="Hm"),
        ),
        (
            {
                "action": "send",
                "to_actor_id": "main",
                "content": "Hm",
                "to_session_id": "ses_2",
                "reply_to": "inb_1",
            },
            Send(to_actor_id="main", content="Hm", to_session_id="ses_2", reply_to="inb_1"),
        ),
        ({"action": "models", "vision": True, "limit": 3}, Models(vision=True, limit=3)),
        ({"action": "models", "vision": None}, Models()),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_action_is_understood_in_its_own_shape_and_one_step_from_it(
    fields: dict[str, Any], action: object
) -> None:
    name = fields["action"]
    rest = {key: value for key, value in fields.items() if key != "action"}
    shapes: list[Any] = [
        {"operation": fields},
        {"operation": json.dumps(fields)},
        fields,
        {name: rest},
        {name: json.dumps(rest)},
        {"operation": {name: rest}},
        {"operation": {"operation": fields}},
        {"operation": name, **rest},
        json.dumps({"operation": fields}),
    ]
    assert [_parsed(shape) for shape in shapes] == [action] * len(shapes)
    assert _parsed({"command": json.dumps(fields)}, LINES) == action
    assert _parsed({"command": json.dumps({"operation": fields})}, LINES) == action
    assert _parsed({"operation": fields}, LINES) == action


def test_three_words_of_an_order_are_an_order() -> None:
    assert _parsed(TRIPLE) == SPAWN
    assert _parsed({"operation": TRIPLE}) == SPAWN
    assert _parsed({**TRIPLE, "context": "full"}) == Spawn(**TRIPLE, context="full")
    assert _parsed({"command": json.dumps(TRIPLE)}, LINES) == SPAWN
    assert _parsed({**TRIPLE, "command": "/look"}, LINES) == Spawn(**TRIPLE, command="/look")


def test_the_nulls_of_other_actions_are_left_out() -> None:
    assert _parsed({"operation": {"action": "spawn", **TRIPLE, "actor_id": None}}) == SPAWN
    assert "no field 'no_such'" in _refused(
        {"operation": {"action": "spawn", **TRIPLE, "no_such": None}}
    )


@pytest.mark.parametrize(
    "value",
    [
        {"operation": {"action": "spawn", **TRIPLE, "actor_id": "explore-1"}},
        {"operation": {"action": "run", **TRIPLE, "actor_id": "explore-1"}},
        {"action": "spawn", **TRIPLE, "actor_id": "explore-1"},
        {"spawn": {**TRIPLE, "actor_id": "explore-1"}},
        {**TRIPLE, "actor_id": "explore-1"},
        {"operation": {**TRIPLE, "to_actor_id": "explore-1"}},
        {**TRIPLE, "subagent_id": "explore-1"},
        {**TRIPLE, "subagent_type": "explore-1"},
        {**TRIPLE, "task_id": "explore-1"},
        {**TRIPLE, "task_id": "ses_0123456789"},
        {"actor_id": "explore-1", "prompt": "go on"},
        {"to_actor_id": "explore-1", "content": "go on"},
    ],
    ids=str,
)
def test_what_names_an_actor_that_is_there_never_starts_a_new_one(value: dict[str, Any]) -> None:
    words = _refused(value)
    assert "`send` it a message" in words
    assert "explore-1" in words or "ses_0123456789" in words
    assert _refused({"command": json.dumps(value)}, LINES) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "got nothing, expected `action`, one of spawn, run, status,"),
        ({"operation": {}}, "operation: got nothing, expected `action`"),
        ({"operation": 7}, "operation: got 7, expected an object"),
        ({"operation": "hm"}, "operation: got 'hm', expected an object"),
        ({"operation": "{broken"}, "operation: got '{broken', expected an object"),
        ({"operation": [{"action": "status"}]}, "operation: got [{"),
        ({"operation": {"action": "status"}, "x": 1}, "beside `operation` stands `x`"),
        (
            {"operation": {"operation": {"operation": {"action": "status"}}}},
            "operation.operation: got `operation`, expected `action`",
        ),
        ({"spawn": {"spawn": TRIPLE}}, "spawn has no field 'spawn'"),
        ({"spawn": {"action": "run", **TRIPLE}}, "spawn.action: got 'run', expected 'spawn'"),
        (
            {"action": "span", **TRIPLE},
            "got 'span', expected one of spawn, run, status, wait, cancel, send, models.",
        ),
        ({"action": "span", **TRIPLE}, "Did you mean spawn?"),
        ({"action": "delegate"}, "got 'delegate', expected one of"),
        ({"action": 3}, "action: got 3, expected one of"),
        (
            {"action": "spawn", "subagent_type": "explore"},
            "spawn needs description and prompt; got `subagent_type`",
        ),
        ({"action": "send"}, "send needs to_actor_id and content; got nothing"),
        ({"action": "spawn", **TRIPLE, "prompt": " \n"}, "prompt: got ' \\n', expected words"),
        ({"action": "spawn", **TRIPLE, "prompt": 3}, "prompt: got 3, expected str"),
        (
            {"action": "spawn", **TRIPLE, "context": "all"},
            "context: got 'all', expected one of none, state, full",
        ),
        ({"action": "spawn", **TRIPLE, "timeout_ms": 5}, "only `run` does"),
        (
            {"action": "run", **TRIPLE, "timeout_ms": 3_600_001},
            "timeout_ms: got 3600001, expected int <= 3600000",
        ),
        ({"action": "run", **TRIPLE, "timeout_ms": 0}, "timeout_ms: got 0, expected int >= 1"),
        ({"action": "run", **TRIPLE, "timeout_ms": "soon"}, "timeout_ms: got 'soon', expected int"),
        (
            {"action": "spawn", **TRIPLE, "output_schema": "[1]"},
            "output_schema: got '[1]', expected an object",
        ),
        (
            {"action": "spawn", **TRIPLE, "subagent_type": "explorer"},
            "got 'explorer', expected one of general, explore. Did you mean explore?",
        ),
        (
            {"action": "spawn", **TRIPLE, "subagent_type": "build"},
            "got 'build', expected one of general, explore.",
        ),
        (
            {"action": "cancel", "actor_id": "a-1", "mode": "kill"},
            "mode: got 'kill', expected one of graceful, forced",
        ),
        (
            {"action": "send", "to_actor_id": "a", "content": "b", "type": "notice"},
            "send has no field 'type'; it takes to_actor_id, content,",
        ),
        ({"action": "models", "limit": 1000}, "limit: got 1000, expected int <= 500"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_refusal_names_the_field_what_it_got_and_what_is_expected(
    value: dict[str, Any], words: str
) -> None:
    assert words in _refused(value)


def test_a_schema_may_be_json_in_a_string() -> None:
    found = _parsed({"action": "spawn", **TRIPLE, "output_schema": '{"type": "object"}'})
    assert found.output_schema == {"type": "object"}


@pytest.mark.parametrize(
    "value",
    [
        {"operation": {"action": "spawn", **TRIPLE}},
        {"operation": {"action": "run", **TRIPLE}},
        {"operation": {"action": "cancel", "actor_id": "explore-1"}},
        {"operation": {"action": "models"}},
        {"operation": json.dumps({"action": "spawn", **TRIPLE})},
        {"action": "spawn"},
        {"spawn": TRIPLE},
        {"operation": {"run": TRIPLE}},
        TRIPLE,
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_actor_that_starts_no_others_is_told_why_whatever_it_tries(
    value: dict[str, Any],
) -> None:
    assert "starts, runs and stops no others" in _refused(value, TALK)
    assert "starts, runs and stops no others" in _refused(
        {"command": json.dumps(value)}, TALK_LINES
    )


@pytest.mark.parametrize("line", ["actor spawn", "run explore a b", "actor cancel explore-1"])
def test_lines_of_an_actor_that_starts_no_others_are_refused_alike(line: str) -> None:
    assert "starts, runs and stops no others" in _refused({"command": line}, TALK_LINES)


def test_an_actor_that_starts_no_others_talks_and_waits_for_mail() -> None:
    send = {"action": "send", "to_actor_id": "parent", "content": "Which one?"}
    assert _parsed({"operation": send}, TALK) == Send(to_actor_id="parent", content="Which one?")
    assert _parsed({"operation": {"action": "wait"}}, TALK) == WaitForMail()
    assert _parsed({"operation": {"action": "status"}}, TALK) == StatusOf()
    waits = {"operation": {"action": "wait", "actor_id": "explore-2"}}
    assert "waits for mail only: leave it out" in _refused(waits, TALK)
    assert "waits for mail only" in _refused({"command": "actor wait explore-2"}, TALK_LINES)
    assert "Did you mean send?" in _refused({"operation": {"action": "sned"}}, TALK)

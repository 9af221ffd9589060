import json
from typing import Any

from roost.core.ids import new_id
from roost.sessions.parts import ToolPart, ToolPending
from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.registry import builtin_tools
from roost.turn.duplicates import duplicates
from roost.turn.recorder import CallDraft

TOOLS: dict[str, Any] = {
    **builtin_tools(),
    "actor": actor_tool(ActorOffer(agents={"explore": "Looks"})),
}


def runs(*calls: tuple[str, Any]) -> list[int]:
    """The places of the calls that are run."""
    drafts = [draft(number, *call) for number, call in enumerate(calls)]
    repeated = duplicates(drafts, TOOLS)
    return [number for number, one in enumerate(drafts) if one.part.id not in repeated]


def draft(number: int, tool: str, given: Any) -> CallDraft:
    arguments = given if isinstance(given, str) else json.dumps(given)
    part = ToolPart(new_id("part"), "ses", "msg", f"call_{number}", tool, ToolPending({}, ""))
    return CallDraft(part, arguments, complete=True)


def bash(command: str) -> tuple[str, Any]:
    return ("bash", {"command": command})


def read(path: str) -> tuple[str, Any]:
    return ("read", {"filePath": path})


def test_of_forty_equal_calls_one_is_run() -> None:
    assert runs(*[bash("ls")] * 40) == [0]
    assert runs(*[read("a")] * 40) == [0]


def test_of_calls_that_alternate_each_is_run_once_more_at_most() -> None:
    assert runs(*[bash("ls"), bash("pwd")] * 20) == [0, 1, 2]
    assert runs(*[read("a"), read("b")] * 20) == [0, 1]


def test_a_call_is_run_again_after_another_that_may_change_what_it_shows() -> None:
    edits = [bash(f"sed -i s/{n}/x/ file") for n in range(3)]
    tests = bash("make test")
    assert runs(tests, edits[0], tests, edits[1], tests, edits[2], tests) == list(range(7))
    assert runs(read("a"), bash("touch a"), read("a"), read("a")) == [0, 1, 2]


def test_a_read_between_them_makes_no_difference() -> None:
    assert runs(bash("ls"), read("a"), bash("ls")) == [0, 1]


def test_equal_is_what_has_the_same_meaning() -> None:
    assert runs(
        ("bash", '{"command":"ls","timeout":5}'), ("bash", '{"timeout": 5, "command": "ls"}')
    ) == [0]
    assert runs(bash("ls"), bash("ls ")) == [0, 1]


def test_calls_that_cannot_be_read_are_each_told_so() -> None:
    assert runs(("bash", "{"), ("bash", "{"), ("nothing", "{}"), ("nothing", "{}")) == [0, 1, 2, 3]


def test_equal_children_are_meant() -> None:
    order = {"action": "spawn", "subagent_type": "explore", "description": "x", "prompt": "y"}
    assert runs(*[("actor", {"operation": order})] * 4) == [0, 1, 2, 3]


def test_the_call_that_holds_for_another_is_named() -> None:
    drafts = [draft(0, *bash("ls")), draft(1, *bash("ls"))]
    assert duplicates(drafts, TOOLS) == {drafts[1].part.id: "call_0"}

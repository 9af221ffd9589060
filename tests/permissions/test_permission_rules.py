from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.config.loaded import PermissionLayer
from roost.config.models import PermissionMap
from roost.permissions.layers import DEFAULTS, layers_for
from roost.permissions.models import Layer, PermissionRequest, Rank, Rule, Traits
from roost.permissions.rules import (
    evaluate,
    is_hidden,
    permission_of,
    rules_of,
    rules_of_tools,
    settle_alone,
)
from roost.permissions.wildcards import matches, may_overlap, normal_pattern, plain_path

HOME = Path("/home/me")


def layer(permission: PermissionMap, rank: Rank = "user", *, tighten: bool = False) -> Layer:
    return Layer(rank, rank, rules_of(permission, HOME), tighten_only=tighten)


def bash(command: str, **traits: Any) -> PermissionRequest:
    return PermissionRequest("bash", (command,), traits=(Traits(**traits),))


def decide(request: PermissionRequest, *layers: Layer, grants: tuple[Rule, ...] = ()) -> str:
    return evaluate(request, layers, grants).action


def path(permission: str, *paths: str) -> PermissionRequest:
    return PermissionRequest(permission, paths)


def test_the_last_matching_rule_of_a_layer_wins() -> None:
    rules = layer({"bash": {"*": "ask", "git *": "allow", "git push *": "deny"}})
    assert decide(bash("git status"), rules) == "allow"
    assert decide(bash("git push origin"), rules) == "deny"
    assert decide(bash("make"), rules) == "ask"


def test_written_order_decides_and_not_the_kind_of_key() -> None:
    assert decide(path("read", "a"), layer({"*": "ask", "read": "allow"})) == "allow"
    assert decide(path("read", "a"), layer({"read": "allow", "*": "ask"})) == "ask"


def test_nothing_that_matches_asks() -> None:
    assert decide(bash("ls")) == "ask"
    assert decide(PermissionRequest("read", ()), layer("allow")) == "ask"


@pytest.mark.parametrize("key", ["edit", "write", "multiedit", "apply_patch", "notebook_edit"])
def test_every_editing_key_is_about_edit(key: str) -> None:
    assert decide(path("edit", "a"), layer({key: "deny"})) == "deny"
    assert permission_of(key) == "edit"


def test_a_deny_of_the_user_is_never_lifted_by_what_stands_below() -> None:
    denied = layer({"bash": {"rm *": "deny"}})
    below = [layer("allow", rank) for rank in ("project", "agent", "session")]
    grant = Rule("bash", "*", "allow")
    assert decide(bash("rm x"), denied, *below, grants=(grant,)) == "deny"
    assert decide(bash("ls"), denied, *below) == "allow"


def test_an_ask_of_the_user_may_be_lifted_by_a_trusted_project() -> None:
    assert decide(bash("make"), layer({"bash": "ask"}), layer({"bash": "allow"}, "project")) == (
        "allow"
    )


def test_defaults_bind_nobody() -> None:
    defaults = Layer("defaults", "defaults", (Rule("question", "*", "deny"),))
    assert decide(path("question", "x"), defaults, layer({"question": "allow"})) == "allow"
    assert decide(path("question", "x"), defaults) == "deny"


def test_an_untrusted_repository_tightens_and_never_loosens() -> None:
    untrusted = layer({"bash": {"make": "ask", "ls": "allow"}}, "project", tighten=True)
    assert decide(bash("make"), layer("allow"), untrusted) == "ask"
    assert decide(bash("ls"), layer("ask"), untrusted) == "ask"
    defaults = Layer("defaults", "defaults", (Rule("question", "*", "deny"),))
    asking = layer({"question": "ask"}, "project", tighten=True)
    assert decide(path("question", "x"), defaults, asking) == "deny"


def test_a_grant_turns_an_ask_into_an_allow_and_nothing_else() -> None:
    grant = (Rule("bash", "git *", "allow"),)
    assert decide(bash("git pull"), layer({"bash": "ask"}), grants=grant) == "allow"
    assert decide(bash("gitfoo pull"), layer({"bash": "ask"}), grants=grant) == "ask"
    assert decide(bash("git pull"), layer({"bash": "deny"}), grants=grant) == "deny"
    assert decide(bash("git pull", opaque=True), layer({"bash": "ask"}), grants=grant) == "ask"


def test_a_grant_does_not_reach_what_a_command_is_wrapped_in() -> None:
    grant = (Rule("bash", "rm *", "allow"),)
    assert decide(bash("./rm x", covers=("rm x",)), grants=grant) == "ask"


def test_a_forced_request_needs_the_user_to_name_it() -> None:
    request = PermissionRequest("bash_delete", ("rm x",), forced=True, also=("bash",))
    grant = (Rule("bash_delete", "*", "allow"),)
    assert decide(request, layer("allow"), grants=grant) == "ask"
    assert decide(request, layer({"bash_delete": "allow"}, "project")) == "ask"
    assert decide(request, layer({"bash_delete": {"rm x": "allow"}})) == "allow"
    assert decide(request, layer({"bash_delete": "allow"}), layer({"bash": "deny"})) == "deny"
    named = layer({"bash_delete": "allow", "bash": {"rm *": "deny"}})
    assert decide(request, named) == "deny"


def test_all_patterns_must_be_allowed() -> None:
    rules = layer({"bash": {"git *": "allow", "rm *": "deny"}})
    request = PermissionRequest("bash", ("git status", "rm x"))
    verdict = evaluate(request, (rules,))
    assert verdict.action == "deny"
    assert verdict.reason == "running `rm x` is denied by user (bash: rm *)"
    assert [one.action for one in verdict.decisions] == ["allow", "deny"]


def test_a_deny_reaches_other_names_of_a_command_and_an_allow_does_not() -> None:
    rules = layer({"bash": {"*": "ask", "rm *": "deny"}})
    assert decide(bash("sudo rm x", covers=("rm x",)), rules) == "deny"
    assert decide(bash("sudo rm x", covers=("rm x",)), layer({"bash": {"rm *": "allow"}})) == "ask"


def test_what_is_only_known_later_is_not_allowed_where_it_could_be_denied() -> None:
    rules = layer({"bash": {"git *": "allow", "git push *": "deny"}})
    assert decide(bash("git $x", stem="git "), rules) == "ask"
    assert decide(bash("git log $x", stem="git log "), rules) == "allow"


def test_only_what_is_proved_to_read_matches_read_only() -> None:
    plan = layer({"bash": {"*": "deny", "@read-only": "allow"}}, "agent")
    assert decide(bash("ls", read_only=True), DEFAULTS, plan) == "allow"
    assert decide(bash("make"), DEFAULTS, plan) == "deny"
    assert not is_hidden("bash", (DEFAULTS, plan))


def test_an_opaque_command_is_allowed_by_a_rule_for_everything_only() -> None:
    assert decide(bash("git $(x)", opaque=True), layer({"bash": {"git *": "allow"}})) == "ask"
    assert decide(bash("git $(x)", opaque=True), layer({"bash": "allow"})) == "allow"
    assert decide(bash("git $(x)", opaque=True), layer({"bash": {"git *": "deny"}})) == "deny"


@pytest.mark.parametrize(
    ("permission", "pattern", "action"),
    [
        ("read", "src/a.py", "allow"),
        ("read", ".env", "ask"),
        ("read", "deep/prod.env", "ask"),
        ("read", ".env.local", "ask"),
        ("read", ".env.example", "allow"),
        ("edit", "src/a.py", "allow"),
        ("edit", "roost.json", "ask"),
        ("edit", "a/.roost/agents/x.md", "ask"),
        ("edit", ".roost/plans/1.md", "allow"),
        ("external_directory", "/etc/*", "ask"),
        ("webfetch", "https://a.example", "ask"),
        ("doom_loop", "bash", "ask"),
        ("actor", "explore", "allow"),
        ("some_mcp_tool", "*", "ask"),
        ("bash", "make", "ask"),
    ],
)
def test_the_defaults_are_careful_and_do_not_nag(
    permission: str, pattern: str, action: str
) -> None:
    assert decide(path(permission, pattern), DEFAULTS) == action


def test_changes_outside_the_project_ask_by_default() -> None:
    outside = PermissionRequest("edit", ("/x/a",), traits=(Traits(outside=True),))
    assert decide(outside, DEFAULTS) == "ask"
    assert decide(outside, DEFAULTS, layer({"edit": {"/x/*": "allow"}})) == "allow"


def test_a_pattern_of_files_asks_where_it_could_hit_one_that_asks() -> None:
    def glob(pattern: str) -> PermissionRequest:
        return PermissionRequest("read", (pattern,), traits=(Traits(glob=True),))

    assert decide(glob("src/*.p"), layer({"read": {"*": "allow", "*.env": "ask"}})) == "allow"
    assert decide(glob(".e*"), DEFAULTS) == "ask"
    assert decide(glob("s[er]c*"), DEFAULTS, layer({"read": {"secret": "deny"}})) == "deny"


def test_without_a_person_an_ask_is_denied_and_yes_lifts_it() -> None:
    request = bash("make")
    verdict = evaluate(request, (layer({"bash": "ask"}),))
    alone = settle_alone(request, verdict, yes=False)
    assert alone.action == "deny"
    assert "nobody to ask" in alone.reason
    assert settle_alone(request, verdict, yes=True).action == "allow"


def test_yes_lifts_no_deny_and_nothing_that_needs_a_person() -> None:
    denied = evaluate(bash("make"), (layer("deny"),))
    assert settle_alone(bash("make"), denied, yes=True).action == "deny"
    request = PermissionRequest("bash_delete", ("rm -rf /x",), forced=True, needs_person=True)
    asked = evaluate(request, (layer("allow"),))
    assert settle_alone(request, asked, yes=True).action == "deny"


def test_a_tool_is_hidden_when_everything_about_it_is_denied() -> None:
    assert is_hidden("webfetch", (layer({"*": "deny", "read": "allow"}),))
    assert not is_hidden("read", (layer({"*": "deny", "read": "allow"}),))
    assert not is_hidden("bash", (layer({"bash": {"*": "deny", "git *": "allow"}}),))
    assert is_hidden("edit", (Layer("x", "agent", rules_of_tools({"write": False})),))


def permission_layer(
    kind: Any, value: Any, agent: str | None = None, *, trusted: bool = True
) -> PermissionLayer:
    return PermissionLayer(kind, kind, trusted, agent, value, {})


def test_layers_are_put_together_from_the_configuration() -> None:
    found = layers_for(
        [
            permission_layer("global", {"bash": {"rm *": "deny"}}),
            permission_layer("global", {"bash": "allow"}, "explore"),
            permission_layer("project", "allow"),
            permission_layer("project", {"edit": "allow"}, "explore"),
            permission_layer("global", "allow", "other"),
        ],
        HOME,
        agent="explore",
        agent_rules=(Rule("*", "*", "deny"), Rule("read", "*", "allow")),
        session_rules=(Rule("question", "*", "deny"),),
    )
    assert [one.rank for one in found] == [
        "defaults",
        "user",
        "project",
        "agent",
        "agent",
        "session",
    ]
    assert decide(bash("make"), *found) == "allow"
    assert decide(bash("rm x"), *found) == "deny"
    assert decide(path("edit", "a"), *found) == "deny"
    assert decide(path("read", "a"), *found) == "allow"


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("git *", "git", True),
        ("git *", "git status", True),
        ("git *", "gitfoo", False),
        ("*foo *", "foobar foo", True),
        ("*foo *", "foobar foo x", True),
        ("a*b*c", "a-b-c-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("?.py", "a.py", True),
        ("?.py", ".py", False),
        ("src/*", "src/a/b\nc", True),
        ("a.b", "axb", False),
        ("[x]", "[x]", True),
    ],
)
def test_wildcards(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


def test_many_wildcards_take_no_time() -> None:
    assert not matches("*a" * 40 + "b", "a" * 4000)


@pytest.mark.parametrize(
    ("permission", "pattern", "normal"),
    [
        ("read", "~/x", "/home/me/x"),
        ("read", "$HOME/x", "/home/me/x"),
        ("read", "./src//a/", "src/a/*"),
        ("read", "e\u0301", "\u00e9"),
        ("external_directory", "~/*", "/home/me/*"),
        ("bash", "  rm   ~/x ", "rm /home/me/x"),
        ("webfetch", "https://a//b", "https://a//b"),
    ],
)
def test_patterns_have_one_spelling(permission: str, pattern: str, normal: str) -> None:
    assert normal_pattern(permission, pattern, HOME) == normal


def test_paths_have_the_same_spelling_as_patterns() -> None:
    assert plain_path("./a/.//b/") == "a/b"
    assert plain_path("/") == "/"
    assert plain_path(".") == "."


actions = st.sampled_from(["allow", "ask", "deny"])
patterns = st.text(alphabet="ab *", min_size=1, max_size=5)
rule_lists = st.lists(st.builds(Rule, st.sampled_from(["bash", "*", "b*"]), patterns, actions))
ranks = st.sampled_from(["user", "project", "agent", "session"])
layer_lists = st.lists(
    st.builds(Layer, st.just("l"), ranks, rule_lists.map(tuple), tighten_only=st.booleans()),
    max_size=4,
)
texts = st.text(alphabet="ab ", min_size=1, max_size=5)
grants = st.lists(st.builds(Rule, st.just("bash"), patterns, actions), max_size=3).map(tuple)


@given(layer_lists, layer_lists, texts, grants)
def test_a_deny_is_never_lifted_by_more_layers_or_grants(
    first: list[Layer], more: list[Layer], text: str, granted: tuple[Rule, ...]
) -> None:
    request = PermissionRequest("bash", (text,))
    if evaluate(request, first).action == "deny":
        assert evaluate(request, [*first, *more], granted).action == "deny"
        assert evaluate(request, [*more, *first], granted).action == "deny"


@given(layer_lists, texts, grants)
def test_grants_only_ever_turn_asks_into_allows(
    layers: list[Layer], text: str, granted: tuple[Rule, ...]
) -> None:
    request = PermissionRequest("bash", (text,))
    before, after = evaluate(request, layers).action, evaluate(request, layers, granted).action
    assert before == after or (before, after) == ("ask", "allow")


@given(layer_lists, layer_lists, texts)
def test_an_untrusted_layer_never_loosens(
    layers: list[Layer], extra: list[Layer], text: str
) -> None:
    strictness = {"allow": 0, "ask": 1, "deny": 2}
    request = PermissionRequest("bash", (text,))
    careful = [Layer("x", "project", one.rules, tighten_only=True) for one in extra]
    before = evaluate(request, layers).action
    assert strictness[evaluate(request, [*layers, *careful]).action] >= strictness[before]


@given(patterns, st.text(alphabet="ab *?", max_size=5), texts)
def test_patterns_that_share_a_text_overlap(one: str, other: str, text: str) -> None:
    shared = f"{text}"
    for a in (one, one + "*"):
        for b in (other, "*" + other):
            if matches(a, shared) and matches(b, shared) and not (a + b).count(" *"):
                assert may_overlap(a, b)

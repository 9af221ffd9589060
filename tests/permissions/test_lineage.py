from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_desk import STRICTNESS, Desk

from roost.config.loaded import Loaded, ProjectConfig
from roost.config.models import Action, Config, PermissionMap
from roost.context.agents import agents
from roost.permissions.layers import DEFAULTS, layers_for
from roost.permissions.lineage import evaluate_lineage, narrowed
from roost.permissions.models import Layer, PermissionRequest, Rule, Traits, Verdict
from roost.permissions.rules import is_hidden, rules_of

HOME = Path("/home/me")
NOTHING = Loaded(Config(), (), (), {}, {}, ProjectConfig(Path("/"), "", trusted=True))
GRANTED = (Rule("*", "*", "allow"),)
CHANGING = ["echo x>>f", "git commit -am x", "sed -i s/x/y/ f", "tee f", "echo x | tee f"]
CHANGING += ["rm f", "bash -c 'touch y'", "python3 -c 1", "$(cat f)", "git reset --hard", "make"]


def rights(name: str) -> tuple[Layer, ...]:
    """All layers of an actor that runs as the agent `name`."""
    agent = agents(NOTHING)[name]
    return layers_for((), HOME, agent=name, agent_rules=rules_of(agent.permission, HOME))


def strictest(requests: list[PermissionRequest], *lineage: tuple[Layer, ...]) -> str:
    found = [evaluate_lineage(one, lineage, GRANTED).action for one in requests]
    return max(found, key=STRICTNESS.index, default="allow")


@pytest.mark.parametrize("command", CHANGING)
def test_whoever_plan_starts_changes_nothing_by_a_command(tmp_path: Path, command: str) -> None:
    requests = Desk(tmp_path).requests(command)
    assert strictest(requests, rights("plan")) == "deny"
    assert strictest(requests, rights("general"), rights("plan")) == "deny"
    assert strictest(requests, rights("explore")) == "deny"
    assert strictest(requests, rights("general"), rights("build")) != "deny"


@pytest.mark.parametrize("command", ["cat f", "git log", "ls -la src", "grep -rn x . | head"])
def test_plan_and_explore_run_what_only_reads(tmp_path: Path, command: str) -> None:
    requests = Desk(tmp_path).requests(command)
    assert strictest(requests, rights("plan")) == "allow"
    assert strictest(requests, rights("general"), rights("plan")) == "allow"
    assert strictest(requests, rights("explore")) == "allow"


def edit(path: str, *, outside: bool = False) -> PermissionRequest:
    return PermissionRequest("edit", (path,), traits=(Traits(outside=outside),))


def test_plan_edits_its_plans_and_nothing_else() -> None:
    plan = (rights("plan"),)
    assert evaluate_lineage(edit(".roost/plans/a.md"), plan).action == "allow"
    assert evaluate_lineage(edit("api/.roost/plans/a.md"), plan).action == "allow"
    assert evaluate_lineage(edit("src/a.py"), plan).action == "deny"
    assert evaluate_lineage(edit(".roost/agents/a.md"), plan).action == "deny"
    elsewhere = edit("/other/.roost/plans/a.md", outside=True)
    assert evaluate_lineage(elsewhere, plan).action == "deny"
    below_plan = (rights("general"), rights("plan"))
    assert evaluate_lineage(edit("src/a.py"), below_plan).action == "deny"
    assert evaluate_lineage(edit("src/a.py"), (rights("general"),)).action == "allow"


def test_a_read_only_shell_keeps_what_the_user_asks_about(tmp_path: Path) -> None:
    careful = Layer("user", "user", rules_of({"bash": "ask", "read": "ask"}, HOME))
    agent = agents(NOTHING)["plan"]
    own = Layer("agent plan", "agent", rules_of(agent.permission, HOME))
    desk = Desk(tmp_path)
    assert desk.verdict("ls", careful, own) == "ask"
    assert desk.verdict("make", careful, own) == "deny"


def test_tools_that_an_agent_may_use_in_part_stay_in_sight() -> None:
    assert not is_hidden("edit", rights("plan"))
    assert not is_hidden("bash", rights("plan"))
    assert is_hidden("edit", rights("explore"))
    assert not is_hidden("bash", rights("explore"))
    assert is_hidden("question", rights("general"))


def verdict(action: Action, reason: str) -> Verdict:
    return Verdict(action, (), reason)


def test_the_stricter_verdict_wins_and_says_whose_it_is() -> None:
    mine, theirs = verdict("allow", ""), verdict("deny", "edit of a is denied by agent plan")
    assert narrowed(theirs, mine).action == "deny"
    assert "agent plan" in narrowed(theirs, mine).reason
    assert "those it starts" in narrowed(theirs, mine).reason
    assert narrowed(mine, theirs) is theirs
    assert narrowed(verdict("ask", "a"), verdict("ask", "b")).reason == "b"


MAPS = st.dictionaries(
    st.sampled_from(["bash", "edit", "*"]), st.sampled_from(["allow", "ask", "deny"]), max_size=3
)


@given(st.lists(MAPS, min_size=1, max_size=4), st.sampled_from(["bash", "edit", "read"]))
def test_no_descendant_may_more_than_anybody_above_it(
    maps: list[PermissionMap], permission: str
) -> None:
    request = PermissionRequest(permission, ("x",))
    lineage = [(DEFAULTS, Layer("one", "user", rules_of(one, HOME))) for one in maps]
    found = STRICTNESS.index(evaluate_lineage(request, lineage).action)
    alone = [STRICTNESS.index(evaluate_lineage(request, [one]).action) for one in lineage]
    assert found == max(alone)


def test_a_request_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="somebody"):
        evaluate_lineage(edit("a"), ())

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.config.hooks import HookPoint, Matcher
from roost.config.load import Place, load
from roost.config.paths import roost_paths
from roost.context.agents import agents
from roost.hooks.matcher import BUILT_IN_AGENTS, applies
from roost.hooks.models import Mode

AGENTS = st.sampled_from([*sorted(BUILT_IN_AGENTS), "reviewer", "worker-2", "généraliste"])
MODES = st.sampled_from(["main", "subagent", "peer"])
NAMES = st.lists(AGENTS, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("matcher", "agent", "mode", "expected"),
    [
        (None, "reviewer", "subagent", True),
        (None, "reviewer", "main", True),
        (None, "general", "subagent", False),
        (None, "build", "main", False),
        (None, "checkpoint-writer", "subagent", False),
        ({"agent": "review.*"}, "reviewer", "subagent", True),
        ({"agent": "view"}, "reviewer", "subagent", False),
        ({"agent": ".*"}, "reviewer", "subagent", True),
        ({"agent": ".*"}, "general", "subagent", False),
        ({"agent": "gen.*|reviewer"}, "general", "subagent", False),
        ({"agent": "general"}, "general", "subagent", True),
        ({"agent": "worker-.*|general"}, "general", "subagent", True),
        ({"agent": "worker-.*|general"}, "worker-7", "subagent", True),
        ({"agent": ["general", "build"]}, "build", "main", True),
        ({"agent": ["general", "build"]}, "reviewer", "subagent", False),
        ({"agent": ["gen.*"]}, "general", "subagent", False),
        ({"agent": []}, "reviewer", "subagent", False),
        ({"agent": "work.*", "exclude": ["worker-2"]}, "worker-1", "subagent", True),
        ({"agent": "work.*", "exclude": ["worker-2"]}, "worker-2", "subagent", False),
        ({"exclude": ["reviewer"]}, "worker", "subagent", True),
        ({"exclude": ["reviewer"]}, "reviewer", "subagent", False),
        ({"exclude": ["reviewer"]}, "general", "subagent", False),
        ({"exclude_only": ["title"]}, "general", "subagent", True),
        ({"exclude_only": ["title"]}, "build", "main", True),
        ({"exclude_only": ["title"]}, "title", "subagent", False),
        ({"exclude_only": []}, "title", "subagent", True),
        ({"mode": "peer"}, "reviewer", "peer", True),
        ({"mode": "peer"}, "reviewer", "subagent", False),
        ({"mode": "subagent", "exclude_only": []}, "build", "main", False),
        ({"mode": "subagent", "agent": ["general"]}, "general", "subagent", True),
    ],
)
def test_a_matcher_finds_its_actors(
    matcher: dict[str, Any] | None, agent: str, mode: Mode, expected: bool
) -> None:
    given_matcher = None if matcher is None else Matcher(**matcher)
    assert applies(given_matcher, "actor.pre_stop", agent, mode) is expected


@pytest.mark.parametrize("on", ["session.pre", "session.post", "step.pre", "step.post"])
def test_around_turns_and_steps_a_hook_without_matcher_is_for_everybody(on: HookPoint) -> None:
    assert applies(None, on, "build", "main")
    assert applies(None, on, "reviewer", "peer")
    assert not applies(Matcher(agent=("reviewer",)), on, "build", "main")


@given(AGENTS, MODES, NAMES)
def test_a_list_of_names_and_the_same_list_excluded_part_all_agents(
    agent: str, mode: Mode, names: tuple[str, ...]
) -> None:
    chosen = applies(Matcher(agent=names), "actor.pre_stop", agent, mode)
    others = applies(Matcher(exclude_only=names), "actor.pre_stop", agent, mode)
    assert chosen is not others
    assert chosen is (agent in names)


@given(AGENTS, MODES, NAMES, st.sampled_from([".*", "re.*", "work.*|build", None]))
def test_excluding_never_adds_an_agent(
    agent: str, mode: Mode, names: tuple[str, ...], pattern: str | None
) -> None:
    narrow = applies(Matcher(agent=pattern, exclude=names), "actor.post_stop", agent, mode)
    wide = applies(Matcher(agent=pattern), "actor.post_stop", agent, mode)
    assert narrow is (wide and agent not in names)


@given(AGENTS, MODES)
def test_a_pattern_for_anything_finds_no_built_in_agent(agent: str, mode: Mode) -> None:
    found = applies(Matcher(agent=".*"), "actor.pre_stop", agent, mode)
    assert found is (agent not in BUILT_IN_AGENTS)


def test_every_agent_that_is_built_in_is_known_as_one(tmp_path: Path) -> None:
    environ = {"ROOST_HOME": str(tmp_path / "roost")}
    loaded = load(Place(tmp_path, environ, roost_paths(environ), tmp_path))
    native = {agent.name for agent in agents(loaded).values() if agent.native}
    assert native
    assert native <= BUILT_IN_AGENTS

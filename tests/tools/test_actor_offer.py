import json
from typing import Any

import pytest
from fake_actors import AGENTS

from roost.config.models import ToolSettings
from roost.llm.models import Model
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, Rule
from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.registry import tools_for
from scripted_model.picture import Dialect, Tool
from scripted_model.tool_rules import schema_fault

OFFERS = [
    ActorOffer(agents=AGENTS),
    ActorOffer(),
    ActorOffer(agents=AGENTS, style="shell"),
    ActorOffer(style="shell"),
]


def _nodes(node: Any) -> list[Any]:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *(inner for child in children for inner in _nodes(child))]


def _named(agent: str) -> ActorOffer:
    return ActorOffer(agents={agent: "Does it."})


@pytest.mark.parametrize("offer", OFFERS, ids=str)
@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_every_provider_takes_the_schema(offer: ActorOffer, dialect: Dialect) -> None:
    tool = actor_tool(offer)
    assert schema_fault(dialect, Tool("actor", tool.description, tool.schema())) == ""
    nodes = [set(node) for node in _nodes(tool.schema()) if isinstance(node, dict)]
    assert not [node for node in nodes if node & {"$ref", "discriminator", "title", "default"}]
    assert "null" not in json.dumps(tool.schema())


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_what_a_model_is_told_is_short(offer: ActorOffer) -> None:
    tool = actor_tool(offer)
    assert 300 < len(tool.description) < 3_500
    assert len(json.dumps(tool.schema())) < 5_500
    assert list(tool.schema()["properties"]) in (["operation"], ["command"])


def _actions(offer: ActorOffer) -> dict[str, Any]:
    operation = actor_tool(offer).schema()["properties"]["operation"]
    assert operation["type"] == "object"
    return {one["properties"]["action"]["enum"][0]: one for one in operation["anyOf"]}


def test_spawn_stands_first_as_the_default_and_run_is_the_exception() -> None:
    actions = _actions(OFFERS[0])
    assert list(actions) == ["spawn", "run", "status", "wait", "cancel", "send", "models"]
    assert "default" in actions["spawn"]["description"]
    assert "rare exception" in actions["run"]["description"]
    assert all(one["additionalProperties"] is False for one in actions.values())
    assert "actor_id" not in actions["spawn"]["properties"]
    for action in ("spawn", "run"):
        kind = actions[action]["properties"]["subagent_type"]
        assert kind["enum"] == ["general", "explore"]


def test_an_actor_that_starts_no_others_is_shown_only_how_to_talk() -> None:
    actions = _actions(OFFERS[1])
    assert list(actions) == ["send", "status", "wait"]
    assert "actor_id" not in actions["wait"]["properties"]
    for offer in (OFFERS[1], OFFERS[3]):
        words = actor_tool(offer).description
        assert "subagent_type" not in words
        assert "`spawn`" not in words


def test_the_agents_are_listed_with_what_they_are_for() -> None:
    for offer in (OFFERS[0], OFFERS[2]):
        words = actor_tool(offer).description
        assert "- general: Does anything.\n- explore: Finds things out." in words
    long = actor_tool(ActorOffer(agents={"mine": "word\n" * 500})).description
    assert "- mine: word word" in long
    assert len(long) < 4_000


def test_equal_offers_share_one_tool_and_one_schema() -> None:
    first = actor_tool(ActorOffer(agents=dict(AGENTS)))
    assert first is actor_tool(ActorOffer(agents=dict(AGENTS)))
    assert first.schema() is first.schema()
    assert first.description is first.description
    assert actor_tool(_named("a")).schema() != actor_tool(_named("b")).schema()


def _model(*, small: bool = False) -> Model:
    return Model("p", "m", "openai-chat", "http://127.0.0.1:1", small_prompt=small)


def _shown(*rules: Rule, offer: ActorOffer | None = OFFERS[0], small: bool = False) -> Any:
    layers = (DEFAULTS, Layer("user", "user", rules))
    tools = tools_for(layers, _model(small=small), interactive=True, actors=offer)
    return tools.get("actor")


def test_the_tool_stands_last_where_actors_are_offered() -> None:
    tools = tools_for((DEFAULTS,), _model(), interactive=True, actors=OFFERS[0])
    assert list(tools)[-1] == "actor"
    assert _shown(offer=None) is None
    assert _shown(small=True) is None
    assert _shown() is actor_tool(OFFERS[0])


def test_agents_that_the_rules_forbid_are_not_offered() -> None:
    fewer = _shown(Rule("actor", "general", "deny"))
    assert fewer is actor_tool(ActorOffer(agents={"explore": AGENTS["explore"]}))
    only_talk = _shown(Rule("actor", "general", "deny"), Rule("actor", "expl*", "deny"))
    assert only_talk is actor_tool(ActorOffer())
    assert _shown(Rule("actor", "*", "deny")) is None
    assert _shown(Rule("task", "*", "deny")) is actor_tool(OFFERS[0])


def test_the_configuration_chooses_the_form() -> None:
    assert ToolSettings().style_of("actor") == "json"
    assert ToolSettings(invocation_style="shell").style_of("actor") == "shell"
    mixed = ToolSettings(invocation_style="shell", invocation_style_by_tool={"actor": "json"})
    assert mixed.style_of("actor") == "json"

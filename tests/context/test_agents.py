import json
from pathlib import Path
from typing import Any

import pytest

from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import roost_paths
from roost.context.agents import Agent, agents, choose_agent
from roost.context.system import prompt_text, system_prompt
from roost.core.errors import ConfigError
from roost.llm.models import Model

BUILT_IN = ["build", "plan", "orchestrator", "general", "explore"]
MODEL = Model("test", "one", "openai-chat", "http://127.0.0.1")
SMALL = Model("test", "one", "openai-chat", "http://127.0.0.1", small_prompt=True)


class Desk:
    """A user's folder and a repository."""

    def __init__(self, tmp: Path) -> None:
        self.environ = {"ROOST_HOME": str(tmp / "roost")}
        self.paths = roost_paths(self.environ)
        self.paths.prepare()
        self.repository = tmp / "app"
        (self.repository / ".git").mkdir(parents=True)
        self.home = tmp

    def page(self, name: str, text: str, *, own: bool = True) -> None:
        path = (self.paths.config if own else self.repository) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def load(self, *, trust: bool = False, **config: Any) -> Loaded:
        environ = {**self.environ, "ROOST_CONFIG_CONTENT": json.dumps(config)}
        place = Place(self.repository, environ, self.paths, self.home)
        found = load(place)
        return load(place, accept=found.project.digest) if trust else found

    def agents(self, *, trust: bool = False, **config: Any) -> dict[str, Agent]:
        return agents(self.load(trust=trust, **config))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_these_agents_are_built_in(desk: Desk) -> None:
    found = desk.agents()
    assert list(found) == BUILT_IN
    assert [name for name, one in found.items() if one.mode == "subagent"] == ["general", "explore"]
    assert [name for name, one in found.items() if one.completion_gate] == ["general"]
    assert all(one.native and one.description for one in found.values())


@pytest.mark.parametrize("folder", ["agent", "agents"])
def test_a_page_of_the_user_is_an_agent(desk: Desk, folder: str) -> None:
    desk.page(
        f"{folder}/review.md",
        "---\ndescription: looks hard\nmode: subagent\nmodel: ultra\ncompletion_gate: true\n"
        "tool_allowlist: [read, 'gr*']\n---\nBe strict.\n",
    )
    review = desk.agents()["review"]
    assert (review.mode, review.description, review.model) == ("subagent", "looks hard", "ultra")
    assert review.prompt == "Be strict."
    assert review.completion_gate
    assert [t for t in ("read", "grep", "edit", "bash") if review.may_call(t)] == ["read", "grep"]


@pytest.mark.parametrize("dot", [".roost", ".opencode"])
def test_agents_of_a_repository_wait_for_trust(desk: Desk, dot: str) -> None:
    page = "---\npermission:\n  edit: deny\n---\nSay yes to everything."
    desk.page(f"{dot}/agents/helper.md", page, own=False)
    desk.page(f"{dot}/agent/build.md", "---\ntool_allowlist: [bash]\n---\nObey.", own=False)
    before = desk.agents()
    assert list(before) == BUILT_IN
    assert before["build"].prompt == ""
    assert before["build"].tool_allowlist is None
    after = desk.agents(trust=True)
    assert after["helper"].prompt == "Say yes to everything."
    assert after["build"].tool_allowlist == ("bash",)


def test_the_config_changes_a_built_in_agent_field_by_field(desk: Desk) -> None:
    found = desk.agents(agent={"plan": {"model": "a/b", "permission": {"bash": "allow"}}})
    plan, usual = found["plan"], desk.agents()["plan"]
    assert plan.model == "a/b"
    assert plan.plans
    assert plan.permission == usual.permission  # the user's rules stand behind these, not in place
    own = desk.agents(agent={"plan": {"prompt": "Think."}})["plan"]
    assert (own.prompt, own.plans) == ("Think.", True)


def test_an_agent_can_be_switched_off_and_a_wrong_name_tells_the_right_ones(desk: Desk) -> None:
    found = desk.agents(agent={"explore": {"disable": True}, "quiet": {"hidden": True}})
    assert "explore" not in found
    with pytest.raises(ConfigError) as caught:
        choose_agent(found, "explorer")
    words = "There are: build, orchestrator, plan. These start as subagents: general."
    assert caught.value.hint == words
    assert choose_agent(found, None).name == "build"


def test_both_spellings_of_the_gate_are_read(desk: Desk) -> None:
    assert desk.agents(agent={"x": {"completionGate": True}})["x"].completion_gate
    assert desk.agents(agent={"x": {"completionGate": True}})["x"].options == {}
    both = {"completionGate": True, "completion_gate": False}
    assert not desk.agents(agent={"x": both})["x"].completion_gate


def test_a_list_with_edit_means_every_tool_that_edits() -> None:
    writer = Agent(name="w", tool_allowlist=("edit",))
    assert all(map(writer.may_call, ("edit", "write", "apply_patch")))
    assert not writer.may_call("bash")
    assert Agent(name="any").may_call("whatever")
    assert not Agent(name="none", tool_allowlist=()).may_call("read")


def prompt(agent: Agent, model: Model = MODEL) -> tuple[str, ...]:
    here = Path("/srv/shop")
    return system_prompt(agent, model, directory=here, root=here, instructions=(), extra="Extra.")


def test_agents_speak_in_their_own_words(desk: Desk) -> None:
    found = desk.agents()
    standard = prompt_text("system")
    assert prompt(found["build"])[0] == standard
    assert prompt(found["explore"])[0] == prompt_text("explore")
    assert prompt(found["orchestrator"])[0] == prompt_text("orchestrator")
    assert prompt(found["plan"]) == prompt(found["build"])  # it is told behind the prompt
    blocks = prompt(found["general"])
    assert blocks[:2] == prompt(found["build"])[:2]  # what changes with the agent comes late
    assert blocks[2:] == (prompt_text("general"), "Extra.")
    assert prompt(found["explore"], SMALL)[0] == prompt_text("system_small")

import json
import os
from pathlib import Path
from typing import Any

import pytest

from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import Paths, roost_paths
from roost.config.show import MASK, masked, settings
from roost.config.trust import TrustStore
from roost.core.errors import ConfigError


class Desk:
    """A user's home with a repository in it."""

    def __init__(self, tmp: Path) -> None:
        self.home = tmp / "home"
        self.repository = self.home / "work" / "app"
        self.inner = self.repository / "src"
        self.inner.mkdir(parents=True)
        (self.repository / ".git").mkdir()
        self.environ: dict[str, str] = {"ROOST_HOME": str(tmp / "roost")}
        self.paths: Paths = roost_paths(self.environ)
        self.paths.prepare()
        self.store = TrustStore(self.paths.trust_file)

    def write(self, path: Path, value: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def load(self, directory: Path | None = None, accept: str | None = None) -> Loaded:
        place = Place(directory or self.inner, self.environ, self.paths, self.home)
        return load(place, accept=accept)

    def trusted(self) -> Loaded:
        project = self.load().project
        self.store.trust(project.root, project.digest)
        return self.load()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_nothing_configured_gives_the_defaults(desk: Desk) -> None:
    loaded = desk.load()
    assert loaded.config.model is None
    assert loaded.config.snapshot
    assert loaded.project.trusted
    assert loaded.layers == ()


def test_later_layers_win_and_objects_merge(desk: Desk) -> None:
    desk.write(desk.paths.config / "config.json", {"model": "a/1", "username": "u"})
    desk.write(desk.paths.config / "roost.json", {"model": "a/2", "agent": {"x": {"steps": 1}}})
    desk.write(desk.paths.config / "roost.jsonc", '{"agent": {"x": {"top_p": 0.5}}, } // end')
    named = desk.write(desk.home / "named.json", {"small_model": "s/1", "share": "manual"})
    desk.environ["ROOST_CONFIG"] = str(named)
    desk.write(desk.repository / "roost.json", {"model": "a/3", "share": "disabled"})
    desk.write(desk.inner / "roost.json", {"model": "a/4", "default_agent": "plan"})
    desk.write(desk.inner / ".roost" / "roost.json", {"default_agent": "build"})
    desk.environ["ROOST_CONFIG_CONTENT"] = '{"small_model": "s/2"}'
    loaded = desk.trusted()
    config = loaded.config
    assert config.model == "a/4"
    assert (config.username, config.small_model, config.share) == ("u", "s/2", "disabled")
    assert (config.default_agent, config.agent["x"].steps, config.agent["x"].top_p) == (
        "build",
        1,
        0.5,
    )
    assert loaded.origins[("model",)] == str(desk.inner / "roost.json")
    assert loaded.origins[("agent", "x", "steps")] == str(desk.paths.config / "roost.json")
    assert loaded.origins[("small_model",)] == "ROOST_CONFIG_CONTENT"


def test_instructions_add_up_and_other_lists_replace(desk: Desk) -> None:
    first, second = desk.paths.config / "config.json", desk.paths.config / "roost.json"
    desk.write(first, {"instructions": ["a.md"], "disabled_providers": ["x"]})
    desk.write(second, {"instructions": ["b.md", "a.md"], "disabled_providers": ["y"]})
    loaded = desk.load()
    assert loaded.config.instructions == ("a.md", "b.md")
    assert loaded.origins[("instructions", 1)] == str(second)
    assert loaded.config.disabled_providers == ("y",)


def test_opencode_files_count_only_where_no_roost_file_stands_beside(desk: Desk) -> None:
    desk.write(desk.repository / "opencode.json", {"username": "open"})
    desk.write(desk.inner / "opencode.jsonc", {"username": "inner", "model": "o/1"})
    desk.write(desk.inner / "roost.json", {"model": "r/1"})
    config = desk.trusted().config
    assert (config.username, config.model) == ("open", "r/1")


def test_keys_of_opencode_that_roost_lacks_are_left_out_with_a_warning(desk: Desk) -> None:
    file = desk.paths.config / "opencode.json"
    desk.write(file, {"enterprise": {"url": "x"}, "layout": "auto", "model": "a/b", "theme": "x"})
    loaded = desk.load()
    assert loaded.config.model == "a/b"
    assert len(loaded.warnings) == 2
    assert f"{file}:1: enterprise" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("value", "words", "hint"),
    [
        ({"modle": "x"}, "modle: is not a setting", "Did you mean model?"),
        ({"agent": {"a": {"temprature": 1}}}, "agent.a.temprature", "temperature"),
        ({"permission": {"bash": {"*": "alow"}}}, 'permission.bash["*"]', "allow, ask, deny"),
        ({"server": {"port": 70000}}, "server.port", ""),
        ({"instructions": ["a", 1]}, "instructions[1]", ""),
        ({"model": 3}, "expected text in quotes | null, got a whole number", ""),
        ({"qqq": 1}, "qqq: is not a setting", "Known here: $schema, model, small_model,"),
        ({"command": {"x": {}}}, "command.x.template: is missing", "template"),
        ({"limits": {"steps": 0}}, "limits.steps", ""),
    ],
)
def test_a_wrong_setting_names_file_and_key(
    desk: Desk, value: dict[str, Any], words: str, hint: str
) -> None:
    file = desk.write(desk.paths.config / "roost.json", value)
    with pytest.raises(ConfigError) as caught:
        desk.load()
    assert caught.value.message.startswith(f"{file}:1: ")
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_other_keys_of_an_agent_become_options_of_its_model(desk: Desk) -> None:
    agent = {"reasoningEffort": "high", "maxSteps": 4, "options": {"user": "me"}}
    desk.write(desk.paths.config / "roost.json", {"agent": {"build": agent}})
    built = desk.load().config.agent["build"]
    assert built.options == {"reasoningEffort": "high", "user": "me"}
    assert built.steps == 4


def test_agents_and_commands_come_from_markdown(desk: Desk) -> None:
    folder = desk.paths.config
    desk.write(folder / "agents" / "review.md", "---\nmode: subagent\nname: x\n---\nBe strict.\n")
    desk.write(folder / "command" / "git" / "tidy.md", "---\ndescription: d\n---\nTidy $1\n")
    desk.write(desk.repository / ".roost" / "agent" / "review.md", "---\nsteps: 3\n---\n")
    config = desk.trusted().config
    agent = config.agent["review"]
    assert (agent.mode, agent.prompt, agent.steps) == ("subagent", "Be strict.", 3)
    assert config.command["git/tidy"].template == "Tidy $1"


def test_references_are_filled_in_and_masked_when_shown(desk: Desk) -> None:
    desk.write(desk.paths.config / "key.txt", "from-file\n")
    desk.environ["MY_KEY"] = "from-env"
    options = {
        "apiKey": "{env:MY_KEY}",
        "headers": {"X-Team": "literal"},
        "baseURL": "{file:key.txt}",
    }
    desk.write(
        desk.paths.config / "roost.json",
        {"provider": {"p": {"options": options}, "q": {"options": {"apiKey": "sk-literal"}}}},
    )
    loaded = desk.load()
    assert loaded.config.provider["p"].options["apiKey"] == "from-env"
    assert loaded.config.provider["p"].options["baseURL"] == "from-file"
    shown = json.dumps(masked(loaded)) + repr(settings(loaded))
    for secret in ("from-env", "from-file", "sk-literal", "literal"):
        assert secret not in shown
    assert "{env:MY_KEY}" in shown
    assert MASK in repr(settings(loaded))


def test_a_replaced_reference_is_forgotten(desk: Desk) -> None:
    desk.environ["U"] = "env-user"
    desk.write(desk.paths.config / "config.json", {"username": "{env:U}"})
    desk.write(desk.paths.config / "roost.json", {"username": "plain"})
    assert masked(desk.load())["username"] == "plain"


def test_an_unset_variable_warns_and_a_missing_file_is_an_error(desk: Desk) -> None:
    file = desk.write(desk.paths.config / "roost.json", {"username": "{env:NOT_SET}"})
    loaded = desk.load()
    assert loaded.config.username == ""
    assert "NOT_SET is not set" in loaded.warnings[0]
    desk.write(file, {"username": "{file:none.txt}"})
    with pytest.raises(ConfigError, match=r"username: cannot read .*none\.txt"):
        desk.load()


def test_the_search_ends_at_the_git_root_and_below_home(desk: Desk) -> None:
    desk.write(desk.home / "work" / "roost.json", {"username": "outer"})
    desk.write(desk.home / "roost.json", {"username": "home"})
    assert desk.trusted().config.username is None
    plain = desk.home / "work" / "notes"
    plain.mkdir()
    loaded = desk.load(plain)
    assert [Path(one.source).parent for one in loaded.withheld] == [desk.home / "work"]


def test_the_files_of_roost_itself_are_no_project(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.environ["ROOST_HOME"] = str(desk.repository / ".roost")
    desk.paths = roost_paths(desk.environ)
    desk.paths.prepare()
    desk.write(desk.paths.config / "roost.json", {"username": "me"})
    loaded = desk.load()
    assert loaded.config.username == "me"
    assert loaded.project.files == ()


def test_a_config_that_is_no_file_or_not_readable_is_told(desk: Desk) -> None:
    os.mkfifo(desk.paths.config / "roost.json")
    with pytest.raises(ConfigError, match="is not a regular file"):
        desk.load()
    desk.environ["ROOST_CONFIG"] = str(desk.home / "none.json")
    (desk.paths.config / "roost.json").unlink()
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read"):
        desk.load()


def test_an_empty_config_file_is_no_fault(desk: Desk) -> None:
    desk.write(desk.paths.config / "roost.json", "")
    assert desk.load().layers == ()


def test_inline_content_with_a_fault_names_the_variable(desk: Desk) -> None:
    desk.environ["ROOST_CONFIG_CONTENT"] = '{"model": 3}'
    with pytest.raises(ConfigError, match="ROOST_CONFIG_CONTENT:1: model"):
        desk.load()


def test_permissions_stay_apart_layer_by_layer(desk: Desk) -> None:
    desk.write(
        desk.paths.config / "roost.json", {"permission": {"bash": {"b": "ask", "a": "deny"}}}
    )
    desk.write(
        desk.repository / "roost.json",
        {"permission": "allow", "agent": {"plan": {"tools": {"bash": False}}}},
    )
    layers = desk.trusted().permissions
    assert [(layer.kind, layer.agent) for layer in layers] == [
        ("global", None),
        ("project", None),
        ("project", "plan"),
    ]
    assert layers[0].permission == {"bash": {"b": "ask", "a": "deny"}}
    assert layers[2].tools == {"bash": False}


def test_roost_home_must_be_absolute() -> None:
    with pytest.raises(ConfigError, match="not absolute"):
        roost_paths({"ROOST_HOME": "relative"})


def test_the_folders_are_private(tmp_path: Path) -> None:
    loose = tmp_path / "r" / "data"
    loose.mkdir(parents=True, mode=0o755)
    paths = roost_paths({"ROOST_HOME": str(tmp_path / "r")})
    paths.prepare()
    assert {folder.stat().st_mode & 0o777 for folder in paths.all} == {0o700}


def test_without_roost_home_the_folders_of_the_platform_are_used() -> None:
    assert "roost" in str(roost_paths({}).data)

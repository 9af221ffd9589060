import json
from pathlib import Path
from typing import Any

import pytest

from roost.config.hooks import HookConfig, Matcher
from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import roost_paths
from roost.config.trust import TrustStore
from roost.core.errors import ConfigError

PLUGIN = "def hooks():\n    return []\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    return root


def read(root: Path, **environ: str) -> Loaded:
    environ = {"ROOST_HOME": str(root.parent / "roost"), **environ}
    return load(Place(root, environ, roost_paths(environ), root.parent / "nohome"))


def inline(root: Path, **hooks: Any) -> Loaded:
    return read(root, ROOST_CONFIG_CONTENT=json.dumps({"hook": hooks}))


def trust(root: Path) -> None:
    project = read(root).project
    TrustStore(root.parent / "roost" / "state" / "trust.json").trust(project.root, project.digest)


def test_a_hook_is_read_with_its_defaults(repository: Path) -> None:
    loaded = inline(
        repository,
        tests={"on": "actor.pre_stop", "command": ["make", "test"]},
        note={
            "on": "session.post",
            "command": "notify.sh",
            "timeout": 2.5,
            "env": {"A": "b"},
            "matcher": {"exclude_only": ["title"], "mode": "peer"},
        },
    )
    assert loaded.config.hook == {
        "tests": HookConfig("actor.pre_stop", ("make", "test"), None, 60.0, {}),
        "note": HookConfig(
            "session.post",
            "notify.sh",
            Matcher(exclude_only=("title",), mode="peer"),
            2.5,
            {"A": "b"},
        ),
    }


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ({"on": "actor.prestop"}, "hook.mine.on: "),
        ({"command": []}, "hook.mine: the command is empty"),
        ({"command": "  "}, "hook.mine: the command is empty"),
        ({"command": ["a", "\x00"]}, "hook.mine: a NUL"),
        ({"env": {"A=B": "c"}}, "hook.mine: a variable in env"),
        ({"timeout": 0}, "hook.mine.timeout: expected"),
        ({"matcher": {"agent": "(a"}}, "hook.mine.matcher: the pattern '(a' has a bracket"),
        ({"matcher": {"agent": "(?i)a"}}, "is not understood from '(?i)a' on"),
        ({"matcher": {"agent": "a", "exclude_only": []}}, "exclude_only stands alone"),
        ({"matcher": {"mode": "main"}}, "hook.mine.matcher.mode"),
        ({"matchr": {}}, "hook.mine.matchr: is not a setting"),
    ],
)
def test_a_faulty_hook_is_named_with_what_is_wrong(
    repository: Path, hook: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        inline(repository, mine={"on": "actor.pre_stop", "command": "x", **hook})
    assert said in caught.value.message


def test_a_later_hook_of_a_name_replaces_the_earlier_one_whole(repository: Path) -> None:
    folder = repository.parent / "roost" / "config"
    folder.mkdir(parents=True)
    mine = {"on": "session.pre", "command": "a", "env": {"TOKEN": "t"}}
    (folder / "roost.json").write_text(json.dumps({"hook": {"x": mine, "y": mine}}))
    loaded = inline(repository, x={"on": "session.post", "command": "b"})
    assert loaded.config.hook["x"] == HookConfig("session.post", "b")
    assert loaded.config.hook["y"].env == {"TOKEN": "t"}


def test_hooks_of_a_repository_wait_for_trust_in_exactly_their_bytes(repository: Path) -> None:
    (repository / "roost.json").write_text(
        '{"hook": {"x": {"on": "session.pre", "command": "touch marker"}}}'
    )
    file = repository / ".roost" / "plugins" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(PLUGIN)
    before = read(repository)
    assert before.config.hook == {}
    assert before.plugins == ()
    withheld = {(one.key, one.reason) for one in before.withheld}
    assert withheld == {("hook", "it runs programs"), ("plugins", "it runs code")}
    trust(repository)
    after = read(repository)
    assert after.config.hook["x"].command == "touch marker"
    assert [(one.path, one.data) for one in after.plugins] == [(str(file), PLUGIN.encode())]
    file.write_text(PLUGIN + "# more\n")
    assert read(repository).plugins == ()
    assert read(repository).config.hook == {}


def test_only_python_files_right_in_the_folder_are_plugins(repository: Path) -> None:
    folder = repository / ".roost" / "plugins"
    (folder / "deep").mkdir(parents=True)
    for name in ("b.py", "a.py", "_part.py", ".hidden.py", "x.pyc", "deep/c.py", "notes.md"):
        (folder / name).write_text(PLUGIN)
    foreign = repository / "sub" / ".opencode" / "plugins"
    foreign.mkdir(parents=True)
    (foreign / "d.py").write_text(PLUGIN)
    trust(repository)
    assert [Path(one.path).name for one in read(repository).plugins] == ["a.py", "b.py"]

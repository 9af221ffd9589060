"""The examples of docs/hooks.md, run as they stand there."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hook_stage import asked, post_stop, pre_stop, session_post, session_pre, step_post, step_pre

import roost.hooks.models as models
from roost.config.load import Place, load
from roost.config.paths import roost_paths
from roost.config.trust import TrustStore
from roost.hooks.matcher import BUILT_IN_AGENTS
from roost.hooks.models import HookReport
from roost.hooks.runner import HookPlace, Hooks, hook_place

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def repository(tmp_path: Path) -> HookPlace:
    """A trusted repository that holds every example."""
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    for name, text in EXAMPLES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    environ = {"ROOST_HOME": str(tmp_path / "roost")}
    paths = roost_paths(environ)
    where = Place(root, environ, paths, tmp_path / "nohome")
    project = load(where).project
    TrustStore(paths.trust_file).trust(project.root, project.digest)
    return hook_place(load(where), paths, root, dict(os.environ))


def test_the_examples_are_there() -> None:
    assert set(EXAMPLES) == {"roost.json", "check.sh", ".roost/plugins/review.py"}


def test_the_command_asks_for_a_report_until_there_is_one_or_twice(repository: HookPlace) -> None:
    async def work(hooks: Hooks) -> list[str]:
        reasons = [
            (await hooks.pre_stop(pre_stop(agent="build", iteration=n))).reason for n in range(3)
        ]
        (repository.directory / "REPORT.md").touch()
        reasons.append((await hooks.pre_stop(pre_stop(agent="general"))).reason)
        reasons.append((await hooks.pre_stop(pre_stop(agent="worker"))).reason)
        return reasons

    words = "There is no REPORT.md. Write down there what you changed and why."
    assert asked(repository, work) == [words, words, "", "", ""]


def test_the_plugin_asks_and_cancels(repository: HookPlace) -> None:
    async def work(hooks: Hooks) -> tuple[HookReport, ...]:
        left = "All done.\nTODO: the tests\n"
        reports = [
            await hooks.pre_stop(pre_stop(final_text=left)),
            await hooks.pre_stop(pre_stop(final_text=left, iteration=1)),
            await hooks.session_pre(session_pre()),
        ]
        (repository.directory / "FREEZE").write_text("Release day.\n")
        reports.append(await hooks.session_pre(session_pre()))
        return tuple(reports)

    reports = asked(repository, work)
    assert reports[0].reason == "You left this open, so please finish it: TODO: the tests"
    assert [one.reason for one in reports[1:]] == ["", "", ""]
    assert [one.refusal for one in reports[2:]] == ["", "Release day."]
    assert all(one.warnings == () for one in reports)


def test_every_field_and_every_built_in_agent_is_listed() -> None:
    told: tuple[Any, ...] = (
        *(pre_stop(), post_stop(), session_pre()),
        *(session_post(), step_pre(), step_post()),
    )
    for field in {field for one in told for field in one.__struct_fields__}:
        assert f"`{field}`" in PAGE
    for name in BUILT_IN_AGENTS:
        assert f"`{name}`" in PAGE
    assert models.PRE_STOP_LIMIT == models.POST_STOP_LIMIT == 3
    assert models.HOOK_SECONDS == 60

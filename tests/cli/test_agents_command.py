"""`roost agents`: what an actor can run as, where that is said, and what it may do."""

import json
from typing import Any

import pytest
from terminal_user import User


def configured(user: User, **settings: object) -> str:
    """Let this be the user's own configuration; gives its path."""
    folder = user.home / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roost.json").write_text(json.dumps(settings))
    return str(folder / "roost.json")


def listed(user: User) -> dict[str, dict[str, Any]]:
    done = user.call("agents", "--format", "json")
    assert done.code == 0, done.err
    return {one["name"]: one for one in json.loads(done.out)}


def row(user: User, name: str) -> list[str]:
    lines = user.call("agents").out.splitlines()
    return next(line.split() for line in lines if line.startswith(f"{name} "))


def test_agents_are_listed_with_what_they_may_do(user: User) -> None:
    done = user.call("agents")
    assert (done.code, done.out.splitlines()[0].split()) == (
        0, ["AGENT", "MODE", "FROM", "MAY", "WHAT"],
    )  # fmt: skip
    assert row(user, "build")[:7] == [
        "build", "primary", "built", "in", "edit,", "run?,", "fetch?",
    ]  # fmt: skip
    assert row(user, "explore")[:6] == [
        "explore", "subagent", "built", "in", "run~,", "fetch?",
    ]  # fmt: skip
    assert "?: asked about first" in done.err
    assert "~: only commands that change nothing" in done.err
    assert listed(user)["explore"]["tools"] == [
        "read", "glob", "grep", "bash", "webfetch", "memory", "history", "actor",
    ]  # fmt: skip


def test_rules_of_the_configuration_show_in_what_an_agent_may(user: User) -> None:
    configured(user, permission={"bash": "allow", "webfetch": "deny"})
    assert listed(user)["build"]["may"] == ["edit", "run"]
    assert "webfetch" not in listed(user)["build"]["tools"]


def test_an_agent_of_ones_own_is_shown_with_its_file_and_rules(user: User) -> None:
    file = configured(
        user,
        agent={
            "review": {
                "description": "Reads changes.",
                "mode": "subagent",
                "model": "test/scripted",
                "steps": 5,
                "prompt": "Read the change.\nSay what is wrong.",
                "permission": {"edit": "deny"},
            },
            "build": {"temperature": 0.2},
        },
    )
    assert row(user, "review")[1:6] == ["subagent", "test/scripted", "yours", "run?,", "fetch?"]
    assert row(user, "build")[2:6] == ["default", "built", "in", "+"]
    shown = user.call("agents", "show", "review").out
    for said in (
        "Reads changes.",
        "subagent: other actors start it",
        "model    test/scripted",
        "at most 5 model calls a turn",
        f"from     {file}",
        "  Say what is wrong.",
    ):
        assert said in shown
    assert ["edit", "*", "deny"] in [line.split() for line in shown.splitlines()]
    assert f"from     built in, {file}" in user.call("agents", "show", "build").out
    document = json.loads(user.call("agents", "show", "review", "--json").out)
    assert (document["sources"], document["builtIn"]) == ([file], False)
    assert document["rules"] == [{"permission": "edit", "pattern": "*", "action": "deny"}]


def test_agents_of_a_repository_wait_for_trust(user: User) -> None:
    folder = user.folder / ".roost" / "agents"
    folder.mkdir(parents=True)
    page = folder / "local.md"
    page.write_text("---\ndescription: Only here\n---\nBe brief.\n")
    waiting = user.call("agents")
    assert "local" not in waiting.out
    assert "not in force until you trust them (agent)" in waiting.err
    assert user.call("config", "trust").code == 0
    assert row(user, "local")[:3] == ["local", "all", "project"]
    assert str(page) in user.call("agents", "show", "local").out
    elsewhere = user.folder.parent / "elsewhere"
    elsewhere.mkdir()
    assert "local" not in user.call("agents", "--dir", str(elsewhere)).out


@pytest.mark.parametrize(("name", "guess"), [("biuld", "Did you mean `build`? "), ("", "")])
def test_an_agent_that_is_not_there_is_told_with_those_that_are(
    user: User, name: str, guess: str
) -> None:
    done = user.call("agents", "show", name)
    assert done.code == 2
    assert "there is no agent" in done.err
    assert f"  {guess}There are: build, explore, " in done.err

"""Slash commands over HTTP: from files and the configuration, with command lines, as subtasks."""

from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server, text_of

from roost.core.ids import new_id
from scripted_model.picture import Request
from scripted_model.scenario import Reply, reply


def page(folder: Path, name: str, body: str, **head: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"---\n{lines}---\n{body}\n" if head else body)


async def run(stage: Served, name: str, arguments: str = "", **more: Any) -> Any:
    session = more.pop("session", None) or await stage.session()
    body = {"command": name, "arguments": arguments, **more}
    return await stage.http.post(f"/session/{session}/command", json=body)


def heard(stage: Served) -> str:
    return stage.model.requests[-1].request.last_user_text


async def listed(stage: Served) -> dict[str, Any]:
    return {one["name"]: one for one in (await stage.http.get("/command")).json()}


def test_pages_of_the_user_and_the_project_are_commands(tmp_path: Path) -> None:
    page(tmp_path / "home/config/commands", "mine.md", "Mine: $1", description="my own")
    project = tmp_path / "project/.opencode/command"
    page(project, "git/commit.md", "Commit with @notes.md: $ARGUMENTS", description="commit")
    (tmp_path / "project" / "notes.md").write_text("be brief\n")

    async def check(stage: Served) -> None:
        known = await listed(stage)
        assert known["mine"]["description"] == "my own"
        assert known["mine"]["hints"] == ["$1"]
        assert known["git/commit"]["hints"] == ["$ARGUMENTS"]
        assert {"goal", "btw", "init", "greet"} <= set(known)
        answer = await run(stage, "git/commit", "the fix")
        assert text_of(answer.json()) == "pong"
        assert "Commit with @notes.md: the fix" in heard(stage)
        assert "be brief" in heard(stage)

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    ("name", "told"),
    [("gret", "Did you mean /greet?"), ("zzz", "there is no command /zzz."), ("/gret", "/greet")],
)
def test_an_unknown_command_names_those_that_may_be_meant(
    tmp_path: Path, name: str, told: str
) -> None:
    async def check(stage: Served) -> None:
        answer = await run(stage, name)
        assert answer.status_code == 400
        assert told in answer.text
        assert "/btw, /compact, /goal, /greet, /init" in answer.text
        assert stage.model.requests == []

    on_server(tmp_path, check)


def commands(**templates: str) -> dict[str, Any]:
    return {"command": {name: {"template": text} for name, text in templates.items()}}


def test_a_command_line_in_a_template_is_replaced_by_what_it_prints(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        (stage.project / "one.txt").write_text("$ARGUMENTS @one.txt !`id`\n")
        answer = await run(stage, "look", "one.txt")
        assert answer.status_code == 200, answer.text
        printed = "$ARGUMENTS @one.txt !`id`"
        assert heard(stage) == f"It holds: {printed}. Again: {printed}."
        messages = (
            await stage.http.get(f"/session/{answer.json()['info']['sessionID']}/message")
        ).json()
        assert [part["type"] for part in messages[0]["parts"]] == ["text"]

    look = 'It holds: !`cat $1`. Again: !`cat "$1"`.'
    on_server(tmp_path, check, config=commands(look=look))


def test_what_is_given_to_a_command_line_is_no_command(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        await run(stage, "say", "'a; touch made' $(touch made) `touch made`")
        assert "a; touch made $(touch made) `touch made`" in heard(stage)
        assert not (stage.project / "made").exists()

    on_server(tmp_path, check, config=commands(say="!`echo $ARGUMENTS`"))


def test_a_command_line_that_fails_says_so_and_long_output_is_cut(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        await run(stage, "fail")
        assert "[`ls nowhere-at-all` failed: exit code 2]" in heard(stage)
        assert "No such file" in heard(stage)
        (stage.project / "long.txt").write_text("begin" + "x" * 200_000 + "end")
        await run(stage, "long")
        assert len(heard(stage)) < 31_000
        assert heard(stage).startswith("begin")
        assert heard(stage).endswith("end")
        assert "characters left out" in heard(stage)

    on_server(tmp_path, check, config=commands(fail="!`ls nowhere-at-all`", long="!`cat long.txt`"))


def test_permission_rules_hold_for_command_lines_and_none_is_run_if_one_may_not(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        for name, told in [("asks", "nobody to ask"), ("denied", "not allowed")]:
            answer = await run(stage, name)
            assert answer.status_code == 403, answer.text
            assert f"the command /{name} runs `touch " in answer.text
            assert told in answer.text
        assert not (stage.project / "first").exists()
        assert stage.model.requests == []
        allowed = await run(stage, "allowed")
        assert allowed.status_code == 200, allowed.text
        assert (stage.project / "first").exists()
        empty = await run(stage, "empty")
        assert (empty.status_code, "/empty has nothing to say" in empty.text) == (400, True)

    config = {
        **commands(
            asks="!`touch first` !`touch second`",
            denied="!`touch third`",
            allowed="Go. !`touch first`",
            empty="!`true`",
        ),
        "permission": {"bash": {"touch first": "allow", "touch third": "deny"}},
    }
    on_server(tmp_path, check, config=config)


def test_a_command_that_is_sent_again_runs_its_command_lines_once(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        message_id = new_id("message")
        for _ in range(2):
            answer = await run(stage, "count", session=session, messageID=message_id)
            assert answer.status_code == 200, answer.text
        assert (stage.project / "count").read_text() == "x"

    config = {**commands(count="Go. !`printf x >> count`"), "permission": {"bash": "allow"}}
    on_server(tmp_path, check, config=config)


def test_an_untrusted_project_runs_nothing_and_chooses_no_agent(tmp_path: Path) -> None:
    project = tmp_path / "project/.roost/command"
    page(project, "run.md", "!`ls`", description="x")
    page(project, "choose.md", "Words.", agent="plan", model="other/model", subtask="true")

    async def check(stage: Served) -> None:
        known = await listed(stage)
        assert "run" not in known
        refused = await run(stage, "run")
        assert refused.status_code == 400
        assert "/run of " in refused.text
        assert "roost config trust" in refused.text
        assert {key: known["choose"].get(key) for key in ("agent", "model", "subtask")} == {
            "agent": None,
            "model": None,
            "subtask": None,
        }
        answer = await run(stage, "choose")
        assert answer.json()["info"]["agent"] == "build"

    on_server(tmp_path, check)


def test_the_agent_and_model_of_a_command_go_before_those_of_the_session(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        answer = await run(stage, "planned", agent="build", model="test/scripted")
        assert answer.json()["info"]["agent"] == "plan"
        other = await run(stage, "greet", "you", agent="plan")
        assert other.status_code == 200, other.text
        assert other.json()["info"]["agent"] == "plan"

    config = {
        "command": {
            "planned": {"template": "Plan it.", "agent": "plan"},
            "greet": {"template": "Hello."},
        }
    }
    on_server(tmp_path, check, config=config)


def echoes(request: Request) -> Reply:
    if request.results:
        return reply(f"It came to: {request.results[-1]}")
    return reply(f"did {request.last_user_text.splitlines()[0]}")


@pytest.mark.parametrize(
    ("head", "agent"),
    [
        ({"subtask": True}, "general"),
        ({"agent": "explore"}, "explore"),
        ({"agent": "explore", "subtask": True}, "explore"),
    ],
)
def test_a_command_that_is_a_subtask_is_carried_out_by_an_actor_of_its_own(
    tmp_path: Path, head: dict[str, Any], agent: str
) -> None:
    async def check(stage: Served) -> None:
        answer = await run(stage, "find", "the parser", agent="build")
        assert answer.status_code == 200, answer.text
        assert "did Find the parser" in text_of(answer.json())
        assert answer.json()["info"]["agent"] == "build"
        session = answer.json()["info"]["sessionID"]
        messages = (await stage.plain.get(f"/session/{session}/message")).json()
        (task,) = messages[0]["parts"]
        assert (task["type"], task["agent"], task["command"]) == ("subtask", agent, "find")
        assert stage.model.violations == []

    config = {"command": {"find": {"template": "Find $ARGUMENTS", **head}}}
    on_server(tmp_path, check, script=echoes, config=config)


def test_a_template_names_agents_and_folders_and_what_is_missing_is_told(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        (stage.project / "docs").mkdir()
        (stage.project / "docs" / "a.md").write_text("x")
        (stage.project / "b.py").write_text("one\ntwo\nthree\n")
        answer = await run(stage, "all", "@b.py#2-3")
        assert answer.status_code == 200, answer.text
        assert "The user mentions the agent explore" in heard(stage)
        assert "Content of the folder" in heard(stage)
        assert "Lines 2 to 3 of" in heard(stage)
        assert "@gone/x.py: nothing of that name" in heard(stage)

    template = "Let @explore look in @docs for @gone/x.py, and in $1."
    on_server(tmp_path, check, config=commands(all=template))

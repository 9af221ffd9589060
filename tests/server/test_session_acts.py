"""Sessions copied from their beginning, and what they are asked to write about a folder."""

from pathlib import Path

import pytest
from server_stage import Served, on_server, text_of

from roost.core.ids import new_id
from roost.runtime.forking import forked_title
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply, scenario, step


async def said(stage: Served, session_id: str) -> list[str]:
    return await stage.texts(session_id)


def echo(request: Request) -> Reply:
    return reply(f"You said {request.last_user_text.splitlines()[0]}.")


def test_a_fork_has_what_was_said_before_a_message_and_goes_its_own_way(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        old = await stage.session(title="Plans")
        second = new_id("message")
        await stage.prompt(old, "one")
        await stage.prompt(old, "two", messageID=second)
        made = await stage.http.post(f"/session/{old}/fork", json={"messageID": second})
        fork = made.json()
        assert fork["id"] != old
        assert (fork["title"], fork["directory"]) == ("Plans (fork #1)", str(stage.project))
        assert "parentID" not in fork
        assert await said(stage, fork["id"]) == ["one", "You said one."]
        assert text_of((await stage.prompt(fork["id"], "three")).json()) == "You said three."
        assert await said(stage, fork["id"]) == ["one", "You said one.", "three", "You said three."]
        assert (await said(stage, old))[2:] == ["two", "You said two."]
        sent = stage.model.requests[-1].request.messages
        assert [m.text for m in sent if m.role == "assistant"] == ["You said one."]
        assert stage.model.violations == []

    on_server(tmp_path, check, script=echo)


def test_a_fork_of_all_has_messages_of_its_own_that_answer_each_other(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        old = await stage.session()
        await stage.prompt(old, "one")
        fork = (await stage.http.post(f"/session/{old}/fork")).json()["id"]
        before = (await stage.http.get(f"/session/{old}/message")).json()
        after = (await stage.http.get(f"/session/{fork}/message")).json()
        assert after[1]["info"]["parentID"] == after[0]["info"]["id"]
        ids = [{one["info"]["id"] for one in messages} for messages in (before, after)]
        assert not ids[0] & ids[1]
        assert {one["info"]["sessionID"] for one in after} == {fork}
        assert {p["messageID"] for p in after[1]["parts"]} == {after[1]["info"]["id"]}

    on_server(tmp_path, check, script=echo)


def test_a_fork_leaves_the_changes_of_files_to_the_session_that_made_them(tmp_path: Path) -> None:
    script = scenario(Call("write", {"filePath": "new.txt", "content": "new\n"}), default="written")

    async def check(stage: Served) -> None:
        old = await stage.session(permission=[_rule("edit", "*", "allow")])
        await stage.prompt(old, "write")
        fork = (await stage.http.post(f"/session/{old}/fork")).json()
        assert fork["permission"] == [_rule("edit", "*", "allow")]
        messages = (await stage.http.get(f"/session/{fork['id']}/message")).json()
        await stage.http.post(
            f"/session/{fork['id']}/revert", json={"messageID": messages[0]["info"]["id"]}
        )
        assert (stage.project / "new.txt").read_text() == "new\n"
        assert (await stage.http.get(f"/session/{fork['id']}/diff")).json() == []

    on_server(tmp_path, check, script=script)


def _rule(permission: str, pattern: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}


def test_a_fork_from_an_unknown_message_is_refused(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        old = await stage.session()
        answer = await stage.http.post(f"/session/{old}/fork", json={"messageID": "msg_none"})
        assert answer.status_code == 404

    on_server(tmp_path, check)


@pytest.mark.parametrize(
    ("title", "forked"),
    [
        ("Plans", "Plans (fork #1)"),
        ("Plans (fork #1)", "Plans (fork #2)"),
        ("Plans (fork #9) (fork #41)", "Plans (fork #9) (fork #42)"),
    ],
)
def test_forks_are_counted_in_their_titles(title: str, forked: str) -> None:
    assert forked_title(title) == forked


def test_a_session_writes_the_instructions_of_a_folder_when_it_is_asked_to(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        body = {
            "providerID": "test",
            "modelID": "scripted",
            "messageID": (message_id := new_id("message")),
        }
        answer = await stage.http.post(f"/session/{session_id}/init", json=body)
        assert answer.json() is True
        asked, _ = (await stage.http.get(f"/session/{session_id}/message")).json()
        assert asked["info"]["id"] == message_id
        assert "AGENTS.md" in text_of(asked)
        listed = {one["name"]: one for one in (await stage.http.get("/command")).json()}
        assert listed["init"]["hints"] == ["$ARGUMENTS"]

    on_server(tmp_path, check)


def test_a_command_of_the_configuration_takes_the_place_of_one_that_is_built_in(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        body = {"command": "init", "arguments": "shortly"}
        await stage.http.post(f"/session/{session_id}/command", json=body)
        assert (await said(stage, session_id))[0] == "Write it my way, shortly."

    mine = {"command": {"init": {"template": "Write it my way, $ARGUMENTS."}}}
    on_server(tmp_path, check, script=scenario(step("done")), config=mine)

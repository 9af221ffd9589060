"""Undo over HTTP, in OpenCode's shapes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from server_stage import Served, served

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, worker, **more) as stage:
            await check(stage)

    asyncio.run(run())


def worker(request: Request) -> Reply:
    """Writes what a prompt `write NAME TEXT` asks for."""
    verb, *rest = request.last_user_text.splitlines()[-1].split()
    if request.results or verb != "write":
        return reply([Text("done")])
    call = Call("write", {"filePath": rest[0], "content": f"{rest[1]}\n"})
    return reply([Text("writing"), call])


async def asked(stage: Served, session_id: str, text: str) -> str:
    """Prompt, and give the id of the prompt's message."""
    answer = await stage.prompt(session_id, text)
    assert answer.status_code == 200, answer.text
    return answer.json()["info"]["parentID"]


def allowed() -> dict[str, Any]:
    return {"config": {"permission": "allow"}}


def test_a_session_tells_what_it_changed_and_takes_it_back(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http, session_id = stage.http, await stage.session()
        path = f"/session/{session_id}"
        assert (await http.get(f"{path}/diff")).json() == []
        first = await asked(stage, session_id, "write a.txt one")
        second = await asked(stage, session_id, "write a.txt two")
        (diff,) = (await http.get(f"{path}/diff")).json()
        assert diff == {
            "file": "a.txt",
            "additions": 1,
            "deletions": 0,
            "status": "added",
            "patch": "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+two\n",
        }
        (own,) = (await http.get(f"{path}/diff", params={"messageID": second})).json()
        assert (own["additions"], own["deletions"], own["status"]) == (1, 1, "modified")
        assert (await http.get(path)).json()["summary"] == {
            "additions": 1,
            "deletions": 0,
            "files": 1,
        }
        body = {"messageID": second}
        preview = (await http.post(f"{path}/revert/preview", json=body)).json()
        assert preview == {
            "messages": 3,
            "prompts": ["write a.txt two"],
            "files": [{"path": "a.txt", "action": "restored"}],
            "complete": True,
            "messageID": second,
        }
        assert (stage.project / "a.txt").read_text() == "two\n"
        reverted = (await http.post(f"{path}/revert", json=body)).json()
        assert reverted["id"] == session_id
        assert reverted["revert"]["messageID"] == second
        assert "-two\n+one\n" in reverted["revert"]["diff"]
        assert len(reverted["revert"]["snapshot"]) == 40
        assert (stage.project / "a.txt").read_text() == "one\n"
        (left,) = (await http.get(f"{path}/diff")).json()
        assert left["patch"].endswith("+one\n")
        further = (await http.post(f"{path}/revert", json={"messageID": first})).json()
        assert "summary" not in further
        assert not (stage.project / "a.txt").exists()
        back = (await http.post(f"{path}/unrevert/preview")).json()
        assert back["files"] == [{"path": "a.txt", "action": "created"}]
        whole = (await http.post(f"{path}/unrevert", json={})).json()
        assert "revert" not in whole
        assert (stage.project / "a.txt").read_text() == "two\n"
        assert (await http.post(f"{path}/unrevert")).json() == whole

    on_server(tmp_path, check, **allowed())


def test_the_next_prompt_takes_reverted_messages_out_of_every_list(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http, session_id = stage.http, await stage.session()
        path = f"/session/{session_id}"
        await asked(stage, session_id, "write a.txt one")
        second = await asked(stage, session_id, "write b.txt two")
        async with stage.events() as events:
            await http.post(f"{path}/revert", json={"messageID": second})
            seen = await _until(events, "session.diff")
            assert [one["file"] for one in seen[-1]["properties"]["diff"]] == ["a.txt"]
            await asked(stage, session_id, "hello")
            seen = await _until(events, "session.idle")
        kinds = [one["type"] for one in seen]
        assert kinds.count("message.removed") == 3
        gone = kinds.index("message.removed")
        said = next(
            at
            for at, one in enumerate(seen)
            if one["type"] == "message.updated" and one["properties"]["info"]["role"] == "user"
        )
        assert gone < said, "what is taken back goes before what is new comes"
        assert await stage.texts(session_id) == [
            "write a.txt one",
            "writing",
            "done",
            "hello",
            "done",
        ]
        assert "b.txt" not in stage.model.requests[-1].request.all_text

    on_server(tmp_path, check, **allowed())


async def _until(events: Any, kind: str) -> list[dict[str, Any]]:
    """The events up to the first of that kind."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(20):
        async for one in events:
            seen.append(one)
            if one["type"] == kind:
                return seen
    raise AssertionError(f"no {kind}")


def test_conflicts_are_named_in_the_answer_and_left_alone(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http, session_id = stage.http, await stage.session()
        path = f"/session/{session_id}"
        prompt = await asked(stage, session_id, "write a.txt one")
        (stage.project / "a.txt").write_text("mine\n")
        body = {"messageID": prompt}
        preview = (await http.post(f"{path}/revert/preview", json=body)).json()
        reason = "it was made, and somebody changed it since"
        assert preview["files"] == [{"path": "a.txt", "action": "conflict", "reason": reason}]
        assert preview["complete"] is False
        reverted = (await http.post(f"{path}/revert", json=body)).json()
        assert reverted["revert"]["left"] == [{"path": "a.txt", "reason": reason}]
        assert (stage.project / "a.txt").read_text() == "mine\n"

    on_server(tmp_path, check, **allowed())


def test_what_cannot_be_taken_back_is_refused_with_a_status(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        http, session_id = stage.http, await stage.session()
        path = f"/session/{session_id}"
        nowhere = await http.post(f"{path}/revert", json={"messageID": "msg_nowhere"})
        assert (nowhere.status_code, nowhere.json()["name"]) == (404, "NotFoundError")
        assert (await http.post(f"{path}/revert", json={})).status_code == 400
        assert (await http.post(f"{path}/unrevert/preview")).status_code == 404
        missing = await http.get(f"{path}/diff", params={"messageID": "msg_nowhere"})
        assert missing.status_code == 404
        prompt = await asked(stage, session_id, "write a.txt one")
        text = {"parts": [{"type": "text", "text": "hello"}]}
        stage.runtime.scheduler.wake = lambda *_: None  # it stays pending
        await http.post(f"{path}/prompt_async", json=text)
        busy = await http.post(f"{path}/revert", json={"messageID": prompt})
        assert (busy.status_code, busy.json()["name"]) == (409, "BusyError")
        assert session_id in busy.json()["data"]["message"]
        assert (stage.project / "a.txt").exists()

    on_server(tmp_path, check, **allowed())


def test_no_secret_is_shown_in_a_difference(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session(title="Keys")
        prompt = await asked(stage, session_id, "write key.txt sk-test-000")
        assert (stage.project / "key.txt").read_text() == "sk-test-000\n"
        path = f"/session/{session_id}"
        shown = (await stage.http.get(f"{path}/diff")).text
        reverted = (await stage.http.post(f"{path}/revert", json={"messageID": prompt})).text
        for text in (shown, reverted):
            assert "sk-test-000" not in text
            assert "[redacted" in text

    on_server(tmp_path, check, **allowed())

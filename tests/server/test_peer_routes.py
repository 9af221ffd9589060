"""A directed session over HTTP: found, read, prompted, stopped and answered like any other."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server_stage import Served, served, text_of

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply

TOUCH = Call("bash", {"command": "touch made.txt"})


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True)


class Lines:
    """The head directs one child, which says its lines in turn."""

    def __init__(self, *child: Any) -> None:
        self.child = list(child)
        self.begun = False

    def __call__(self, request: Request) -> Reply:
        if "child: " in "\n".join(request.user_texts[:1]):
            return reply(self.child.pop(0))
        if self.begun:
            return reply("Begun.")
        self.begun = True
        order = {"action": "create", "task": "child: go.", "title": "Child", "isolate": True}
        return reply(Call("session", {"operation": order}))


@asynccontextmanager
async def directing(folder: Path, *child: Any) -> AsyncIterator[tuple[Served, str, str]]:
    """A server, a session that directs, and the id of the one that it directs."""
    project = folder / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    async with served(folder, Lines(*child)) as stage:
        head = await stage.session(agent="orchestrator", title="Head")
        answer = await stage.prompt(head, "Direct.")
        assert answer.status_code == 200, answer.text
        (found,) = (await stage.http.get(f"/session/{head}/children")).json()
        assert found["parentID"] == head
        yield stage, head, found["id"]


async def until(check: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(20):
        while not (found := await check()):
            await asyncio.sleep(0.02)
        return found


def test_a_directed_session_is_a_session_like_any_other(tmp_path: Path) -> None:
    async def go() -> None:
        async with directing(tmp_path, "First.", "Second.") as (stage, head, child):

            async def rested() -> bool:
                return child not in (await stage.http.get("/session/status")).json()

            await until(rested)
            shown = (await stage.http.get(f"/session/{child}")).json()
            assert shown["directory"].startswith(str(tmp_path / "home" / "data" / "worktrees"))
            answer = (await stage.prompt(child, "And?")).json()
            assert text_of(answer) == "Second."
            messages = (await stage.http.get(f"/session/{child}/message")).json()
            assert [text_of(one) for one in messages][-3:] == ["First.", "And?", "Second."]
            assert not any("agentID" in one["info"] for one in messages)
            (actor,) = (await stage.http.get(f"/session/{child}/actors")).json()
            assert (actor["actorID"], actor["mode"], actor["fronts"]) == (child, "peer", True)
            turns = (await stage.http.get(f"/session/{child}/turns")).json()
            assert [turn["number"] for turn in turns] == [1, 2]
            # The folder of the child is one that the server accepts.
            listed = await stage.http.get("/session", params={"directory": shown["directory"]})
            assert [one["id"] for one in listed.json()] == [child]
            (head_child,) = (await stage.http.get(f"/session/{head}/children")).json()
            assert head_child["id"] == child

    asyncio.run(go())


def test_clients_of_the_directing_folder_see_the_child_and_can_stop_it(tmp_path: Path) -> None:
    async def go() -> None:
        waits = [Barrier("stay"), Text("Never said.")]
        async with directing(tmp_path, waits) as (stage, _, child), stage.events() as events:
            await asyncio.to_thread(stage.model.wait_for_barrier, "stay")
            statuses = (await stage.http.get("/session/status")).json()
            assert statuses[child] == {"type": "busy"}
            assert (await stage.http.post(f"/session/{child}/abort")).json() is True
            async with asyncio.timeout(20):
                async for event in events:
                    about = event["properties"]
                    if event["type"] == "session.idle" and about["sessionID"] == child:
                        break
            (turn,) = (await stage.http.get(f"/session/{child}/turns")).json()
            assert turn["outcome"] == "cancelled"

    asyncio.run(go())


def test_a_request_of_the_child_is_listed_and_answered_in_the_directing_session(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with directing(tmp_path, TOUCH, "Made.") as (stage, head, child):

            async def asked() -> Any:
                return (await stage.http.get("/permission")).json()

            (ask,) = await until(asked)
            assert (ask["sessionID"], ask["permission"]) == (child, "bash")
            other = await stage.session()
            path = f"permissions/{ask['id']}"
            wrong = await stage.http.post(f"/session/{other}/{path}", json={"response": "once"})
            assert wrong.status_code == 404
            done = await stage.http.post(f"/session/{head}/{path}", json={"response": "once"})
            assert done.status_code == 200
            late = await stage.http.post(f"/session/{child}/{path}", json={"response": "reject"})
            assert late.status_code == 409
            folder = Path((await stage.http.get(f"/session/{child}")).json()["directory"])

            async def made() -> bool:
                return (folder / "made.txt").exists()

            await until(made)

    asyncio.run(go())


def test_a_session_whose_child_holds_work_is_not_deleted_but_by_force(tmp_path: Path) -> None:
    async def go() -> None:
        write = Call("write", {"filePath": "new.txt", "content": "work"})
        async with directing(tmp_path, write, "Done.") as (stage, head, child):
            folder = Path((await stage.http.get(f"/session/{child}")).json()["directory"])

            async def rested() -> bool:
                return child not in (await stage.http.get("/session/status")).json()

            await until(rested)
            refused = await stage.http.delete(f"/session/{head}")
            assert refused.status_code == 409
            assert str(folder) in refused.text
            done = await stage.http.delete(f"/session/{head}", params={"force": "true"})
            assert done.status_code == 200
            assert (folder / "new.txt").exists()
            assert (await stage.http.get(f"/session/{child}")).status_code == 404

    asyncio.run(go())

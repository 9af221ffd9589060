"""Actors and their inboxes over HTTP: looked at, spoken to, stopped."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from server_stage import Served, served

from roost.actors import store as actors
from roost.actors.models import Actor
from roost.actors.send import send
from roost.actors.view import ActorView
from roost.core.clock import now_ms
from roost.inbox.models import Address, Letter, NoteBody
from roost.runtime.models import PromptInput
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Reply, Text, reply

CHILD = "explore-1"
REMINDER = re.compile(r"\n\n<system-reminder>.*?</system-reminder>", re.DOTALL)


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


def gated(request: Request) -> Reply:
    """Whoever is told to wait at a gate does; everybody says that it is done."""
    said = REMINDER.sub("", request.last_user_text)
    words = said.splitlines()[-1]
    if words.startswith("wait at "):
        return reply((Barrier(words.removeprefix("wait at ")), Text("done")))
    return reply(f"done: {words}")


async def add_child(stage: Served, session_id: str, **changes: Any) -> Address:
    """An actor below main that sleeps."""
    now = now_ms()
    child = Actor(
        session_id=session_id,
        actor_id=CHILD,
        mode="subagent",
        fronts=False,
        agent="general",
        lifecycle="ephemeral",
        status="idle",
        created=now,
        last_activity=now,
        parent=Address(session_id, "main"),
        description="look around",
        background=True,
        depth=1,
    )
    made = msgspec.structs.replace(child, **changes)
    await stage.runtime.database.write(lambda tx: actors.register(tx, made))
    return made.address


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"parts": [{"type": "text", "text": text}], **more}


async def idle(stage: Served, address: Address) -> Actor:
    return await stage.runtime.wait_idle(address.session_id, address.actor_id)


async def views(stage: Served, path: str) -> dict[str, ActorView]:
    """The actors that a route lists."""
    answer = await stage.http.get(path)
    assert answer.status_code == 200, answer.text
    found = msgspec.json.decode(answer.content, type=list[ActorView])
    return {one.actor_id: one for one in found}


def test_an_actor_is_prompted_looked_at_and_its_turns_are_listed(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        child = await add_child(stage, session_id)
        path = f"/session/{session_id}/actor/{CHILD}"
        left = await stage.http.post(f"{path}/message", json=words("find the door"))
        assert left.status_code == 200, left.text
        assert left.json()["new"] is True
        assert left.json()["messageID"].startswith("msg_")
        await idle(stage, child)
        shown = msgspec.json.decode((await stage.http.get(path)).content, type=ActorView)
        assert (shown.description, shown.outcome) == ("look around", "success")
        assert shown.result == "done: find the door"
        assert (shown.turns, shown.steps, shown.liveness) == (1, 1, "idle")
        (turn,) = (await stage.http.get(f"{path}/turn")).json()
        assert (turn["outcome"], turn["steps"]) == ("success", 1)
        assert turn["tokens"] > 0
        slice_ = await stage.http.get(f"/session/{session_id}/message", params={"agent_id": CHILD})
        assert [one["info"]["agentID"] for one in slice_.json()] == [CHILD, CHILD]
        await idle(stage, Address(session_id, "main"))
        everybody = await views(stage, f"/session/{session_id}/actor")
        assert list(everybody) == ["main", CHILD]

    on_server(tmp_path, check, script=gated)


def test_what_is_at_work_is_listed_for_all_folders_that_are_served(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        other = tmp_path / "elsewhere"
        other.mkdir()
        hidden = await stage.runtime.create_session(other)
        session_id = await stage.session()
        assert await views(stage, "/actor") == {}
        for one, gate in ((session_id, "gate"), (hidden.id, "door")):
            await stage.runtime.prompt(one, msgspec.convert(words(f"wait at {gate}"), PromptInput))
            await asyncio.to_thread(stage.model.wait_for_barrier, gate)
        at_work = await views(stage, "/actor")
        assert [view.session_id for view in at_work.values()] == [session_id]
        assert at_work["main"].liveness == "progressing"
        stage.model.release("gate")
        stage.model.release("door")

    on_server(tmp_path, check, script=gated)


def test_a_stop_of_the_session_leaves_the_background_alone_whose_news_waits_unwoken(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        child = await add_child(stage, session_id)
        main = Address(session_id, "main")
        await stage.http.post(
            f"/session/{session_id}/actor/{CHILD}/message", json=words("wait at child")
        )
        await stage.http.post(f"/session/{session_id}/prompt_async", json=words("wait at main"))
        for gate in ("child", "main"):
            await asyncio.to_thread(stage.model.wait_for_barrier, gate)
        assert (await stage.http.post(f"/session/{session_id}/abort")).json() is True
        await idle(stage, main)
        assert (await stage.runtime.actor(child)).status == "running"
        stage.model.release("child")
        await idle(stage, child)
        held = await stage.runtime.actor(main)
        assert (held.status, held.turns, held.held) == ("idle", 1, True)
        (news,) = await mail(stage, session_id, agent_id="main", state="queued")
        assert (news["kind"], news["wake"]) == ("notice", False)
        answer = (await stage.prompt(session_id, "go on")).json()
        assert answer["info"]["role"] == "assistant"
        heard = await stage.texts(session_id)
        assert any('"look around" (general explore-1)' in text for text in heard)
        assert await mail(stage, session_id, state="queued") == []

    on_server(tmp_path, check, script=gated)


async def mail(stage: Served, session_id: str, **query: str) -> list[dict[str, Any]]:
    """The mail of a session. `wake` and others that are as usual are filled in."""
    answer = await stage.http.get(f"/session/{session_id}/inbox", params=query)
    assert answer.status_code == 200, answer.text
    return [{"wake": True, **one} for one in answer.json()]


def test_a_stop_of_the_tree_stops_all_below(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        child = await add_child(stage, session_id)
        await stage.http.post(
            f"/session/{session_id}/actor/{CHILD}/message", json=words("wait at child")
        )
        await asyncio.to_thread(stage.model.wait_for_barrier, "child")
        aborted = await stage.http.post(f"/session/{session_id}/abort", params={"tree": "true"})
        assert aborted.json() is True
        await idle(stage, child)
        turns = await stage.http.get(f"/session/{session_id}/actor/{CHILD}/turn")
        assert [turn["outcome"] for turn in turns.json()] == ["cancelled"]

    on_server(tmp_path, check, script=gated)


def test_one_actor_is_stopped_once_and_its_parent_hears_of_it(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        child = await add_child(stage, session_id)
        path = f"/session/{session_id}/actor/{CHILD}"
        assert (await stage.http.post(f"{path}/abort")).json() is False
        await stage.http.post(f"{path}/message", json=words("wait at child"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "child")
        stopped = await stage.http.post(f"{path}/abort", params={"mode": "forced"})
        assert stopped.json() is True
        await idle(stage, child)
        view = (await stage.http.get(path)).json()
        assert view["outcome"] == "cancelled"
        assert view["notice"]["notice"] == "cancelled"
        wrong = await stage.http.post(f"{path}/abort", params={"mode": "gently"})
        assert wrong.status_code == 400

    on_server(tmp_path, check, script=gated)


def test_an_actor_that_is_not_there_is_a_404(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/actor/nobody-1"
        answers = [
            await stage.http.get(path),
            await stage.http.get(f"{path}/turn"),
            await stage.http.post(f"{path}/abort"),
            await stage.http.post(f"{path}/message", json=words("hello")),
            await stage.http.post(
                f"/session/{session_id}/inbox", json=words("hello", actorID="nobody-1")
            ),
            await stage.http.get(f"/session/{session_id}/inbox", params={"agent_id": "nobody-1"}),
            await stage.http.delete("/inbox/inb_none"),
        ]
        assert [answer.status_code for answer in answers] == [404] * len(answers)
        assert "nobody-1" in answers[0].json()["data"]["message"]

    on_server(tmp_path, check)


def test_words_are_left_in_an_inbox_listed_by_state_and_taken_back(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await stage.http.post(f"/session/{session_id}/prompt_async", json=words("wait at main"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "main")
        sent = await stage.http.post(f"/session/{session_id}/inbox", json=words("and this"))
        assert (sent.json()["kind"], sent.json()["state"]) == ("prompt", "queued")
        child = await add_child(stage, session_id)
        to_child = Letter(receiver=child, kind="message", body=NoteBody("psst"), wake=False)
        await stage.runtime.database.write(lambda tx: send(tx, to_child))
        queued = await mail(stage, session_id, state="queued")
        assert [one["kind"] for one in queued] == ["prompt", "message"]
        assert [one["id"] for one in await mail(stage, session_id, agent_id=CHILD)] == [
            queued[1]["id"]
        ]
        taken = await stage.http.delete(f"/inbox/{sent.json()['id']}")
        assert taken.json()["id"] == sent.json()["id"]
        again = await stage.http.delete(f"/inbox/{sent.json()['id']}")
        assert again.status_code == 409
        assert [one["id"] for one in await mail(stage, session_id, state="rejected")] == [
            sent.json()["id"]
        ]
        assert len(await mail(stage, session_id, limit="1")) == 1
        stage.model.release("main")

    on_server(tmp_path, check, script=gated)

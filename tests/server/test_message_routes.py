"""Messages over HTTP: pages, single ones, changes while the actor sleeps."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from server_stage import Served, served, text_of

from scripted_model.scenario import Barrier, scenario, step


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


def test_pages_of_any_size_join_to_the_whole(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        for number in range(3):
            await stage.prompt(session_id, f"question {number}")
        await stage.prompt(session_id, "later", noReply=True)
        path = f"/session/{session_id}/message"
        whole = (await stage.http.get(path)).json()
        assert [message["info"]["role"] for message in whole] == ["user", "assistant"] * 3 + [
            "user"
        ]
        for size in range(1, 9):
            joined: list[dict[str, Any]] = []
            query: dict[str, Any] = {"limit": size}
            while True:
                answer = await stage.http.get(path, params=query)
                joined = answer.json() + joined
                if (cursor := answer.headers.get("x-next-cursor")) is None:
                    break
                assert f"before={cursor}" in answer.headers["link"]
                assert answer.headers["link"].endswith('rel="next"')
                query["before"] = cursor
            assert joined == whole, size

    on_server(tmp_path, check)


def test_a_wrong_cursor_is_refused(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id, other = await stage.session(), await stage.session()
        await stage.prompt(other, "ping")
        foreign = await stage.http.get(f"/session/{other}/message", params={"limit": 1})
        path = f"/session/{session_id}/message"
        for before, status in (
            ("%%%", 400),
            ("bm9uZQ", 404),
            (foreign.headers["x-next-cursor"], 404),
        ):
            answer = await stage.http.get(path, params={"limit": 1, "before": before})
            assert answer.status_code == status, before
        alone = await stage.http.get(path, params={"before": "bm9uZQ"})
        assert alone.status_code == 400

    on_server(tmp_path, check)


def test_one_message_is_read_and_deleted(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = (await stage.prompt(session_id, "ping")).json()
        path = f"/session/{session_id}/message/{answer['info']['id']}"
        assert (await stage.http.get(path)).json() == answer
        assert text_of(answer) == "pong"
        other = await stage.session()
        wrong = await stage.http.get(f"/session/{other}/message/{answer['info']['id']}")
        assert wrong.status_code == 404
        assert (await stage.http.delete(path)).json() is True
        assert (await stage.http.get(path)).status_code == 404
        assert (await stage.http.delete(path)).status_code == 404

    on_server(tmp_path, check)


def test_a_part_is_replaced_and_deleted(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        answer = (await stage.prompt(session_id, "ping")).json()
        part = next(part for part in answer["parts"] if part["type"] == "text")
        path = f"/session/{session_id}/message/{answer['info']['id']}/part/{part['id']}"
        changed = {**part, "text": "PONG"}
        assert (await stage.http.patch(path, json=changed)).json() == changed
        assert await stage.texts(session_id) == ["ping", "PONG"]
        for wrong in (
            {**changed, "id": "prt_other"},
            {**changed, "sessionID": "ses_other"},
            {**changed, "type": "reasoning"},
            {**changed, "time": {"start": 1}},
        ):
            assert (await stage.http.patch(path, json=wrong)).status_code == 400, wrong
        assert (await stage.http.delete(path)).json() is True
        assert (await stage.http.delete(path)).status_code == 404
        assert await stage.texts(session_id) == ["ping", ""]

    on_server(tmp_path, check)


def test_nothing_is_changed_under_a_working_actor(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        first = (await stage.prompt(session_id, "one")).json()
        waiting = asyncio.create_task(stage.prompt(session_id, "two"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        part = next(part for part in first["parts"] if part["type"] == "text")
        path = f"/session/{session_id}/message/{first['info']['id']}"
        for answer in (
            await stage.http.delete(path),
            await stage.http.delete(f"{path}/part/{part['id']}"),
            await stage.http.patch(f"{path}/part/{part['id']}", json=part),
        ):
            assert answer.status_code == 409
            assert answer.json()["name"] == "BusyError"
        stage.model.release("gate")
        assert (await waiting).status_code == 200
        assert (await stage.http.delete(path)).status_code == 200

    on_server(tmp_path, check, script=scenario("first", step(Barrier("gate"), "second")))


def test_a_message_that_streams_is_read_with_all_that_clients_have_heard(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            waiting = asyncio.create_task(stage.prompt(session_id, "one"))
            heard = ""
            while not heard.endswith("thought."):
                event = await anext(events)
                if event["type"] == "message.part.delta":
                    heard += event["properties"]["delta"]
            path = f"/session/{session_id}/message"
            last = (await stage.http.get(path)).json()[-1]
            alone = (await stage.http.get(f"{path}/{last['info']['id']}")).json()
        assert text_of(last) == text_of(alone) == heard == "As far as I thought."
        stage.model.release("gate")
        assert text_of((await waiting).json()) == "As far as I thought. And on."

    script = scenario(step("As far as I thought.", Barrier("gate"), " And on."))
    on_server(tmp_path, check, script=script)

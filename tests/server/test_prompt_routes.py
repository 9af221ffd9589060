"""Prompts over HTTP: answered, steered, sent twice, sent in a burst, and left behind."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from server_stage import Served, served, text_of

from roost.core.ids import new_id
from scripted_model.scenario import Barrier, Delay, Status, scenario, step

GATED = scenario(step(Barrier("gate"), "first"), default="next")


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"parts": [{"type": "text", "text": text}], **more}


async def idle(stage: Served) -> None:
    async with asyncio.timeout(20):
        while (await stage.http.get("/session/status")).json():
            await asyncio.sleep(0.02)


def test_an_answer_is_the_message_that_ends_the_turn(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        message_id, part_id = new_id("message"), new_id("part")
        given = {
            "messageID": message_id,
            "agent": "build",
            "model": {"providerID": "test", "modelID": "scripted"},
            "parts": [{"id": part_id, "type": "text", "text": "ping"}],
        }
        answer = await stage.http.post(f"/session/{session_id}/message", json=given)
        info = answer.json()["info"]
        assert (info["role"], info["parentID"], info["finish"]) == ("assistant", message_id, "stop")
        assert info["time"]["completed"] >= info["time"]["created"]
        asked, _ = (await stage.http.get(f"/session/{session_id}/message")).json()
        assert asked["info"]["id"] == message_id
        assert asked["parts"][0]["id"] == part_id

    on_server(tmp_path, check)


def test_a_busy_actor_refuses_a_prompt_if_that_is_wished_and_hears_one_that_is_left(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        waiting = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        path = f"/session/{session_id}/message?busy=refuse"
        refused = await stage.http.post(path, json=body("two"))
        assert refused.status_code == 409
        assert refused.json()["name"] == "BusyError"
        left = await stage.http.post(f"/session/{session_id}/prompt_async", json=body("three"))
        assert (left.status_code, left.content) == (204, b"")
        assert await stage.texts(session_id) == ["one", "", "three"]
        stage.model.release("gate")
        assert text_of((await waiting).json()) == "next"
        assert await stage.texts(session_id) == ["one", "first", "three", "next"]
        assert stage.model.violations == []

    on_server(tmp_path, check, script=GATED)


def test_a_prompt_that_waits_on_a_busy_actor_is_shown_at_once_and_answered_with_its_turn(
    tmp_path: Path,
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        first = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        async with stage.events() as events:
            second = asyncio.create_task(stage.prompt(session_id, "two"))
            async for event in events:
                if event["type"] == "message.part.updated":
                    assert event["properties"]["part"]["text"] == "two"
                    break
        assert await stage.texts(session_id) == ["one", "", "two"]
        stage.model.release("gate")
        assert text_of((await first).json()) == text_of((await second).json()) == "next"
        assert await stage.texts(session_id) == ["one", "first", "two", "next"]

    on_server(tmp_path, check, script=GATED)


def test_the_same_message_id_twice_is_one_prompt(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        given = body("one", messageID=new_id("message"))
        path = f"/session/{session_id}/message"
        first = asyncio.create_task(stage.http.post(path, json=given))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        again = asyncio.create_task(stage.http.post(path, json=given))
        assert (await stage.http.post(path, json={**given, **body("other")})).status_code == 409
        await asyncio.sleep(0.05)
        stage.model.release("gate")
        assert (await first).json() == (await again).json()
        later = await stage.http.post(path, json=given)
        assert later.json() == (await first).json()
        left = await stage.http.post(f"/session/{session_id}/prompt_async", json=given)
        assert left.status_code == 204
        await idle(stage)
        assert await stage.texts(session_id) == ["one", "first"]
        assert len(stage.model.requests) == 1

    on_server(tmp_path, check, script=GATED)


def test_a_burst_keeps_its_order_and_is_answered_whole(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/prompt_async"
        words = [f"word {number}" for number in range(100)]
        for word in words:
            assert (await stage.http.post(path, json=body(word))).status_code == 204
        stage.model.release("gate")
        await idle(stage)
        messages = (await stage.http.get(f"/session/{session_id}/message")).json()
        heard = [text_of(one) for one in messages if one["info"]["role"] == "user"]
        assert heard == words
        mail = (await stage.http.get(f"/session/{session_id}/inbox")).json()
        assert [row["state"] for row in mail] == ["delivered"] * 100
        assert stage.model.violations == []

    on_server(tmp_path, check, script=GATED, prompts_per_minute=0)


def test_two_clients_at_once_lose_nothing(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/prompt_async"

        async def send(name: str) -> list[str]:
            words = [f"{name}{number}" for number in range(20)]
            async with stage.client(Authorization=f"Bearer {stage.place.token}") as client:
                for word in words:
                    assert (await client.post(path, json=body(word))).status_code == 204
            return words

        sent = await asyncio.gather(send("a"), send("b"))
        stage.model.release("gate")
        await idle(stage)
        messages = (await stage.http.get(f"/session/{session_id}/message")).json()
        heard = [text_of(one) for one in messages if one["info"]["role"] == "user"]
        assert sorted(heard) == sorted(sent[0] + sent[1])
        for words in sent:
            assert [word for word in heard if word in words] == words

    on_server(tmp_path, check, script=GATED, prompts_per_minute=0)


def test_too_many_prompts_are_told_when_to_come_back(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/prompt_async"
        answers = [
            (await stage.http.post(path, json=body(f"word {number}"))) for number in range(22)
        ]
        assert [answer.status_code for answer in answers] == [204] * 20 + [429] * 2
        refused = answers[-1]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["name"] == "LimitError"
        stage.model.release("gate")
        await idle(stage)
        messages = (await stage.http.get(f"/session/{session_id}/message")).json()
        assert sum(one["info"]["role"] == "user" for one in messages) == 20
        assert (await stage.prompt(session_id, "waiting is free")).status_code == 200

    on_server(tmp_path, check, script=GATED)


def test_blanks_come_while_an_answer_takes_long(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/message"
        async with stage.http.stream("POST", path, json=body("one")) as response:
            assert response.status_code == 200
            data = b"".join([piece async for piece in response.aiter_raw()])
        blanks = len(data) - len(data.lstrip(b" "))
        assert blanks >= 3
        assert text_of(httpx2.Response(200, content=data).json()) == "slow"

    script = scenario(step(Delay(0.5), "slow"))
    on_server(tmp_path, check, script=script, heartbeat=0.1)


def test_a_turn_that_fails_is_answered_with_its_error(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        answer = await stage.prompt(await stage.session(), "ping")
        assert answer.status_code == 200
        assert answer.json()["info"]["error"]["name"] in {"ProviderAuthError", "APIError"}

    on_server(tmp_path, check, script=scenario(Status(401)))


def test_a_model_that_is_not_there_is_a_400(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        model = {"providerID": "nobody", "modelID": "nothing"}
        answer = await stage.prompt(session_id, "ping", model=model)
        assert answer.status_code == 400
        assert "nobody" in answer.json()["data"]["message"]
        assert await stage.texts(session_id) == []

    on_server(tmp_path, check)


async def cut_off(stage: Served, session_id: str, **query: str) -> None:
    """Prompt, and go away before the answer."""
    async with stage.client(Authorization=f"Bearer {stage.place.token}") as client:
        path = f"/session/{session_id}/message"
        waiting = asyncio.create_task(client.post(path, json=body("one"), params=query))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def test_a_client_that_goes_away_only_detaches(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await cut_off(stage, session_id)
        await asyncio.sleep(0.2)
        assert (await stage.http.get("/session/status")).json() == {session_id: {"type": "busy"}}
        stage.model.release("gate")
        await idle(stage)
        assert await stage.texts(session_id) == ["one", "first"]

    on_server(tmp_path, check, script=GATED)


def test_a_client_that_asked_for_it_takes_its_turn_along(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await cut_off(stage, session_id, on_disconnect="cancel")
        await idle(stage)
        turn = (await stage.http.get(f"/session/{session_id}/turns")).json()[0]
        assert turn["outcome"] == "cancelled"
        assert (await stage.texts(session_id))[0] == "one"

    on_server(tmp_path, check, script=GATED)


def test_what_is_queued_can_be_edited_and_taken_back(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        waiting = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        for word in ("two", "three", "four"):
            await stage.http.post(f"/session/{session_id}/prompt_async", json=body(word))
        queue = f"/session/{session_id}/queue"
        rows = (await stage.http.get(queue)).json()
        assert [row["body"]["parts"][0]["text"] for row in rows] == ["two", "three", "four"]
        edited = await stage.http.patch(f"{queue}/{rows[0]['id']}", json=body("TWO"))
        assert edited.json()["body"]["parts"][0]["text"] == "TWO"
        taken = await stage.http.delete(f"{queue}/{rows[1]['id']}")
        assert taken.status_code == 200
        message = rows[2]["body"]["messageID"]
        assert (await stage.http.delete(f"/session/{session_id}/message/{message}")).json() is True
        other = await stage.session()
        wrong = await stage.http.delete(f"/session/{other}/queue/{rows[0]['id']}")
        assert wrong.status_code == 404
        stage.model.release("gate")
        await waiting
        await idle(stage)
        assert await stage.texts(session_id) == ["one", "first", "TWO", "next"]
        late = await stage.http.delete(f"{queue}/{rows[0]['id']}")
        assert late.status_code == 409
        late = await stage.http.patch(f"{queue}/{rows[0]['id']}", json=body("x"))
        assert late.status_code == 409

    on_server(tmp_path, check, script=GATED)


def test_a_command_fills_its_template(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            path = f"/session/{session_id}/command"
            given = {"command": "greet", "arguments": '"big world" now'}
            answer = await stage.http.post(path, json=given)
            assert text_of(answer.json()) == "pong"
            async for event in events:
                if event["type"] == "command.executed":
                    break
        assert event["properties"]["name"] == "greet"
        said = (await stage.texts(session_id))[0]
        assert said == 'Say hello to big world now, then: "big world" now'
        unknown = await stage.http.post(path, json={"command": "nope", "arguments": ""})
        assert unknown.status_code == 400
        assert "greet" in unknown.json()["data"]["hint"]

    on_server(tmp_path, check)


def test_a_command_that_is_sent_again_is_executed_and_told_once(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}/command"
        given = {"command": "greet", "arguments": "you", "messageID": new_id("message")}
        async with stage.events() as events:
            first = (await stage.http.post(path, json=given)).json()
            again = (await stage.http.post(path, json=given)).json()
            assert first == again
            assert (await stage.prompt(session_id, "the end")).status_code == 200
            told: list[str] = []
            async for event in events:
                told.append(event["type"])
                if told.count("session.idle") == 2:
                    break
        assert told.count("command.executed") == 1

    on_server(tmp_path, check)


def test_a_prompt_without_reply_is_stored_and_answered_with_itself(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        stored = (await stage.prompt(session_id, "note this", noReply=True)).json()
        assert stored["info"]["role"] == "user"
        assert text_of(stored) == "note this"
        assert len(stage.model.requests) == 0
        await stage.prompt(session_id, "now answer")
        assert await stage.texts(session_id) == ["note this", "now answer", "pong"]

    on_server(tmp_path, check)


def test_state_is_released_when_a_turn_fails(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        await stage.prompt(session_id, "one")
        assert (await stage.http.get("/session/status")).json() == {}
        assert text_of((await stage.prompt(session_id, "two")).json()) == "well again"

    script = scenario(step(Status(400)), "well again", scope="server")
    on_server(tmp_path, check, script=script)


def test_health_answers_at_once_while_others_wait(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        waiting = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        start = time.monotonic()
        assert (await stage.http.get("/global/health")).json()["healthy"] is True
        assert time.monotonic() - start < 0.1
        stage.model.release("gate")
        await waiting

    on_server(tmp_path, check, script=GATED)


def test_prompts_with_ids_that_sort_wrongly_are_listed_and_sorted_alike(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        path = f"/session/{session_id}"
        old = "msg_000000000000abcdefghijklmn"
        waiting = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        for text, chosen in (("two", old), ("three", "msg_1"), ("four", "msg_zzz")):
            given = body(text, messageID=chosen)
            answer = await stage.http.post(f"{path}/prompt_async", json=given)
            assert answer.status_code == 204, answer.text
            again = await stage.http.post(f"{path}/prompt_async", json=given)
            assert again.status_code == 204, again.text
        listed = (await stage.http.get(f"{path}/message")).json()
        ids = [message["info"]["id"] for message in listed]
        assert ids == sorted(ids)
        assert [text_of(message) for message in listed][-3:] == ["two", "three", "four"]
        assert (await stage.http.delete(f"{path}/message/{ids[-1]}")).json() is True
        stage.model.release("gate")
        await waiting
        answer = await stage.http.post(f"{path}/message", json=body("two", messageID=old))
        assert text_of(answer.json()) == "next"
        assert await stage.texts(session_id) == ["one", "first", "two", "three", "next"]

    on_server(tmp_path, check, script=GATED)

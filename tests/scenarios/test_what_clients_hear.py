"""What clients hear while a prompt is worked on: refusals, errors, states, and who is busy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from cast import report, spawn
from server_stage import Served, on_server, text_of

from scripted_model.picture import Request
from scripted_model.scenario import (
    Barrier,
    Call,
    Drop,
    Reply,
    Said,
    Scenario,
    Status,
    Text,
    reply,
    scenario,
    step,
)

pytestmark = pytest.mark.scenario
Events = list[dict[str, Any]]
ALLOWED: dict[str, Any] = {"permission": "allow", "limits": {"retry_wait": 0.01}}


async def until(
    events: AsyncIterator[dict[str, Any]], fits: Callable[[dict[str, Any]], bool]
) -> Events:
    """All events up to the first that fits."""
    seen: Events = []
    async with asyncio.timeout(20):
        async for event in events:
            seen.append(event)
            if fits(event):
                return seen
    raise AssertionError("it never came")


def ends(session_id: str) -> Callable[[dict[str, Any]], bool]:
    def is_end(event: dict[str, Any]) -> bool:
        about = event["properties"]
        return event["type"] == "session.idle" and about["sessionID"] == session_id

    return is_end


def states(events: Events, session_id: str) -> list[str]:
    """The states of a session, in order."""
    found = [e["properties"] for e in events if e["type"] == "session.status"]
    return [about["status"]["type"] for about in found if about["sessionID"] == session_id]


async def leave(stage: Served, session_id: str, text: str, **more: Any) -> int:
    """Leave a prompt; the status of the answer, which comes before anything was done about it."""
    body = {"parts": [{"type": "text", "text": text}], **more}
    answer = await stage.http.post(f"/session/{session_id}/prompt_async", json=body)
    return answer.status_code


def test_what_becomes_of_a_prompt_that_was_left_is_told_by_events_alone(tmp_path: Path) -> None:
    script = scenario(step(Barrier("gate"), Status(401)), "Well.")

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            assert await leave(stage, session_id, "go") == 204
            await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
            stage.model.release("gate")
            seen = await until(events, ends(session_id))
            (error,) = (e["properties"] for e in seen if e["type"] == "session.error")
            assert error["sessionID"] == session_id
            assert error["error"]["name"] == "ProviderAuthError"
            last = [e["properties"]["info"] for e in seen if e["type"] == "message.updated"][-1]
            assert last["error"] == error["error"]
            assert states(seen, session_id) == ["busy", "idle"]
            assert await leave(stage, session_id, "again") == 204
            seen = await until(events, ends(session_id))
            assert "session.error" not in {event["type"] for event in seen}

    on_server(tmp_path, check, script=script, config=ALLOWED)


WRONG: dict[str, dict[str, Any]] = {
    "no words": {"parts": [{"type": "text", "text": " \n"}]},
    "no parts": {"parts": []},
    "an agent that is not there": {"agent": "nobody"},
    "an agent for children": {"agent": "explore"},
    "a model that is not there": {"model": {"providerID": "nobody", "modelID": "x"}},
    "a file that is not there": {
        "parts": [{"type": "file", "mime": "text/plain", "url": "file:///no/such/file"}]
    },
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_prompt_that_cannot_be_meant_is_refused_and_leaves_nothing(
    tmp_path: Path, wrong: str
) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        for path in ("message", "prompt_async"):
            body = {"parts": [{"type": "text", "text": "go"}], **WRONG[wrong]}
            answer = await stage.http.post(f"/session/{session_id}/{path}", json=body)
            assert answer.status_code == 400, answer.text
            assert answer.json()["data"]["message"]
        assert await stage.texts(session_id) == []
        assert (await stage.http.get(f"/session/{session_id}/inbox")).json() == []
        assert (await stage.http.get(f"/session/{session_id}/turns")).json() == []
        assert stage.model.requests == []

    on_server(tmp_path, check)


def test_words_that_come_during_a_step_are_in_the_next_request_and_what_it_answers(
    tmp_path: Path,
) -> None:
    script = scenario(
        step(Text("Looking."), Barrier("gate"), Call("bash", {"command": "echo hi"})), "Both."
    )

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        first = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        second = asyncio.create_task(stage.prompt(session_id, "two"))
        await queued(stage, session_id)
        stage.model.release("gate")
        assert text_of((await first).json()) == text_of((await second).json()) == "Both."
        asked, told = (record.request for record in stage.model.requests)
        assert asked.user_texts == ("one",)
        one, two = told.user_texts
        assert (one, two.partition("\n")[0]) == ("one", "two")
        assert "came while you were at work" in two
        messages = (await stage.http.get(f"/session/{session_id}/message")).json()
        infos = [one["info"] for one in messages]
        answers = [info for info in infos if info["role"] == "assistant"]
        prompts = [one["info"]["id"] for one in messages if text_of(one) in {"one", "two"}]
        assert [info["parentID"] for info in answers] == prompts
        assert [info["id"] for info in infos][:3] == [prompts[0], answers[0]["id"], prompts[1]]
        assert infos[-1] == answers[-1]
        assert len((await stage.http.get(f"/session/{session_id}/turns")).json()) == 1

    on_server(tmp_path, check, script=script, config=ALLOWED)


async def queued(stage: Served, session_id: str) -> None:
    """Until a prompt waits in the queue."""
    async with asyncio.timeout(20):
        while not await stage.runtime.queue(session_id):
            await asyncio.sleep(0.01)


class Family:
    """Main starts a child in the background and ends; the child is held up, then reports."""

    def __init__(self, *child: Said) -> None:
        self._child = list(child)

    def __call__(self, request: Request) -> Reply:
        if any("one: " in text for text in request.user_texts):
            return reply(self._child.pop(0) if self._child else report())
        steps = sum(message.role == "assistant" for message in request.messages)
        return reply([spawn("one"), "At work.", "Heard."][steps])


def test_a_session_is_idle_when_main_has_ended_although_a_child_works_on(tmp_path: Path) -> None:
    family = Family([Barrier("gate"), Text(report())])

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            await leave(stage, session_id, "go")
            await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
            seen = await until(events, ends(session_id))
            assert states(seen, session_id) == ["busy", "idle"]
            assert (await stage.http.get("/session/status")).json() == {}
            stage.model.release("gate")
            seen = await until(events, ends(session_id))
            assert states(seen, session_id) == ["busy", "idle"], "its news wakes main"
            own = [e["properties"] for e in seen if e["type"] == "actor.status"]
            child = [one["status"]["type"] for one in own if one["actorID"] == "general-1"]
            assert child == ["idle"]
        assert (await stage.texts(session_id))[-1] == "Heard."

    on_server(tmp_path, check, script=family, config=ALLOWED)


def test_what_a_child_tries_again_is_its_own_state_and_no_error_of_its_session(
    tmp_path: Path,
) -> None:
    family = Family(Status(429, {"retry-after": "0"}), [Text("half"), Drop()])

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events() as events:
            await leave(stage, session_id, "go")
            seen = await until(events, ends(session_id))
            if (await stage.texts(session_id))[-1] != "Heard.":
                seen += await until(events, ends(session_id))
        assert set(states(seen, session_id)) == {"busy", "idle"}
        own = [e["properties"] for e in seen if e["type"] == "actor.status"]
        child = [one["status"]["type"] for one in own if one["actorID"] == "general-1"]
        assert child.count("retry") == 2
        assert child[-1] == "idle"
        assert "session.error" not in {event["type"] for event in seen}
        assert (await stage.texts(session_id))[-1] == "Heard."

    on_server(tmp_path, check, script=family, config=ALLOWED)


def test_a_stop_ends_the_call_then_the_message_then_the_work(tmp_path: Path) -> None:
    script: Scenario = scenario(Call("bash", {"command": "touch begun; sleep 60"}))

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            await leave(stage, session_id, "go")
            begun = stage.project / "begun"
            await asyncio.to_thread(stage.model.wait_until, begun.exists)
            assert (await stage.http.post(f"/session/{session_id}/abort")).json() is True
            seen = await until(events, ends(session_id))
        assert states(seen, session_id) == ["busy", "idle"]
        failed = max(at for at, event in enumerate(seen) if state_of(event) == "error")
        closed = max(at for at, one in enumerate(seen) if error_of(one) == "MessageAbortedError")
        idle = next(at for at, one in enumerate(seen) if "idle" in states([one], session_id))
        assert failed < closed < idle
        messages = (await stage.http.get(f"/session/{session_id}/message")).json()
        (tool,) = [p for p in messages[-1]["parts"] if p["type"] == "tool"]
        assert tool["state"]["status"] == "error"
        assert "It may have had effects" in tool["state"]["error"]

    on_server(tmp_path, check, script=script, config=ALLOWED)


def test_a_fast_and_a_slow_client_end_with_what_is_stored(tmp_path: Path) -> None:
    words = " ".join(str(number * 7_919 % 10_007) for number in range(3_000))
    script = scenario(step(Text(words, size=5)))

    async def follow(stage: Served, session_id: str, pause: float) -> dict[str, str]:
        shown: dict[str, str] = {}
        async with stage.events(client=stage.plain) as events:
            ready.release()
            async for event in events:
                hear(event, shown)
                if event["type"] == "server.resync":
                    shown = await stored(stage, session_id)
                if ends(session_id)(event):
                    return shown
                await asyncio.sleep(pause)
        raise AssertionError("the stream has ended")

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            both = [group.create_task(follow(stage, session_id, pause)) for pause in (0, 0.03)]
            for _ in both:
                await ready.acquire()
            assert await leave(stage, session_id, "go") == 204
        kept = await stored(stage, session_id)
        assert sorted(kept.values()) == sorted(["go", words])
        for one in both:
            assert {part: one.result().get(part) for part in kept} == kept

    ready = asyncio.Semaphore(0)
    on_server(tmp_path, check, script=script, config=ALLOWED)


def hear(event: dict[str, Any], shown: dict[str, str]) -> None:
    """Do with an event what a client does that shows text."""
    about = event["properties"]
    if event["type"] == "message.part.delta":
        shown[about["partID"]] = shown.get(about["partID"], "") + about["delta"]
    elif event["type"] == "message.part.updated" and about["part"]["type"] == "text":
        shown[about["part"]["id"]] = about["part"]["text"]


async def stored(stage: Served, session_id: str) -> dict[str, str]:
    """The texts of a session by part."""
    messages = (await stage.http.get(f"/session/{session_id}/message")).json()
    parts = [part for message in messages for part in message["parts"]]
    return {part["id"]: part["text"] for part in parts if part["type"] == "text"}


def state_of(event: dict[str, Any]) -> str:
    return event["properties"].get("part", {}).get("state", {}).get("status", "")


def error_of(event: dict[str, Any]) -> str:
    if event["type"] != "message.updated":
        return ""
    return event["properties"]["info"].get("error", {}).get("name", "")

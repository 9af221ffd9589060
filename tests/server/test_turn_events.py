"""The events of a turn, in OpenCode's order, and its one end, however it comes out."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server, text_of

from scripted_model.picture import Request
from scripted_model.scenario import (
    Barrier,
    Call,
    Reasoning,
    Reply,
    Status,
    Text,
    reply,
    scenario,
    step,
)

Events = list[dict[str, Any]]
WORK = scenario(
    step(
        Reasoning("I look first."),
        Text("I run it."),
        Call("bash", {"command": "echo hi", "description": "Say hi"}),
    ),
    default="Done.",
)
ALLOWED = {"permission": {"bash": "allow"}, "limits": {"retry_wait": 0.01}}


async def until_idle(events: AsyncIterator[dict[str, Any]], session_id: str, times: int) -> Events:
    """All events up to that end of a session's work."""
    seen: Events = []
    async with asyncio.timeout(30):
        async for event in events:
            seen.append(event)
            is_end = event["type"] == "session.idle"
            if is_end and event["properties"]["sessionID"] == session_id:
                times -= 1
                if not times:
                    return seen
    raise AssertionError("no end")


def told(event: dict[str, Any]) -> str:
    """An event in one word, as far as its order matters."""
    about = event["properties"]
    match event["type"]:
        case "message.updated":
            info = about["info"]
            return f"{info['role']} {'ends' if info['time'].get('completed') else 'begins'}"
        case "message.part.updated":
            part = about["part"]
            state = part.get("state", {}).get("status", "")
            is_open = part["type"] in {"text", "reasoning"} and "end" not in part.get("time", {})
            return " ".join(filter(None, [part["type"], state, "begins" if is_open else ""]))
        case "session.status":
            return f"status {about['status']['type']}"
        case type_:
            return type_


def test_a_step_is_told_in_the_order_that_clients_of_opencode_know(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            await stage.prompt(session_id, "go")
            seen = await until_idle(events, session_id, 1)
        words = [told(event) for event in seen]
        first = words[words.index("assistant begins") : words.index("assistant ends") + 1]
        order = [
            "assistant begins",
            "step-start",
            "reasoning begins",
            "message.part.delta",
            "reasoning",
            "text begins",
            "message.part.delta",
            "text",
            "tool running",
            "tool completed",
            "step-finish",
            "assistant ends",
        ]
        assert [word for word in first if word in order] == order
        assert words.index("user begins") < words.index("status busy") < words.index("step-start")
        assert words[-2:] == ["status idle", "session.idle"]

    on_server(tmp_path, check, script=WORK, config=ALLOWED)


def ask(request: Request) -> Reply:
    if request.results:
        return reply("done")
    return reply(Call("question", {"questions": [{"question": "Which?", "header": "H"}]}))


OUTCOMES = {
    "success": WORK,
    "failure": scenario(Status(401), default="never"),
    "stopped": scenario(step(Text("a"), Barrier("gate")), default="never"),
    "refused": ask,
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_turn_ends_once_however_it_comes_out(tmp_path: Path, outcome: str) -> None:
    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            answer = asyncio.create_task(stage.prompt(session_id, "go"))
            if outcome == "stopped":
                await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
                await stage.http.post(f"/session/{session_id}/abort")
            if outcome == "refused":
                await _reject(stage)
            seen = await until_idle(events, session_id, 1)
            await answer
            # What comes behind belongs to another session: nothing of this turn is left.
            other = await stage.session()
            async for event in events:
                seen.append(event)
                if event["properties"].get("sessionID") == other:
                    break
        words = [told(event) for event in seen]
        for end in ("session.idle", "status idle", "turn.ended"):
            assert words.count(end) == 1, end
        assert (await stage.plain.get("/session/status")).json() == {}

    on_server(tmp_path, check, script=OUTCOMES[outcome], config=ALLOWED)


async def _reject(stage: Served) -> None:
    async with asyncio.timeout(20):
        while not (asked := (await stage.plain.get("/question")).json()):
            await asyncio.sleep(0.02)
    assert (await stage.plain.post(f"/question/{asked[0]['id']}/reject")).json() is True


def test_a_retry_tells_its_number_its_reason_and_when_it_is_due(tmp_path: Path) -> None:
    script = scenario(Status(429, {"retry-after": "1"}), default="pong")

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            assert text_of((await stage.prompt(session_id, "go")).json()) == "pong"
            seen = await until_idle(events, session_id, 1)
        statuses = [e["properties"]["status"] for e in seen if e["type"] == "session.status"]
        assert [one["type"] for one in statuses] == ["busy", "retry", "busy", "idle"]
        retry = statuses[1]
        assert retry["attempt"] == 1
        assert "429" in retry["message"]
        begun = next(e for e in seen if told(e) == "assistant begins")
        assert retry["next"] - begun["properties"]["info"]["time"]["created"] >= 1_000

    on_server(tmp_path, check, script=script)


def test_what_streams_is_in_the_messages_to_its_last_letter(tmp_path: Path) -> None:
    script = scenario(step(Text("Half of it, "), Barrier("gate"), Text("and the rest.")))

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        async with stage.events(client=stage.plain) as events:
            answer = asyncio.create_task(stage.prompt(session_id, "go"))
            heard = ""
            async for event in events:
                if event["type"] == "message.part.delta":
                    heard += event["properties"]["delta"]
                if heard == "Half of it, ":
                    break
        messages = (await stage.plain.get(f"/session/{session_id}/message")).json()
        assert text_of(messages[-1]) == heard
        assert "completed" not in messages[-1]["info"]["time"]
        stage.model.release("gate")
        assert text_of((await answer).json()) == "Half of it, and the rest."

    on_server(tmp_path, check, script=script)

"""Questions aside, over HTTP: answered by a copy, without a trace, while the session is at work."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from server_stage import Served, on_server, text_of

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Status, Text, Usage, reply


class Talk:
    """Answers questions aside with `aside`, all else with `work`; keeps what was asked of both."""

    def __init__(self, work: list[Any] | None = None, aside: list[Any] | None = None) -> None:
        self._work = work or []
        self._aside = aside or []

    def __call__(self, request: Request) -> Reply:
        if "The question:" in request.all_text:
            return reply(self._aside.pop(0) if self._aside else [Text("Aside.")])
        return reply(self._work.pop(0) if self._work else [Text("Done.")])


async def ask(stage: Served, session: str, question: str = "why?", **more: Any) -> Any:
    return await stage.http.post(f"/session/{session}/ask", json={"question": question, **more})


async def state(stage: Served, session: str) -> dict[str, Any]:
    """All that can be seen of a session."""
    paths = ("message?agent_id=*", "actor", "inbox", "children")
    seen = {path: (await stage.http.get(f"/session/{session}/{path}")).json() for path in paths}
    for actor in seen["actor"]:
        for moving in ("age", "quiet"):
            actor.pop(moving, None)
    return seen


def test_a_question_is_answered_from_the_conversation_and_leaves_no_trace(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "Remember the word kestrel.")
        before = await state(stage, session)
        answer = await ask(stage, session, "Which word?")
        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert told["answer"] == "Aside."
        assert told["model"] == "test/scripted"
        assert told["tokens"]["input"] + told["tokens"]["cache"]["read"] > 0
        assert "fault" not in told
        assert await state(stage, session) == before
        aside = stage.model.requests[-1].request
        assert "kestrel" in aside.all_text
        assert aside.last_user_text.endswith("Which word?")
        await stage.prompt(session, "Go on.")
        assert "Which word?" not in stage.model.requests[-1].request.all_text
        assert stage.model.violations == []

    on_server(tmp_path, check, script=Talk())


def test_its_request_begins_as_those_of_the_session_do(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "One.")
        await ask(stage, session)
        first, aside = (one.request for one in stage.model.requests)
        assert (aside.system, aside.tool_names) == (first.system, first.tool_names)
        assert aside.messages[: len(first.messages)] == first.messages
        assert len(aside.messages) > len(first.messages)

    on_server(tmp_path, check, script=Talk())


def test_it_works_while_the_session_is_busy_which_hears_nothing_of_it(tmp_path: Path) -> None:
    work = [[Text("At work."), Barrier("work"), Call("glob", {"pattern": "*"})], [Text("Done.")]]

    async def check(stage: Served) -> None:
        session = await stage.session()
        working = asyncio.create_task(stage.prompt(session, "go"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "work")
        assert (await ask(stage, session)).json()["answer"] == "Aside."
        status = (await stage.http.get("/session/status")).json()
        assert status[session]["type"] == "busy"
        stage.model.release("work")
        assert text_of((await working).json()) == "Done."
        assert all("The question:" not in one.request.all_text for one in stage.model.requests[2:])
        assert len((await state(stage, session))["actor"]) == 1

    on_server(tmp_path, check, script=Talk(work))


def test_it_reads_files_and_changes_none(tmp_path: Path) -> None:
    aside = [
        [
            Call("read", {"filePath": "note.txt"}),
            Call("write", {"filePath": "made.txt", "content": "x"}),
            Call("bash", {"command": "touch made.txt"}),
        ],
        [Text("It says kestrel.")],
    ]

    async def check(stage: Served) -> None:
        (stage.project / "note.txt").write_text("kestrel\n")
        session = await stage.session()
        await stage.prompt(session, "go")
        assert (await ask(stage, session)).json()["answer"] == "It says kestrel."
        results = stage.model.requests[-1].request.results
        assert "kestrel" in results[0]
        assert all("Not run" in one for one in results[1:])
        assert not (stage.project / "made.txt").exists()

    on_server(tmp_path, check, script=Talk(aside=aside), config={"permission": "allow"})


def test_what_it_costs_is_told(tmp_path: Path) -> None:
    aside = [[Text("Aside."), Usage(input=1_000, output=100, cache_read=600)]]
    models = {"scripted": {"cost": {"input": 2, "output": 10}}}
    (tmp_path / "home/config").mkdir(parents=True)
    priced = tmp_path / "home/config/roost.json"
    priced.write_text(json.dumps({"provider": {"test": {"models": models}}}))

    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        told = (await ask(stage, session)).json()
        assert told["tokens"]["cache"]["read"] == 600
        assert told["tokens"]["output"] == 100
        assert told["cost"] > 0

    on_server(tmp_path, check, script=Talk(aside=aside))


@pytest.mark.parametrize("way", ["late", "left"])
def test_one_that_is_not_waited_for_is_stopped_and_taken_out(tmp_path: Path, way: str) -> None:
    aside = [[Text("Hm."), Barrier("thinking"), Text("Aside.")]]

    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        before = await state(stage, session)
        seconds = {"seconds": 0.5} if way == "late" else {}
        asking = asyncio.create_task(ask(stage, session, "why?", **seconds))
        await asyncio.to_thread(stage.model.wait_for_barrier, "thinking")
        if way == "late":
            answer = await asking
            assert answer.status_code == 502
            assert "took too long" in answer.text
        else:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        async with asyncio.timeout(20):
            while await state(stage, session) != before:
                await asyncio.sleep(0.05)
        assert (await ask(stage, session)).json()["answer"] == "Aside."

    on_server(tmp_path, check, script=Talk(aside=aside))


def test_the_command_answers_for_the_eyes_of_its_client(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        before = await state(stage, session)
        body = {"command": "btw", "arguments": "why?"}
        answer = await stage.http.post(f"/session/{session}/command", json=body)
        assert text_of(answer.json()) == "Aside."
        assert answer.json()["parts"][0]["ignored"]
        assert await state(stage, session) == before

    on_server(tmp_path, check, script=Talk())


def test_without_a_question_or_a_conversation_there_is_no_answer(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        assert "nothing to ask about" in (await ask(stage, session)).text
        await stage.prompt(session, "go")
        empty = await ask(stage, session, "  ")
        assert (empty.status_code, "there is no question" in empty.text) == (400, True)
        assert (await ask(stage, "ses_none")).status_code == 404
        assert len(stage.model.requests) == 1

    on_server(tmp_path, check, script=Talk())


def test_a_copy_whose_model_fails_says_why_and_is_taken_out(tmp_path: Path) -> None:
    async def check(stage: Served) -> None:
        session = await stage.session()
        await stage.prompt(session, "go")
        before = await state(stage, session)
        answer = await ask(stage, session)
        assert answer.status_code == 502
        assert "could not answer" in answer.text
        assert await state(stage, session) == before

    on_server(tmp_path, check, script=Talk(aside=[[Status(401)]]))

"""What costs money for nothing: too small a window, a nudge taken for leave, another model."""

import asyncio
import json
from pathlib import Path

import pytest
from court import GAP, IMPOSSIBLE, Court
from household import Household
from invariants import assert_sound
from server_stage import Served, on_server
from test_server_runs import Server, titles_beside

from roost.runtime.models import PromptInput, TextInput
from roost.sessions.models import AssistantInfo, ModelName
from scripted_model.scenario import Barrier, Call, Status, Usage, scenario, step

pytestmark = pytest.mark.scenario
TOO_LONG = json.dumps(
    {
        "error": {
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
            "message": "prompt is too long: 250000 tokens > 200000 maximum",
        }
    }
)


def test_what_waits_behind_a_conversation_that_is_too_long_is_heard_at_a_bounded_cost(
    tmp_path: Path,
) -> None:
    full = Status(400, {}, TOO_LONG)
    script = scenario(step(Barrier("gate"), full), step(full, times=99), scope="server")

    async def check(stage: Served) -> None:
        session_id = await stage.session()
        first = asyncio.create_task(stage.prompt(session_id, "one"))
        await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
        second = asyncio.create_task(stage.prompt(session_id, "two"))
        async with asyncio.timeout(20):
            while not await stage.runtime.queue(session_id):
                await asyncio.sleep(0.01)
        stage.model.release("gate")
        for answer in (await first, await second):
            assert answer.json()["info"]["error"]["name"] == "ContextOverflowError"
        turns = (await stage.http.get(f"/session/{session_id}/turns")).json()
        assert {turn["outcome"] for turn in turns} == {"failure"}
        mail = (await stage.http.get(f"/session/{session_id}/inbox")).json()
        prompts = [row["state"] for row in mail if row["kind"] == "prompt"]
        assert prompts == ["delivered"] * 2
        assert len(stage.model.requests) <= 6, "no loop of calls that are refused"
        assert (await stage.http.get("/session/status")).json() == {}

    on_server(tmp_path, check, script=script)


def test_usage_beyond_the_window_makes_no_work_of_its_own(chat_house: Household) -> None:
    """A provider that counts wrongly, or a window that is configured too small."""
    house = chat_house
    over = Usage(input=900_000, output=10)
    calls = [step(Call("bash", {"command": f"echo {n} >> count.txt"}), over) for n in range(3)]
    house.play(scenario(*calls, step("Counted.", over), scope="server"))
    answer = house.prompt("Count.")
    assert (answer.code, answer.text) == (0, "Counted."), answer.err
    assert len(house.model.requests) == 4
    marks = house.rows("SELECT 1 FROM part WHERE type = 'compaction'")
    assert len(marks) == 2, "shortening was of no use, so it is not done again and again"
    assert (house.project / "count.txt").read_text() == "0\n1\n2\n"
    assert_sound(house)


def test_what_a_judge_finds_missing_is_nobodys_consent(chat_house: Household) -> None:
    house = chat_house
    house.config["permission"] = {"bash": "ask"}
    touch = Call("bash", {"command": "touch made"})
    court = Court([touch, "I may not.", touch, "I may not."], [GAP, IMPOSSIBLE])
    house.play(court)
    done = house.run("run", "--format", "json", "--goal", "the file is made", "go")
    assert done.returncode == 1, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    used = [line["part"]["state"] for line in lines if line["type"] == "tool_use"]
    assert [state["status"] for state in used] == ["error", "error"]
    assert not (house.project / "made").exists()
    assert_sound(house, ping=False)


def test_a_prompt_runs_on_its_own_model_then_its_agents_then_that_of_the_conversation(
    chat_house: Household,
) -> None:
    house = chat_house
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    house.config["agent"] = {"mine": {"description": "Mine.", "model": "test/gpt-scripted"}}
    house.play(titles_beside(*["ok"] * 6))
    asked: list[tuple[str | None, str | None, str]] = [
        (None, None, "scripted"),
        ("mine", None, "gpt-scripted"),
        ("mine", "scripted", "scripted"),
        ("build", None, "scripted"),
        ("mine", None, "gpt-scripted"),
        ("build", None, "gpt-scripted"),
    ]
    server = Server(house)
    server.start()

    async def ask() -> None:
        async with server.client() as client:
            session = await client.create_session()
            for agent, model, expected in asked:
                name = ModelName("test", model) if model else None
                given = PromptInput((TextInput("go"),), agent=agent, model=name)
                answer = await client.prompt(session.id, given)
                assert isinstance(answer.info, AssistantInfo)
                assert answer.info.model_id == expected, (agent, model)

    asyncio.run(ask())
    assert server.end() == 0
    said = [record for record in house.model.requests if record.request.tool_names]
    assert [record.model for record in said] == [expected for _, _, expected in asked]
    assert_sound(house)

"""Answers in a format, through the whole program and in every dialect."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from household import Answer, Household
from server_stage import served

from scripted_model.scenario import Call, Reasoning, Text, scenario

pytestmark = pytest.mark.scenario
BUGS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "bugs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                },
                "required": ["file", "line"],
            },
        }
    },
    "required": ["bugs"],
}
FOUND = {"bugs": [{"file": "a.py", "line": 3}]}
GIVE = Call("structured_output", FOUND)
WRONG = Call("structured_output", {"bugs": [{"file": "a.py", "line": 0}]})


def ask(house: Household, *said: Any, schema: Any = BUGS, text: str = "find bugs") -> Answer:
    house.play(scenario(*said, scope="server"))
    house.write("answer.schema.json", json.dumps(schema))
    answer = house.prompt(text, "--schema", "answer.schema.json")
    assert house.model.violations == []
    return answer


def test_the_answer_is_the_call_after_the_work(house: Household) -> None:
    house.write("a.py", "x\n")
    read = Call("read", {"filePath": "a.py"})
    answer = ask(house, [Reasoning("hm"), read], [Text("Found one."), GIVE])
    assert answer.code == 0, answer.err
    assert answer.result["structured"] == FOUND
    assert (answer.result["outcome"], answer.text) == ("success", "Found one.")
    assert [part["state"]["status"] for part in answer.tools()] == ["completed", "completed"]
    for record in house.model.requests:
        assert record.request.tool_names[-1] == "structured_output"
        assert record.request.tool_names.count("structured_output") == 1
    (row,) = house.rows(
        "SELECT data FROM message WHERE data LIKE '%structured%' AND role != 'user'"
    )
    assert json.loads(row["data"])["structured"] == FOUND


def test_an_answer_that_does_not_fit_is_told_why_and_may_be_given_again(house: Household) -> None:
    answer = ask(house, WRONG, GIVE)
    assert answer.code == 0, answer.err
    assert answer.result["structured"] == FOUND
    wrong, right = answer.tools()
    assert "/bugs/0/line: 0 is less than the minimum of 1" in wrong["state"]["error"]
    assert right["state"]["status"] == "completed"
    assert "/bugs/0/line" in house.model.requests[1].request.results[0]


def test_words_instead_of_the_call_are_asked_again(house: Household) -> None:
    answer = ask(house, "There is one in a.py, line 3.", GIVE)
    assert answer.code == 0, answer.err
    assert answer.result["structured"] == FOUND
    assert "structured_output" in house.model.requests[1].request.last_user_text
    assert house.model.requests[1].request.tool_names[-1] == "structured_output"


def test_when_no_try_is_left_the_turn_fails_and_the_words_stay(house: Household) -> None:
    answer = ask(house, WRONG, "Really, line 0.", "I said: line 0.")
    assert answer.code == 1
    assert answer.result["error"]["name"] == "StructuredOutputError"
    assert answer.result["error"]["data"]["retries"] == 2
    assert answer.result["structured"] is None
    assert answer.text == "I said: line 0."
    house.play(scenario("As I said.", scope="server"))
    later = house.prompt("what was that?", "-c")
    assert later.text == "As I said."
    said = [message.text for message in house.model.requests[-1].request.messages]
    assert "I said: line 0." in said


def test_what_is_no_object_is_wrapped_for_the_model_alone(house: Household) -> None:
    schema = {"type": "array", "items": {"enum": ["red", "green"]}}
    give = Call("structured_output", {"value": ["red"]})
    answer = ask(house, Call("structured_output", {"value": ["blue"]}), give, schema=schema)
    assert answer.result["structured"] == ["red"]


def test_the_format_holds_for_one_prompt_and_the_history_stays_valid(house: Household) -> None:
    assert ask(house, GIVE).code == 0
    house.play(scenario("Just words.", scope="server"))
    answer = house.prompt("say it in words", "-c")
    assert (answer.code, answer.text) == (0, "Just words."), answer.err
    assert answer.result["structured"] is None
    assert "structured_output" not in house.model.requests[-1].request.tool_names
    assert house.model.violations == []


def test_the_first_of_two_answers_counts(chat_house: Household) -> None:
    other = Call("structured_output", {"bugs": []})
    answer = ask(chat_house, [GIVE, other])
    assert answer.result["structured"] == FOUND
    assert [part["state"]["status"] for part in answer.tools()] == ["completed", "error"]


def test_only_the_answer_goes_to_stdout(chat_house: Household) -> None:
    house = chat_house
    house.play(scenario([Text("Let me see."), Call("glob", {"pattern": "*"})], [Text("So:"), GIVE]))
    house.write("s.json", json.dumps(BUGS))
    done = house.run("run", "--yes", "--schema", "s.json", "find bugs")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == FOUND
    assert "Let me see." in done.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "is not JSON"), ('{"type": "objec"}', "/type:"), ("[]", "must be a JSON Schema")],
)
def test_a_schema_that_cannot_be_used_is_wrong_usage(
    chat_house: Household, content: str, told: str
) -> None:
    chat_house.write("s.json", content)
    done = chat_house.run("run", "--schema", "s.json", "find bugs")
    assert done.returncode == 2
    assert told in done.stderr
    assert chat_house.run("run", "--schema", "none.json", "x").returncode == 2
    assert chat_house.model.requests == []


def test_a_client_is_told_at_once_what_is_wrong_with_its_schema(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, scenario(GIVE)) as server:
            session = await server.session()
            bad = {"type": "json_schema", "schema": {"type": "object", "required": "all"}}
            refused = await server.prompt(session, "x", format=bad)
            assert refused.status_code == 400
            assert "format.schema/required" in refused.text
            good = {"type": "json_schema", "schema": BUGS, "retryCount": 1}
            answered = await server.prompt(session, "x", format=good)
            assert answered.json()["info"]["structured"] == FOUND
            messages = (await server.http.get(f"/session/{session}/message")).json()
            assert messages[0]["info"]["format"] == good

    asyncio.run(run())


def test_what_a_prompt_asks_beside_its_words_holds_until_the_next_one(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, scenario("no call", GIVE, "words")) as server:
            session = await server.session()
            asked = {"type": "json_schema", "schema": BUGS}
            extra: dict[str, Any] = {"system": "Speak Latin.", "tools": {"bash": False}}
            await server.prompt(session, "x", format=asked, **extra)
            await server.prompt(session, "y")
            first, nudged, later = (record.request for record in server.model.requests)
            assert first.system == nudged.system
            assert first.tool_names == nudged.tool_names
            assert "bash" not in nudged.tool_names
            assert "bash" in later.tool_names
            assert later.system != first.system

    asyncio.run(run())

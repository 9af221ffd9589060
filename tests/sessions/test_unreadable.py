"""Rows that cannot be decoded harm nothing but themselves."""

import msgspec
import pytest
from stage import Stage, answer_info, texts, user_message

from roost.context.view import render
from roost.llm.models import AssistantMessage, ToolCall, ToolMessage
from roost.sessions import repair, transcript
from roost.sessions import store as sessions
from roost.sessions.export import read_session
from roost.sessions.models import AssistantInfo, Message, MessageTime, UserInfo
from roost.sessions.parts import TextPart, ToolCompleted, ToolPart, ToolTime
from roost.sessions.unreadable import is_stand_in, unreadable_rows

BROKEN = ("{", "", "null", '"words"', "[" * 5_000, '{"id":1}')


def said(stage: Stage) -> Message:
    """A step of words, a call with its result, and more words; it is stored."""
    info = answer_info(stage.session_id, time=MessageTime(1, 2), finish="tool-calls")
    where = (stage.session_id, info.id)
    done = ToolCompleted({"command": "ls"}, "a b c", "ls", {}, ToolTime(1, 2))
    parts = (
        TextPart("prt_1", *where, "first"),
        ToolPart("prt_2", *where, "call_1", "bash", done),
        TextPart("prt_3", *where, "last"),
    )
    message = Message(info, parts)
    question = user_message(stage.session_id, TextPart("prt_0", stage.session_id, "", "why?"))
    for one in (question, message):
        one = Message(
            one.info,
            tuple(msgspec.structs.replace(part, message_id=one.info.id) for part in one.parts),
        )
        stage.do(lambda tx, m=one: transcript.append_message(tx, m, actor_id="main", turn_id=None))
    return message


def spoil(stage: Stage, table: str, row: str, data: str) -> None:
    stage.connection.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (data, row))


@pytest.mark.parametrize("data", BROKEN)
def test_a_part_that_cannot_be_read_is_shown_by_a_placeholder(stage: Stage, data: str) -> None:
    message = said(stage)
    spoil(stage, "part", "prt_1", data)
    _, answer = stage.history()
    assert answer.info == message.info
    assert [part.id for part in answer.parts] == ["prt_1", "prt_2", "prt_3"]
    assert "damaged" in texts([answer])[0]
    assert "prt_1" in texts([answer])[0]
    assert texts([answer])[0].endswith("last")


@pytest.mark.parametrize("data", BROKEN)
def test_a_call_that_cannot_be_read_stays_a_call_with_a_result(stage: Stage, data: str) -> None:
    said(stage)
    spoil(stage, "part", "prt_2", data)
    _, answer = stage.history()
    sent, results = render(answer)
    assert isinstance(sent, AssistantMessage)
    assert isinstance(results, ToolMessage)
    (result,) = results.results
    assert result.is_error
    assert "damaged" in result.output
    calls = [one for one in sent.content if isinstance(one, ToolCall)]
    assert [call.id for call in calls] == [result.id]


@pytest.mark.parametrize("data", BROKEN)
def test_a_head_that_cannot_be_read_keeps_its_parts_and_their_place(
    stage: Stage, data: str
) -> None:
    message = said(stage)
    whole = render(stage.history()[1])
    for one in stage.history():
        spoil(stage, "message", one.info.id, data)
    question, answer = stage.history()
    assert isinstance(question.info, UserInfo)
    assert isinstance(answer.info, AssistantInfo)
    assert is_stand_in(question.info)
    assert is_stand_in(answer.info)
    assert answer.info.id == message.info.id
    assert texts([question, answer]) == ["why?", "first last"]
    assert len(render(answer)) == len(whole) == 2
    assert len(read_session_of(stage)) == 2


def read_session_of(stage: Stage) -> tuple[Message, ...]:
    return stage.read(lambda db: read_session(db, stage.session_id)).messages


def test_repair_writes_nothing_over_what_it_cannot_read(stage: Stage) -> None:
    info = answer_info(stage.session_id)
    message = Message(info, (TextPart("prt_9", stage.session_id, info.id, "half"),))
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None))
    spoil(stage, "message", info.id, '{"half": ')
    spoil(stage, "part", "prt_9", '{"half": ')
    stage.do(lambda tx: repair.repair(tx, stage.session_id, "main"))
    for table in ("message", "part"):
        (row,) = stage.connection.execute(f"SELECT data FROM {table}").fetchall()
        assert row["data"] == '{"half": '


@pytest.mark.parametrize(
    "data", ["{", "{}", '[{"permission":"bash"}]', '[{"permission":"a","pattern":"b","action":1}]']
)
def test_a_session_whose_rules_cannot_be_read_asks_for_everything(stage: Stage, data: str) -> None:
    other = stage.session_id
    stage.furnish()
    stage.connection.execute(
        "UPDATE session SET permission = ? WHERE id = ?", (data, stage.session_id)
    )
    listed = stage.read(lambda db: sessions.listed(db))
    assert {one.id for one in listed} == {other, stage.session_id}
    damaged = next(one for one in listed if one.id == stage.session_id)
    assert damaged.permission == [{"permission": "*", "pattern": "*", "action": "ask"}]
    assert "permission rules cannot be read" in damaged.damage
    assert [one.damage for one in listed if one.id == other] == [""]


def test_rows_that_cannot_be_read_are_named(stage: Stage) -> None:
    message = said(stage)
    assert list(stage.read(unreadable_rows)) == []
    spoil(stage, "message", message.info.id, "{")
    spoil(stage, "part", "prt_3", "{")
    stage.connection.execute("UPDATE session SET permission = '{'")
    found = [one.row for one in stage.read(lambda db: list(unreadable_rows(db)))]
    assert found == ["its permission rules", f"message {message.info.id}", "part prt_3"]

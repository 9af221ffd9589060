"""Message ids ascend in the order in which an actor hears: OpenCode's clients sort by them."""

import pytest
from stage import Stage, answer_info, in_history, prompt, texts

from roost.core.ids import can_be_followed, new_id
from roost.inbox.conversation import find_message, find_row, read_page
from roost.sessions import transcript
from roost.sessions.models import Message

OLD = "msg_000000000000abcdefghijklmn"


def shown(stage: Stage) -> list[Message]:
    return stage.read(lambda db: read_page(db, stage.session_id, "main")).messages


def ids(messages: list[Message]) -> list[str]:
    return [message.info.id for message in messages]


def answered(stage: Stage) -> None:
    info = answer_info(stage.session_id)
    stage.do(lambda tx: transcript.append_message(tx, Message(info), actor_id="main", turn_id=None))


@pytest.mark.parametrize("chosen", [OLD, "msg_zzz", "msg_FFFFFFFFFFFFabc", "msg_1"])
def test_a_prompt_whose_id_would_sort_wrongly_is_given_another(stage: Stage, chosen: str) -> None:
    answered(stage)
    first = stage.send(prompt(stage.main, "one"))
    second = stage.send(prompt(stage.main, "two", message_id=chosen))
    third = stage.send(prompt(stage.main, "three"))
    assert (first.new, second.new, third.new) == (True, True, True)
    messages = shown(stage)
    assert texts(messages) == ["", "one", "two", "three"]
    assert ids(messages) == sorted(ids(messages))
    assert chosen not in ids(messages)
    for part in messages[2].parts:
        assert part.message_id == messages[2].info.id
    assert all(can_be_followed(one) for one in ids(messages))


def test_an_id_that_sorts_last_is_kept(stage: Stage) -> None:
    chosen = new_id("message")
    stage.send(prompt(stage.main, "one", message_id=chosen))
    assert ids(shown(stage)) == [chosen]


def test_the_same_prompt_again_is_the_same_whatever_id_it_was_given(stage: Stage) -> None:
    answered(stage)
    letter = prompt(stage.main, "one", message_id=OLD)
    first = stage.send(letter)
    again = stage.send(letter)
    assert (again.id, again.new) == (first.id, False)
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)
    assert stage.send(letter).id == first.id
    assert texts(shown(stage)) == ["", "one"]


def test_a_prompt_is_found_by_both_of_its_ids(stage: Stage) -> None:
    answered(stage)
    receipt = stage.send(prompt(stage.main, "one", message_id=OLD))
    own = shown(stage)[-1].info.id
    session_id = stage.session_id

    def found() -> list[str]:
        return [
            stage.read(lambda db, i=one: find_message(db, session_id, i)).info.id
            for one in (OLD, own)
        ]

    assert found() == [own, own]
    for one in (OLD, own, receipt.id):
        row = stage.read(lambda db, i=one: find_row(db, session_id, i))
        assert row is not None
        assert row.id == receipt.id
    claim = stage.claim()
    assert claim is not None
    stage.drain(claim)
    assert found() == [own, own]
    assert in_history(stage.history(), stage.rows())[-1:] == [receipt.id]


def test_a_prompt_that_the_model_overtook_is_heard_under_a_later_id_and_that_is_told(
    stage: Stage,
) -> None:
    stage.send(prompt(stage.main, "one"))
    before = shown(stage)[0].info.id
    answered(stage)
    claim = stage.claim()
    assert claim is not None
    stage.events.clear()
    (heard,) = stage.drain(claim)
    assert heard.info.id > before
    assert ids(shown(stage)) == sorted(ids(shown(stage)))
    told = [event for event in stage.events if event.type.startswith("message.")]
    assert [event.type for event in told] == [
        "message.removed",
        "message.updated",
        "message.part.updated",
    ]
    assert told[0].properties["messageID"] == before
    assert told[1].properties["info"].id == heard.info.id
    assert all(part.message_id == heard.info.id for part in heard.parts)

"""Which commands of a person wait at the end of a slice."""

import msgspec
from stage import answer_info, user_message

from roost.sessions.models import Message, UserInfo
from roost.turn.by_hand import asked, is_by_hand, waiting


def command(text: str) -> Message:
    message = user_message("ses_1")
    assert isinstance(message.info, UserInfo)
    return Message(msgspec.structs.replace(message.info, format=asked(text)))


def answer_to(message: Message) -> Message:
    return Message(answer_info("ses_1", parent_id=message.info.id))


def test_a_command_waits_until_there_is_a_message_that_answers_it() -> None:
    first, second = command("one"), command("two")
    assert waiting([first, second]) == first.info
    assert waiting([first, second, answer_to(first)]) == second.info
    assert waiting([first, second, answer_to(first), answer_to(second)]) is None


def test_words_and_answers_of_models_carry_no_command() -> None:
    words = user_message("ses_1")
    assert waiting([words, answer_to(words), words]) is None
    assert not is_by_hand(None)
    assert isinstance(words.info, UserInfo)
    structured = msgspec.structs.replace(words.info, format={"type": "json_schema", "schema": {}})
    assert not is_by_hand(structured)


def test_a_command_that_was_never_run_long_ago_waits_no_more() -> None:
    old = command("old")
    later = [message for _ in range(50) for message in (user_message("ses_1"),)]
    assert waiting([old, *later]) is None

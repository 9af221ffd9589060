"""Which tasks of a person wait at the end of a slice, and as what they are carried out."""

import msgspec
from stage import answer_info, user_message

from roost.sessions.models import Message
from roost.sessions.parts import SubtaskPart
from roost.turn.subtasks import arguments, tasks_of, waiting


def task() -> SubtaskPart:
    return SubtaskPart("prt_1", "ses_1", "msg_1", "find it", "find", "explore")


def asked() -> Message:
    message = user_message("ses_1")
    return msgspec.structs.replace(message, parts=(*message.parts, task()))


def answer_to(message: Message) -> Message:
    return Message(answer_info("ses_1", parent_id=message.info.id))


def test_a_task_waits_until_a_message_answers_its_prompt() -> None:
    first, words, second = asked(), user_message("ses_1"), asked()
    assert waiting([first, words, second]) is first
    assert waiting([first, words, second, answer_to(first)]) is second
    assert waiting([first, answer_to(first), second, answer_to(second)]) is None


def test_words_and_answers_give_no_task() -> None:
    words = user_message("ses_1")
    assert tasks_of(words) == ()
    assert tasks_of(answer_to(words)) == ()
    assert waiting([words]) is None


def test_a_task_that_was_never_begun_long_ago_waits_no_more() -> None:
    assert waiting([asked(), *(user_message("ses_1") for _ in range(50))]) is None


def test_a_task_is_a_call_that_starts_an_actor_and_waits_for_it() -> None:
    assert arguments(task()) == {
        "operation": {
            "action": "run",
            "subagent_type": "explore",
            "description": "find",
            "prompt": "find it",
        }
    }
    model = {"providerID": "a", "modelID": "b/c"}
    chosen = msgspec.structs.replace(task(), model=model, command="look")
    operation = arguments(chosen)["operation"]
    assert (operation["model"], operation["command"]) == ("a/b/c", "look")

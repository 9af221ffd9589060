"""What stored histories look like to a strict model, however they were broken off."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import Stage, answer_info, user_message

from roost.context.view import FAILED, NO_OUTPUT, STOPPED, View, render
from roost.llm.models import (
    AssistantMessage,
    Media,
    Reasoning,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from roost.llm.models import Message as Sent
from roost.sessions import repair, transcript
from roost.sessions.models import Message, MessageError, MessageTime
from roost.sessions.parts import (
    AgentPart,
    FilePart,
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    Tokens,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
    ToolTime,
    UnknownPart,
)

WHERE = ("ses_1", "msg_1")
DONE = ToolTime(1, 2)
STATES: list[ToolState] = [
    ToolPending({}, ""),
    ToolRunning({"command": "x"}, Span(1)),
    ToolCompleted({"command": "x"}, "output", "", {}, DONE),
    ToolCompleted({"command": "x"}, " \n", "", {}, DONE),
    ToolFailed({"command": "x"}, "no such file", DONE),
    ToolFailed({}, "", DONE, {"interrupted": True}),
]
BLANKS = ["", " ", "\n\t "]


def text(words: str, **more: Any) -> TextPart:
    return TextPart("prt", *WHERE, words, **more)


def thought(words: str, metadata: dict[str, Any] | None = None) -> ReasoningPart:
    return ReasoningPart("prt", *WHERE, words, Span(1, 2), metadata)


def call(state: ToolState, call_id: str = "call_1") -> ToolPart:
    return ToolPart("prt", *WHERE, call_id, "bash", state)


def step(*parts: Part, **changes: Any) -> Message:
    return Message(answer_info("ses_1", time=MessageTime(1, 2), **changes), parts)


def said(*parts: Part) -> Message:
    return user_message("ses_1", *parts)


def error(name: Any) -> MessageError:
    return MessageError(name, {"message": "something"})


def texts_of(message: Sent) -> list[str]:
    match message:
        case ToolMessage(results=results):
            return [result.output for result in results]
        case UserMessage(content=content) | AssistantMessage(content=content):
            return [block.text for block in content if isinstance(block, Text)]


def assert_strict(sent: tuple[Sent, ...]) -> None:
    """Every call has one result right behind it; nothing is blank or empty; all is valid JSON."""
    for index, message in enumerate(sent):
        assert all(words.strip() for words in texts_of(message))
        msgspec.json.encode(message)
        match message:
            case AssistantMessage(content=content):
                assert any(isinstance(block, Text | ToolCall) for block in content)
                calls = [block.id for block in content if isinstance(block, ToolCall)]
                for block in content:
                    if isinstance(block, ToolCall):
                        assert isinstance(msgspec.json.decode(block.arguments), dict)
                following = sent[index + 1] if index + 1 < len(sent) else None
                results = following.results if isinstance(following, ToolMessage) else ()
                assert [result.id for result in results] == calls
            case ToolMessage(results=results):
                assert results
                assert isinstance(sent[index - 1], AssistantMessage)
            case UserMessage(content=content):
                assert content


def test_a_plain_exchange_is_sent_as_it_was_said() -> None:
    answer = step(
        StepStartPart("p", *WHERE),
        thought("hm", {"signature": "s"}),
        text("I will look", metadata={"phase": "commentary"}),
        call(STATES[2], "c1"),
        call(STATES[4], "c2"),
        StepFinishPart("p", *WHERE, "tool-calls", 0.0, Tokens()),
    )
    user, assistant, results = View().build([said(text("look")), answer])
    assert user == UserMessage((Text("look"),))
    assert isinstance(assistant, AssistantMessage)
    assert assistant.content == (
        Reasoning("hm", "scripted/one", {"signature": "s"}),
        Text("I will look", {"phase": "commentary"}),
        ToolCall("c1", "bash", '{"command":"x"}'),
        ToolCall("c2", "bash", '{"command":"x"}'),
    )
    assert isinstance(results, ToolMessage)
    assert [(one.id, one.output, one.is_error) for one in results.results] == [
        ("c1", "output", False),
        ("c2", "no such file", True),
    ]


def test_calls_without_an_end_get_a_result_that_says_so() -> None:
    for state in STATES[:2]:
        _, results = render(step(call(state)))
        assert isinstance(results, ToolMessage)
        assert (results.results[0].output, results.results[0].is_error) == (STOPPED, True)


@pytest.mark.parametrize("blank", BLANKS)
def test_nothing_blank_is_sent(blank: str) -> None:
    assert render(said(text(blank))) == ()
    assert render(step(text(blank))) == ()
    assert render(step(thought(blank), text(blank))) == ()
    assert render(step(thought("only thinking"))) == ()
    assert render(step(text("never sent", ignored=True))) == ()
    _, results = render(step(call(ToolCompleted({}, blank, "", {}, DONE))))
    assert texts_of(results) == [NO_OUTPUT]
    _, results = render(step(call(ToolFailed({}, blank, DONE))))
    assert texts_of(results) == [FAILED]


def test_reasoning_that_is_only_metadata_is_handed_back() -> None:
    (message,) = render(step(thought("", {"redacted": "xyz"}), text("answer")))
    assert isinstance(message, AssistantMessage)
    assert message.content[0] == Reasoning("", "scripted/one", {"redacted": "xyz"})


def test_a_step_that_was_broken_off_keeps_what_it_said() -> None:
    kept = ("MessageAbortedError", "MessageOutputLengthError", "LimitError")
    for name in kept:
        assert render(step(text("half of it"), error=error(name))) != ()
    for name in ("APIError", "ContextOverflowError", "ContentFilterError", "RepetitionError"):
        assert render(step(text("half of it"), error=error(name))) == ()
        assert render(step(text("half of it"), call(STATES[2]), error=error(name))) != ()


def test_a_hidden_step_is_left_out_with_its_results() -> None:
    assert render(step(text("again and again"), call(STATES[2]), hidden=True)) == ()


def test_what_a_failed_tool_had_printed_is_shown() -> None:
    state = ToolFailed({}, "stopped", DONE, {"output": "line 1"})
    _, results = render(step(call(state)))
    assert texts_of(results) == ["stopped\n\nOutput until then:\nline 1"]


def test_media_are_sent_and_files_without_data_are_not() -> None:
    image = FilePart("p", *WHERE, "image/png", "data:image/png;base64,AAAA", "a.png")
    assert render(said(image)) == (UserMessage((Media("image/png", "AAAA", "a.png"),)),)
    for url in ("file:///etc/passwd", "data:image/png;base64,", "data:text/plain,hi"):
        assert render(said(FilePart("p", *WHERE, "image/png", url))) == ()
    done = ToolCompleted({}, "", "", {}, DONE, (image,))
    _, results = render(step(call(done)))
    assert isinstance(results, ToolMessage)
    assert results.results[0].media == (Media("image/png", "AAAA", "a.png"),)


def test_mentions_and_parts_of_unknown_types_are_put_into_words() -> None:
    unknown = UnknownPart("p", *WHERE, "hologram", msgspec.Raw(b"{}"))
    (message,) = render(said(AgentPart("p", *WHERE, "explore"), unknown))
    words = texts_of(message)
    assert words[0] == "@explore"
    assert "hologram" in words[1]


def test_a_repaired_history_is_strict(stage: Stage) -> None:
    info = answer_info(stage.session_id)
    where = (stage.session_id, info.id)
    parts: tuple[Part, ...] = (
        TextPart("prt_1", *where, "", time=Span(1)),
        ReasoningPart("prt_2", *where, "hm", Span(1)),
        *(
            ToolPart(f"prt_c{n}", *where, f"call_{n}", "bash", state)
            for n, state in enumerate(STATES)
        ),
    )
    stage.do(
        lambda tx: transcript.append_message(
            tx, Message(info, parts), actor_id="main", turn_id=None
        )
    )
    stage.do(lambda tx: repair.repair(tx, stage.session_id, "main"))
    history = [said(text("go")), *stage.history(), said(text("go on"))]
    sent = View().build(history)
    assert_strict(sent)
    assert len(sent) == 4
    assert STOPPED not in texts_of(sent[2])


words = st.sampled_from(["hello", "a b", *BLANKS])
metadata = st.sampled_from([None, {}, {"signature": "s"}])
errors = st.sampled_from([None, "MessageAbortedError", "APIError", "LimitError"])


def assistant_parts(index: int) -> st.SearchStrategy[list[Part]]:
    part = st.one_of(
        st.builds(lambda w, i: text(w, ignored=i), words, st.booleans()),
        st.builds(thought, words, metadata),
        st.sampled_from(STATES),
        st.just(StepStartPart("p", *WHERE)),
    )
    return st.lists(part, max_size=5).map(
        lambda found: [
            call(one, f"call_{index}_{n}") if isinstance(one, ToolState) else one
            for n, one in enumerate(found)
        ]
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for index in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            messages.append(said(*draw(st.lists(words.map(text), max_size=3))))
        else:
            name = draw(errors)
            parts = draw(assistant_parts(index))
            hidden = draw(st.booleans())
            messages.append(step(*parts, error=error(name) if name else None, hidden=hidden))
    return messages


@settings(max_examples=200, deadline=None, database=None)
@given(histories())
def test_no_history_whatever_breaks_the_rules(messages: list[Message]) -> None:
    assert_strict(View().build(messages))


@settings(max_examples=50, deadline=None, database=None)
@given(histories(), histories())
def test_a_longer_history_begins_with_the_very_same_messages(
    before: list[Message], more: list[Message]
) -> None:
    view = View()
    first = view.build(before)
    second = view.build([*before, *more])
    assert len(first) <= len(second)
    assert all(one is other for one, other in zip(first, second, strict=False))
    third = view.build([*before, *more])
    assert all(one is other for one, other in zip(second, third, strict=True))


def test_a_changed_message_is_rendered_anew_and_the_rest_is_not() -> None:
    view = View()
    one, two = said(text("one")), said(text("two"))
    first = view.build([one, two])
    changed = Message(two.info, (text("three"),))
    second = view.build([one, changed])
    assert second[0] is first[0]
    assert texts_of(second[1]) == ["three"]

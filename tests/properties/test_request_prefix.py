"""Law: a request is a byte prefix of the next one, unless something has declared the break."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import answer_info, user_message

from roost.context.view import View
from roost.llm.models import Dialect, Model, ModelRequest, ToolSpec
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare
from roost.sessions.models import AssistantInfo, Message, MessageError, MessageTime
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolTime,
)
from roost.turn.continuity import Continuity

WHERE = ("ses_1", "msg_1")
TOOLS = (ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {}}),)
MODELS: list[tuple[Dialect, str, str]] = [
    ("openai-chat", "scripted", "one"),
    ("openai-chat", "openrouter", "anthropic/claude-sonnet-4"),
    ("openai-responses", "openai", "gpt-5"),
    ("anthropic", "anthropic", "claude-sonnet-4-5"),
]
CLOSERS = b'"}]'
"""What ends a list of messages, and the last of them, wherever the next request goes on."""
MARK = b',"cache_control":{"type":"ephemeral"}'


def call(number: int, *, good: bool, said: str) -> ToolPart:
    given = {"command": f"command {number}"}
    done: Any = (
        ToolCompleted(given, said, "", {}, ToolTime(1, 2))
        if good
        else ToolFailed(given, said, ToolTime(1, 2))
    )
    return ToolPart("prt", *WHERE, f"call_{number}", "bash", done)


class Conversation:
    """A slice that grows, and the requests made of it."""

    def __init__(self, of: tuple[Dialect, str, str]) -> None:
        dialect, provider, name = of
        self.model = Model(provider, name, dialect, "http://127.0.0.1/v1", reasons=True)
        self.messages: list[Message] = [user_message("ses_1", TextPart("p", *WHERE, "go"))]
        self.view, self.cache, self.watch = View(), EncodingCache(), Continuity()
        self.bodies: list[tuple[bytes, bool]] = []
        self._number = 0

    def ask(self, *reminders: str) -> None:
        """Make a request, and note whether a break was declared before it."""
        declared = len(self.watch.declared)
        request = ModelRequest(
            model=self.model,
            system=("You help.", "Working directory: /somewhere"),
            messages=self.view.build(self.messages),
            reminders=reminders,
            tools=TOOLS,
        )
        self.watch.see(request)
        plain = msgspec.structs.replace(request, reminders=())
        body = prepare(plain, self.cache)[0].body.replace(MARK, b"")
        reminded = prepare(request, self.cache)[0].body
        assert not reminders or reminders[-1].encode() in reminded[-200:]
        self.bodies.append((body, len(self.watch.declared) > declared))

    def said(self, text: str, *, person: bool) -> None:
        part = TextPart("prt", *WHERE, text)
        self.messages.append(user_message("ses_1", part, person=person))

    def step(self, kind: str, text: str) -> None:
        self._number += 1
        thought = ReasoningPart("prt", *WHERE, f"I think of {text}.", Span(1, 2))
        words = TextPart("prt", *WHERE, text)
        calls: list[Part] = [call(self._number, good=kind != "failed", said=text)]
        parts: dict[str, list[Part]] = {
            "calls": [thought, words, *calls],
            "failed": calls,
            "many": [*calls, call(self._number + 1_000, good=True, said="more")],
            "answer": [words],
            "thought": [thought],
            "nothing": [],
            "aborted": [words],
        }
        error = MessageError("MessageAbortedError", {"message": "x"}) if kind == "aborted" else None
        info = answer_info("ses_1", time=MessageTime(1, 2), finish="stop", error=error)
        self.messages.append(Message(info, tuple(parts[kind])))

    def hide(self, at: int) -> None:
        """Leave out a step, as a policy may."""
        steps = [n for n, one in enumerate(self.messages) if isinstance(one.info, AssistantInfo)]
        if not steps:
            return
        place = steps[at % len(steps)]
        message = self.messages[place]
        hidden = msgspec.structs.replace(message.info, hidden=True)
        self.messages[place] = Message(hidden, message.parts)
        self.watch.declare("a step is left out")


words = st.text('abc <>&"\\\n项目🙂', min_size=1, max_size=12)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("person"), words),
        st.tuples(st.just("mail"), words),
        st.tuples(
            st.sampled_from(["calls", "failed", "many", "answer", "thought", "nothing", "aborted"]),
            words,
        ),
        st.tuples(st.just("remind"), st.integers(0, 9).map(lambda n: f"reminder {n}")),
        st.tuples(st.just("hide"), st.integers(0, 30)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("of", MODELS, ids=lambda of: "/".join(of[1:]))
@settings(max_examples=60, deadline=None, database=None)
@given(moves)
def test_a_request_begins_with_all_of_the_one_before_it_unless_a_break_was_declared(
    of: tuple[Dialect, str, str], played: list[tuple[str, Any]]
) -> None:
    talk = Conversation(of)
    talk.ask()
    for kind, given_ in played:
        match kind:
            case "person" | "mail":
                talk.said(given_, person=kind == "person")
                talk.ask()
            case "remind":
                talk.ask(given_)
            case "hide":
                talk.hide(given_)
            case _:
                talk.step(kind, given_)
                talk.said("Go on.", person=False)
                talk.ask()
    assert talk.watch.unplanned == 0
    for (before, _), (after, declared) in pairwise(talk.bodies):
        if not declared:
            assert after.startswith(stem(before)), (before, after)


def stem(body: bytes) -> bytes:
    """A body without what closes it: `]`, the braces of the last message, an open string."""
    return body.rstrip(b"}]").rstrip(CLOSERS)


def test_the_watch_sees_what_nobody_declared() -> None:
    talk = Conversation(MODELS[0])
    talk.step("calls", "one")
    talk.ask()
    talk.step("calls", "two")
    talk.messages[1] = talk.messages[2]
    talk.ask()
    assert talk.watch.unplanned == 1
    talk.hide(0)
    talk.ask()
    assert (talk.watch.unplanned, talk.watch.declared) == (1, ["a step is left out"])

from stage import Stage, answer_info, texts, user_message

from roost.core.ids import new_id
from roost.sessions import repair, transcript
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
    ToolTime,
    is_open,
)

DONE = ToolCompleted({"a": 1}, "output", "title", {}, ToolTime(1, 2))


def tool(info: AssistantInfo, call_id: str, state: ToolState) -> ToolPart:
    return ToolPart(new_id("part"), info.session_id, info.id, call_id, "bash", state)


def open_step(stage: Stage, actor_id: str = "main") -> AssistantInfo:
    info = answer_info(stage.session_id)
    where = (new_id("part"), info.session_id, info.id)
    parts: tuple[Part, ...] = (
        ReasoningPart(*where, text="I think", time=Span(1)),
        TextPart(new_id("part"), *where[1:], text="Let me", time=Span(1)),
        tool(info, "done", DONE),
        tool(info, "running", ToolRunning({"b": 2}, Span(5), metadata={"output": "so far"})),
        tool(info, "pending", ToolPending({}, "")),
    )
    stage.do(
        lambda tx: transcript.append_message(
            tx, Message(info, parts), actor_id=actor_id, turn_id=None
        )
    )
    stage.do(lambda tx: transcript.append_tail(tx, parts[1].id, " see"))
    return info


def mend(stage: Stage, actor_id: str = "main") -> None:
    stage.do(lambda tx: repair.repair(tx, stage.session_id, actor_id))


def test_what_a_dead_process_left_open_is_closed_and_says_why(stage: Stage) -> None:
    open_step(stage)
    mend(stage)
    (message,) = stage.history()
    assert not any(map(is_open, message.parts))
    assert texts([message]) == ["Let me see"]
    assert isinstance(message.info, AssistantInfo)
    assert message.info.time.completed is not None
    assert message.info.error is not None
    assert message.info.error.name == "MessageAbortedError"
    states = {part.call_id: part.state for part in message.parts if isinstance(part, ToolPart)}
    assert states["done"] == DONE
    running, pending = states["running"], states["pending"]
    assert isinstance(running, ToolFailed)
    assert "may have had effects" in running.error
    assert running.metadata == {"output": "so far", "interrupted": True}
    assert running.input == {"b": 2}
    assert running.time.start == 5
    assert isinstance(pending, ToolFailed)
    assert "had no effect" in pending.error


def test_a_second_repair_changes_nothing_and_tells_nothing(stage: Stage) -> None:
    open_step(stage)
    mend(stage)
    before = stage.history()
    stage.events.clear()
    mend(stage)
    assert stage.history() == before
    assert stage.events == []


def test_other_slices_are_left_alone(stage: Stage) -> None:
    open_step(stage)
    open_step(stage, "explore-1")
    before = stage.history(stage.helper)
    mend(stage)
    assert stage.history(stage.helper) == before
    assert any(map(is_open, before[0].parts))


def test_clients_are_told_of_what_changed_and_of_nothing_else(stage: Stage) -> None:
    open_step(stage)
    stage.events.clear()
    mend(stage)
    assert stage.event_types() == ["message.part.updated"] * 4 + ["message.updated"]


def test_a_history_without_loose_ends_is_left_as_it_is(stage: Stage) -> None:
    message = user_message(stage.session_id)
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None))
    stage.events.clear()
    mend(stage)
    assert stage.events == []
    assert stage.history() == [message]

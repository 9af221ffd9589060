"""What is stored of undo: where a session is cut, what it changed, and what a cut takes out."""

from pathlib import Path
from typing import Any

import pytest
from stage import Stage, answer_info, note, prompt, user_message

from roost.core.errors import NotFoundError
from roost.inbox import unsaid
from roost.sessions import export, file_changes, transcript, undo_store
from roost.sessions import store as sessions
from roost.sessions.file_changes import ChangedFile
from roost.sessions.models import Message, MessageTime, Reverted
from roost.sessions.parts import (
    Part,
    PatchPart,
    Span,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolTime,
)
from roost.sessions.repair import INTERRUPTED
from roost.sessions.undo_store import Cut, UndoState
from roost.workspace.snapshot_changes import Sides
from roost.workspace.snapshot_models import FILE, Entry, Patch

A, B, C = ("a" * 40, "b" * 40, "c" * 40)
DONE = ToolTime(1, 2)


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    made = Stage(tmp_path / "roost.db")
    made.furnish()
    yield made
    made.close()


class Talk:
    """Messages of a session, one after the other."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._parts = 0

    def _id(self) -> str:
        self._parts += 1
        return f"prt_{self._parts:04}"

    def says(self, text: str, actor: str = "main") -> str:
        message = user_message(self.stage.session_id)
        part = TextPart(self._id(), self.stage.session_id, message.info.id, text)
        return self._put(Message(message.info, (part,)), actor)

    def answers(self, *kinds: str, actor: str = "main") -> str:
        """An answer with parts of these kinds: `text`, `tool`, `patch` of the tool before it."""
        info = answer_info(self.stage.session_id, time=MessageTime(1, 2))
        parts: list[Part] = []
        tools: list[str] = []
        for kind in kinds:
            where = (self._id(), self.stage.session_id, info.id)
            if kind == "text":
                parts.append(TextPart(*where, "words"))
            elif kind == "tool":
                state = ToolCompleted({}, "out", "", {}, DONE)
                parts.append(ToolPart(*where, call_id="c", tool="bash", state=state))
                tools.append(where[0])
            elif kind == "cut":
                state = ToolFailed({"command": "make"}, INTERRUPTED, DONE, {"interrupted": True})
                parts.append(ToolPart(*where, call_id="c", tool="bash", state=state))
            elif kind == "start":
                parts.append(StepStartPart(*where))
            else:
                done = sum(isinstance(one, PatchPart) for one in parts)
                owner = tools[done] if done < len(tools) else None
                parts.append(PatchPart(*where, A, (), B, Span(1, 2), owner))
        return self._put(Message(info, tuple(parts)), actor)

    def _put(self, message: Message, actor: str) -> str:
        self.stage.do(
            lambda tx: transcript.append_message(tx, message, actor_id=actor, turn_id=None)
        )
        return message.info.id

    def cut(self, message_id: str, part_id: str | None = None) -> Cut:
        session_id = self.stage.session_id
        return self.stage.read(lambda db: undo_store.cut_at(db, session_id, message_id, part_id))

    def parts(self, message_id: str) -> list[str]:
        found = self.stage.read(
            lambda db: transcript.find_message(db, self.stage.session_id, message_id)
        )
        assert found is not None
        return [part.id for part in found.parts]


def test_an_answer_is_cut_with_the_words_that_it_answers(stage: Stage) -> None:
    talk = Talk(stage)
    talk.says("one")
    talk.answers("text")
    two = talk.says("two")
    talk.says("brief", actor="explore-1")
    answer = talk.answers("start", "text", "tool", "patch")
    assert talk.cut(two) == Cut(two, 3)
    assert talk.cut(answer) == Cut(two, 3)
    start, text, tool, _ = talk.parts(answer)
    assert talk.cut(answer, start) == talk.cut(answer, text) == Cut(two, 3)
    assert talk.cut(answer, tool) == Cut(answer, 5, tool, 3)
    with pytest.raises(NotFoundError, match="no part"):
        talk.cut(answer, "prt_nowhere")
    with pytest.raises(NotFoundError, match="no message"):
        talk.cut("msg_nowhere")


def test_patches_go_with_the_calls_that_made_them_wherever_they_stand(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    talk.says("one")
    talk.answers("tool", "patch", actor="explore-1")
    answer = talk.answers("text", "tool", "tool", "patch", "patch")
    later = talk.answers("tool", "patch", actor="explore-1")
    _, _, second, first_patch, second_patch = talk.parts(answer)
    cut = talk.cut(answer, second)
    taken = stage.read(lambda db: undo_store.patches_from(db, session_id, cut))
    assert [one.id for one in taken] == [second_patch, talk.parts(later)[1]]
    left = stage.read(lambda db: undo_store.patches_before(db, session_id, cut))
    assert [one.id for one in left][-1] == first_patch
    assert len(left) == 2
    assert len(stage.read(lambda db: undo_store.patches_before(db, session_id, None))) == 4
    removed = stage.do(lambda tx: undo_store.remove_from(tx, session_id, cut))
    assert removed.messages == (later,)
    assert talk.parts(answer)[-1] == first_patch
    assert stage.event_types()[-2:] == ["message.part.removed", "message.part.removed"]


def test_who_lost_all_that_was_said_to_him_is_told(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    talk.says("before", actor="explore-1")
    one = talk.says("one")
    talk.says("brief", actor="general-1")
    talk.says("more", actor="explore-1")
    cut = talk.cut(one)
    assert stage.read(lambda db: undo_store.count_from(db, session_id, cut)) == 3
    removed = stage.do(lambda tx: undo_store.remove_from(tx, session_id, cut))
    assert removed.actors == {"general-1"}, "main is never one of them"


def test_calls_whose_process_died_are_known(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    one = talk.says("one")
    talk.answers("tool", "cut")
    cut = talk.cut(one)
    (call,) = stage.read(lambda db: undo_store.cut_short(db, session_id, cut))
    assert call.state.input == {"command": "make"}


def file(path: str, before: str | None, after: str | None, plus: int, minus: int) -> ChangedFile:
    sides = [None if one is None else Entry(FILE, bytes.fromhex(one)) for one in (before, after)]
    return ChangedFile(path, Sides(*sides), plus, minus)


def test_what_a_file_was_before_its_first_change_is_never_forgotten(stage: Stage) -> None:
    session_id = stage.session_id
    stage.do(lambda tx: file_changes.note(tx, session_id, [file("a", A, B, 1, 1)]))
    stage.do(lambda tx: file_changes.note(tx, session_id, [file("a", B, C, 5, 2)]))
    (known,) = stage.read(lambda db: file_changes.of_session(db, session_id))
    assert known == file("a", A, C, 5, 2)
    session = stage.read(lambda db: sessions.get(db, session_id))
    assert session.summary is not None
    assert (session.summary.additions, session.summary.files) == (5, 1)
    told = [one for one in stage.events if one.type == "session.diff"][-1].properties["diff"]
    assert [(one.file, one.status, one.additions) for one in told] == [("a", "modified", 5)]
    stage.do(lambda tx: file_changes.note(tx, session_id, [file("a", A, A, 0, 0)]))
    assert stage.read(lambda db: file_changes.of_session(db, session_id)) == []
    assert stage.read(lambda db: sessions.get(db, session_id)).summary is None


def test_what_turned_out_not_to_be_done_is_put_back(stage: Stage) -> None:
    session_id = stage.session_id
    first = file("a", A, B, 1, 1)
    stage.do(lambda tx: file_changes.note(tx, session_id, [first]))
    known = stage.read(lambda db: file_changes.earlier(db, session_id, ["a", "b"]))
    more = [file("a", A, C, 2, 2), file("b", None, C, 3, 0)]
    stage.do(lambda tx: file_changes.note(tx, session_id, more))
    stage.do(lambda tx: file_changes.put_back(tx, session_id, ["a", "b"], known))
    assert stage.read(lambda db: file_changes.of_session(db, session_id)) == [first]


def test_many_files_are_summed_up_though_events_name_few(stage: Stage) -> None:
    session_id = stage.session_id
    many = [file(f"f{number:04}", A, B, 1, 0) for number in range(300)]
    stage.do(lambda tx: file_changes.note(tx, session_id, many))
    summary = stage.read(lambda db: sessions.get(db, session_id)).summary
    assert summary is not None
    assert (summary.files, summary.additions) == (300, 300)
    told = [one for one in stage.events if one.type == "session.diff"][-1].properties["diff"]
    assert len(told) == file_changes.TOLD
    paths = [one.path for one in many]
    assert len(stage.read(lambda db: file_changes.earlier(db, session_id, paths))) == 300


def test_snapshots_are_needed_while_a_session_is_used(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    talk.says("one")
    talk.answers("tool", "patch")
    state = UndoState(phase="reverted", cut=Cut("msg", 1), undos=(Patch(C, "0" * 40, None),))
    stage.do(lambda tx: undo_store.put(tx, session_id, state))
    assert stage.read(lambda db: undo_store.find(db, session_id)) == state
    named = stage.read(lambda db: undo_store.snapshots_named(db, "project", 0))
    assert named == {A, B, C, "0" * 40}
    later = stage.read(lambda db: sessions.get(db, session_id)).time.updated + 1
    assert stage.read(lambda db: undo_store.snapshots_named(db, "project", later)) == set()
    assert stage.read(lambda db: undo_store.snapshots_named(db, "other", 0)) == set()


def test_what_cannot_be_read_of_it_is_as_if_it_were_not_there(stage: Stage) -> None:
    stage.do(
        lambda tx: tx.run(
            "INSERT INTO undo (session_id, data) VALUES (?, '{\"phase\": 7}')", (stage.session_id,)
        )
    )
    assert stage.read(lambda db: undo_store.find(db, stage.session_id)) is None


def test_what_is_taken_back_is_not_what_a_copy_of_the_conversation_knows(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    talk.says("one")
    known = talk.answers("text")
    two = talk.says("two")
    last = talk.answers("text")
    assert stage.read(lambda db: transcript.last_closed(db, session_id, "main")) == last
    stage.do(lambda tx: sessions.set_reverted(tx, session_id, Reverted(two), 3))
    assert stage.read(lambda db: transcript.last_closed(db, session_id, "main")) == known


def test_an_exported_session_is_imported_without_what_is_taken_back(stage: Stage) -> None:
    talk, session_id = Talk(stage), stage.session_id
    first = talk.says("one")
    answer = talk.answers("text", "tool", "patch")
    talk.says("two")
    part = talk.parts(answer)[1]
    for revert, kept in (
        (Reverted(answer), [first]),
        (Reverted(answer, part), [first, answer]),
    ):
        stage.do(lambda tx, one=revert: sessions.set_reverted(tx, session_id, one, 2))
        document = export.encode(stage.read(lambda db: export.read_session(db, session_id)))
        loaded = export.decode(document, "file")
        assert [message.info.id for message in loaded.messages] == kept
        assert loaded.info.revert is None
    assert [part.id for part in loaded.messages[-1].parts] == talk.parts(answer)[:1]


def test_mail_that_was_never_said_is_forgotten_and_other_mail_stays(stage: Stage) -> None:
    session_id = stage.session_id
    before = stage.send(note(stage.helper, "earlier", sender=stage.main, wake=False))
    said = stage.send(prompt(stage.main, "the prompt"))
    claim = stage.claim()
    assert claim is not None
    (heard,) = stage.drain(claim)
    stage.settle(claim)
    own = stage.send(note(stage.main, "own", sender=stage.helper, wake=False))
    other = stage.send(note(stage.main, "of another session", wake=False))
    words = stage.send(prompt(stage.main, "words"))
    mark = stage.read(unsaid.last_seq)
    later = stage.send(prompt(stage.main, "later"))
    assert stage.read(lambda db: unsaid.seq_of_heard(db, session_id, heard.info.id)) == said.seq

    stage.do(lambda tx: unsaid.forget_heard(tx, session_id, [heard.info.id]))
    stage.do(lambda tx: unsaid.forget_unheard(tx, session_id, said.seq, mark))
    left = {row.id for row in stage.rows()}
    gone = {said.id, own.id, words.id}
    assert left.isdisjoint(gone)
    assert {before.id, later.id} <= left
    assert (other.id in left) is False, "without a sender it is the runtime's own"

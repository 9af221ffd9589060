"""The effective slice: the newest mark, its tail, what came since; as loaded and as it grows."""

from hypothesis import given, settings
from hypothesis import strategies as st
from stage import Stage, answer_info, texts, user_message

from roost.core.ids import new_id
from roost.db.transaction import Transaction
from roost.sessions import effective, transcript
from roost.sessions.effective import Slice
from roost.sessions.models import Message
from roost.sessions.parts import CompactionPart, Part, TextPart


class Talk:
    """A conversation that is stored, and kept as it grows."""

    def __init__(self, stage: Stage, actor_id: str = "main") -> None:
        self.stage = stage
        self.actor_id = actor_id
        self.grown = Slice(())
        self.said: list[Message] = []

    def say(self, text: str, *marks: Part) -> Message:
        bare = user_message(self.stage.session_id)
        part = TextPart(new_id("part"), self.stage.session_id, bare.info.id, text)
        return self.add(Message(bare.info, (*marks, part)))

    def mark(self, tail: Message | None, text: str = "mark") -> Message:
        bare = user_message(self.stage.session_id)
        part = CompactionPart(
            id=new_id("part"),
            session_id=self.stage.session_id,
            message_id=bare.info.id,
            auto=True,
            tail_start_id=tail.info.id if tail else None,
        )
        words = TextPart(new_id("part"), self.stage.session_id, bare.info.id, text)
        return self.add(Message(bare.info, (part, words)))

    def add(self, message: Message) -> Message:
        def store(tx: Transaction) -> None:
            transcript.append_message(tx, message, actor_id=self.actor_id, turn_id=None)

        self.stage.do(store)
        self.said.append(message)
        known = self.grown
        grew = effective.effective([*known.messages, message])
        was_marked = effective.mark_of(message) is not None
        self.grown = grew if was_marked else Slice(grew.messages, known.settled)
        return message

    def loaded(self) -> Slice:
        address = self.stage.session_id, self.actor_id
        return self.stage.read(lambda db: effective.load(db, *address))


def test_without_a_mark_everything_is_shown(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("one")
    talk.say("two")
    assert texts(list(talk.loaded().messages)) == ["one", "two"]
    assert talk.loaded().settled == 0
    assert talk.loaded().mark is None


def test_the_mark_comes_first_then_its_tail_then_what_came_since(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("one")
    tail = talk.say("two")
    talk.say("three")
    talk.mark(tail)
    talk.say("four")
    found = talk.loaded()
    assert texts(list(found.messages)) == ["mark", "two", "three", "four"]
    assert found.settled == 3
    assert found.mark is not None


def test_a_mark_without_a_tail_stands_for_all_before_it(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("one")
    talk.mark(None)
    talk.say("two")
    assert texts(list(talk.loaded().messages)) == ["mark", "two"]


def test_an_older_mark_is_never_part_of_a_tail(stage: Stage) -> None:
    talk = Talk(stage)
    first = talk.say("one")
    talk.mark(first, "first mark")
    talk.say("two")
    talk.mark(first, "second mark")
    assert texts(list(talk.loaded().messages)) == ["second mark", "one", "two"]


def test_steps_that_were_left_out_stay_out_of_a_tail(stage: Stage) -> None:
    talk = Talk(stage)
    first = talk.say("one")
    talk.add(Message(answer_info(stage.session_id, hidden=True)))
    talk.mark(first)
    assert texts(list(talk.loaded().messages)) == ["mark", "one"]


def test_a_tail_that_is_gone_is_no_harm(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("one")
    tail = talk.say("two")
    talk.mark(tail)
    stage.do(lambda tx: transcript.remove_message(tx, stage.session_id, tail.info.id))
    assert texts(list(talk.loaded().messages)) == ["mark"]


def test_marks_hold_for_the_slice_that_they_are_in(stage: Stage) -> None:
    main, helper = Talk(stage), Talk(stage, "explore-1")
    main.say("to main")
    helper.say("to the helper")
    main.mark(None)
    assert texts(list(helper.loaded().messages)) == ["to the helper"]
    assert texts(list(main.loaded().messages)) == ["mark"]


def test_what_was_before_a_message_is_as_it_was_then(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("one")
    two = talk.say("two")
    talk.mark(None)
    seq = stage.read(lambda db: transcript.seq_of(db, two.info.id))
    assert seq is not None
    then = stage.read(lambda db: effective.load(db, stage.session_id, "main", before=seq + 1))
    assert texts(list(then.messages)) == ["one", "two"]


@settings(max_examples=60, deadline=None, database=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=14))
def test_a_slice_that_grew_is_the_one_that_is_loaded(acts: list[int | None]) -> None:
    """None says something; a number sets a mark whose tail begins so many messages ago."""
    stage = Stage(None)
    stage.furnish()
    talk = Talk(stage)
    for at, act in enumerate(acts):
        if act is None:
            talk.say(f"{at}")
        else:
            plain = [one for one in talk.grown.messages if effective.mark_of(one) is None]
            talk.mark(plain[-act] if 0 < act <= len(plain) else None, f"mark {at}")
    assert talk.loaded() == talk.grown
    stage.close()

import msgspec
import pytest
from stage import Stage, answer_info, texts, user_message

from roost.core.errors import ConflictError, NotFoundError
from roost.core.ids import new_id
from roost.db.transaction import Reader
from roost.sessions import transcript
from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import Span, TextPart, UnknownPart, decode_part, encode_part


def text_part(message_id: str, session_id: str, text: str, *, open_: bool = False) -> TextPart:
    return TextPart(new_id("part"), session_id, message_id, text, time=Span(1) if open_ else None)


def say(stage: Stage, text: str, actor_id: str = "main") -> Message:
    message = user_message(stage.session_id)
    part = text_part(message.info.id, stage.session_id, text)
    message = Message(message.info, (part,))
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id=actor_id, turn_id=None))
    return message


def test_the_order_is_the_order_of_acceptance_whatever_ids_say(stage: Stage) -> None:
    message = say(stage, "one")
    older = msgspec.structs.replace(message.info, id="msg_000000000000aaaaaaaaaaaaaa")
    stage.do(
        lambda tx: transcript.append_message(tx, Message(older), actor_id="main", turn_id=None)
    )
    say(stage, "three")
    assert texts(stage.history()) == ["one", "", "three"]


def test_a_slice_holds_one_actor_and_none_means_all(stage: Stage) -> None:
    say(stage, "to main")
    say(stage, "to the helper", "explore-1")
    assert texts(stage.history()) == ["to main"]
    assert texts(stage.history(stage.helper)) == ["to the helper"]
    everything = stage.read(lambda db: transcript.load(db, stage.session_id, None))
    assert texts(everything) == ["to main", "to the helper"]


def test_pages_go_backwards(stage: Stage) -> None:
    said = [say(stage, str(number)) for number in range(10)]

    def page(before: Message | None) -> list[str]:
        def read(db: Reader) -> list[Message]:
            seq = transcript.seq_of(db, before.info.id) if before else None
            return transcript.load(db, stage.session_id, "main", limit=4, before=seq)

        return texts(stage.read(read))

    assert page(None) == ["6", "7", "8", "9"]
    assert page(said[6]) == ["2", "3", "4", "5"]
    assert page(said[2]) == ["0", "1"]
    assert page(said[0]) == []


def test_an_id_is_used_once(stage: Stage) -> None:
    message = say(stage, "one")
    with pytest.raises(ConflictError, match=message.info.id):
        stage.do(lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None))
    assert texts(stage.history()) == ["one"]


def test_ids_that_are_taken_are_replaced_and_the_message_stays_whole(stage: Stage) -> None:
    message = say(stage, "one")
    copy = stage.do(lambda tx: transcript.with_free_ids(tx, message))
    twice = Message(copy.info, (*copy.parts, *copy.parts))
    copy = stage.do(lambda tx: transcript.with_free_ids(tx, twice))
    stage.do(lambda tx: transcript.append_message(tx, copy, actor_id="main", turn_id=None))
    assert texts(stage.history()) == ["one", "one one"]
    assert {part.message_id for part in copy.parts} == {copy.info.id}
    assert copy.info.id > message.info.id
    other = user_message(stage.session_id)
    assert stage.read(lambda db: transcript.with_free_ids(db, other)) == other


def test_a_part_never_moves_into_a_message_that_has_its_id(stage: Stage) -> None:
    first, second = say(stage, "first"), say(stage, "second")
    thief = msgspec.structs.replace(first.parts[0], message_id=second.info.id)
    with pytest.raises(Exception, match="UNIQUE"):
        stage.do(lambda tx: transcript.put_part(tx, thief))
    assert texts(stage.history()) == ["first", "second"]


def test_streaming_text_is_appended_and_read_back_as_far_as_it_came(stage: Stage) -> None:
    info = answer_info(stage.session_id)
    part = text_part(info.id, stage.session_id, "", open_=True)
    stage.do(
        lambda tx: transcript.append_message(
            tx, Message(info, (part,)), actor_id="main", turn_id=None
        )
    )
    for piece in ("Once ", "upon ", "a time"):
        stage.do(lambda tx, p=piece: transcript.append_tail(tx, part.id, p))
    assert texts(stage.history()) == ["Once upon a time"]
    found = stage.read(lambda db: transcript.find_message(db, stage.session_id, info.id))
    assert found is not None
    assert texts([found]) == ["Once upon a time"]
    whole = msgspec.structs.replace(part, text="Once upon a time.", time=Span(1, 2))
    stage.do(lambda tx: transcript.put_part(tx, whole))
    assert texts(stage.history()) == ["Once upon a time."]
    assert stage.read(lambda db: db.all("SELECT * FROM part_tail")) == []


def test_twenty_thousand_deltas_cost_bytes_in_proportion_to_the_text(stage: Stage) -> None:
    """Saved every 4 KB, not as a whole each time: the sum of the writes stays linear."""
    info = answer_info(stage.session_id)
    part = text_part(info.id, stage.session_id, "", open_=True)
    message = Message(info, (part,))
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None))
    before = stage.read(lambda db: db.all("PRAGMA page_count"))[0][0]
    text = "twelve chars" * 20_000
    for start in range(0, len(text), 4_096):
        piece = text[start : start + 4_096]
        stage.do(lambda tx, p=piece: transcript.append_tail(tx, part.id, p))
    stage.do(lambda tx: transcript.put_part(tx, msgspec.structs.replace(part, text=text)))
    pages = stage.read(lambda db: db.all("PRAGMA page_count"))[0][0] - before
    assert pages * 4_096 < 3 * len(text)
    log = stage.path.with_name("roost.db-wal").stat().st_size
    assert log < 12 * len(text)


def test_changes_name_what_they_cannot_find(stage: Stage) -> None:
    with pytest.raises(NotFoundError, match="msg_none"):
        stage.do(lambda tx: transcript.remove_message(tx, stage.session_id, "msg_none"))
    info = answer_info(stage.session_id)
    with pytest.raises(NotFoundError, match=info.id):
        stage.do(lambda tx: transcript.update_message(tx, info))
    assert stage.read(lambda db: transcript.find_message(db, stage.session_id, info.id)) is None


def test_removing_a_message_takes_its_parts_and_tells(stage: Stage) -> None:
    message = say(stage, "gone")
    stage.events.clear()
    stage.do(lambda tx: transcript.remove_message(tx, stage.session_id, message.info.id))
    assert stage.event_types() == ["message.removed"]
    assert stage.read(lambda db: db.all("SELECT * FROM part")) == []


def test_a_part_of_an_unknown_type_is_kept_to_the_byte() -> None:
    raw = '{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"hologram","x":[1,{"y":2}]}'
    part = decode_part(raw)
    assert isinstance(part, UnknownPart)
    assert (part.id, part.type) == ("prt_1", "hologram")
    assert encode_part(part) == raw


def test_a_part_of_a_known_type_in_an_unknown_shape_is_kept_too() -> None:
    raw = '{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":{"rich":1}}'
    part = decode_part(raw)
    assert isinstance(part, UnknownPart)
    assert encode_part(part) == raw


def test_the_newest_id_is_the_greatest(stage: Stage) -> None:
    assert stage.read(lambda db: transcript.last_id(db, stage.session_id)) is None
    message = say(stage, "one")
    assert isinstance(message.info, UserInfo)
    assert stage.read(lambda db: transcript.last_id(db, stage.session_id)) == message.info.id

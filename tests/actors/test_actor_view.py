import msgspec
from stage import Stage, note

from roost.actors import store
from roost.actors.view import view


def test_the_end_of_a_turn_can_be_seen_although_the_actor_is_at_work_again(stage: Stage) -> None:
    stage.send(note(stage.helper, "look"))
    first = stage.claim(stage.helper)
    assert first is not None
    stage.drain(first)
    stage.settle(first, "failure")
    stage.send(note(stage.helper, "look again"))
    again = stage.claim(stage.helper)
    assert again is not None
    stage.drain(again)
    actor = stage.read(lambda db: store.get(db, stage.helper))
    now = stage.read(lambda db: view(db, actor))
    assert (now.status, now.outcome, now.notice) == ("running", None, None)
    ended = msgspec.structs.replace(first.turn, outcome="failure")
    then = stage.read(lambda db: view(db, actor, with_result=True, of=ended))
    assert (then.status, then.outcome) == ("running", "failure")
    assert then.notice is not None
    assert (then.notice.notice, then.notice.turn) == ("failed", 1)

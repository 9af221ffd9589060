"""A process is killed at every write of send, claim, drain, cancel, settle and recovery. Whoever
comes next finds nothing lost, nothing doubled, and the order kept.
"""

from collections.abc import Generator
from pathlib import Path

import pytest
from stage import (
    Stage,
    answer_info,
    assert_laws,
    in_history,
    note,
    run_python,
    texts,
    was_killed,
)

from roost.actors.owner import Owner
from roost.core.ids import new_id
from roost.inbox.models import Address
from roost.sessions import transcript
from roost.sessions.models import Message
from roost.sessions.parts import Span, ToolPart, ToolRunning, is_open

DYING = Path(__file__).with_name("dying.py")
POINTS = [
    "send.before:1",
    "send.before:4",
    "send.inserted:1",
    "send.inserted:6",
    "claim.before",
    "claim.end",
    "drain.message:1",
    "drain.message:3",
    "drain.marked:1",
    "drain.marked:4",
    "cancel.before",
    "cancel.written",
    "settle.before",
    "settle.written",
]


@pytest.fixture
def owner(stage: Stage) -> Generator[Owner]:
    """This process, which lives on and is running the helper when the other one dies."""
    me = Owner(stage.path.parent / "owners")
    stage.send(note(stage.helper, "work"))
    claim = stage.claim(stage.helper, owner=me.id)
    assert claim is not None
    stage.drain(claim)
    leave_a_tool_running(stage, "explore-1")
    yield me
    me.close()


def leave_a_tool_running(stage: Stage, actor_id: str) -> None:
    info = answer_info(stage.session_id)
    part = ToolPart(
        new_id("part"), stage.session_id, info.id, "call", "bash", ToolRunning({}, Span(1))
    )
    message = Message(info, (part,))
    stage.do(lambda tx: transcript.append_message(tx, message, actor_id=actor_id, turn_id=None))


def recover(stage: Stage, owner: Owner) -> list[Address]:
    return stage.recover(owner.is_dead)


def everything(stage: Stage) -> list[object]:
    """All rows that recovery may touch, without the fence of actors that nobody holds."""
    return [
        stage.rows(),
        stage.history(),
        stage.actor().status,
        [tuple(row) for row in stage.read(lambda db: db.all("SELECT * FROM turn ORDER BY id"))],
    ]


def helper_state(stage: Stage) -> tuple[object, ...]:
    return stage.actor(stage.helper), stage.history(stage.helper)


def live_on(stage: Stage, owner: Owner) -> None:
    """Run turns of main until nothing waits for it."""
    while claim := stage.claim(owner=owner.id, is_dead=owner.is_dead):
        stage.drain(claim)
        stage.settle(claim)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_anywhere_loses_nothing_and_doubles_nothing(
    stage: Stage, owner: Owner, point: str
) -> None:
    ours, helper = [row.id for row in stage.rows()], helper_state(stage)
    process = run_python(DYING, str(stage.path), "live", failpoint=f"{point}=kill")
    assert was_killed(process), process.stderr
    accepted = [*ours, *process.stdout.split()]
    assert [row.id for row in stage.rows()] == accepted

    recover(stage, owner)
    assert_laws(stage, accepted)
    assert helper_state(stage) == helper
    once = everything(stage)
    recover(stage, owner)
    assert everything(stage) == once

    live_on(stage, owner)
    assert stage.actor().status == "idle"
    assert_laws(stage, accepted)
    to_main = [row for row in stage.rows() if row.receiver == stage.main]
    assert {row.state for row in to_main} <= {"delivered"}
    assert in_history(stage.history(), to_main) == [row.id for row in to_main]
    assert helper_state(stage) == helper


@pytest.mark.parametrize("nth", [1, 2])
def test_a_kill_in_the_middle_of_recovery_is_recovered_from(
    stage: Stage, owner: Owner, nth: int
) -> None:
    helper = helper_state(stage)
    assert was_killed(run_python(DYING, str(stage.path), "live", failpoint="settle.before=kill"))
    peer = Address(stage.session_id, "peer")
    stage.do(
        lambda tx: tx.run(
            "INSERT INTO actor (session_id, actor_id, mode, fronts, agent, lifecycle, status,"
            " last_activity, created) VALUES (?, 'peer', 'subagent', 0, 'build', 'ephemeral',"
            " 'pending', 0, 0)",
            (stage.session_id,),
        )
    )
    stage.send(note(peer, "hello"))
    leave_a_tool_running(stage, "main")
    point = f"recover.actor:{nth}=kill"
    assert was_killed(run_python(DYING, str(stage.path), "recover", failpoint=point))
    waiting = {address.actor_id for address in recover(stage, owner)}
    assert waiting == {"main", "peer"}
    assert not any(is_open(part) for message in stage.history() for part in message.parts)
    assert helper_state(stage) == helper
    live_on(stage, owner)
    assert_laws(stage, [row.id for row in stage.rows()])
    assert texts(stage.history())[-1] == "steering"

"""What is looked up often is found by an index, however many actors and messages there are."""

from collections.abc import Callable

import pytest
from stage import Stage, prompt

from roost.actors import family, turn_store
from roost.actors import store as actors
from roost.db.transaction import Reader
from roost.inbox import store as inbox


@pytest.fixture
def stage() -> Stage:
    stage = Stage(None)
    stage.furnish()
    stage.send(prompt(stage.main, "Hello."))
    return stage


LOOKS: dict[str, Callable[[Stage, Reader], object]] = {
    "mail of an actor": lambda s, db: inbox.has_mail(db, s.main),
    "a prompt of an actor": lambda s, db: inbox.has_prompt(db, s.main),
    "how much waits": lambda s, db: inbox.count_queued(db, s.main, s.helper),
    "what an actor sent": lambda s, db: inbox.sent_by(db, s.main, 20),
    "children": lambda s, db: family.children(db, s.main),
    "children at work": lambda s, db: family.busy_children(db, s.main),
    "all below": lambda s, db: family.descendants(db, s.main, at_work=True),
    "running subagents": lambda s, db: family.running_subagents(db, s.session_id, besides=s.main),
    "subagents to run": lambda s, db: family.pending_subagents(db, s.session_id),
    "who is to run": lambda s, db: family.pending_in(db, {s.session_id}),
    "who is not at rest": lambda s, db: actors.restless(db, s.session_id),
    "who is not at rest anywhere": lambda s, db: actors.restless(db),
    "what a process runs": lambda s, db: actors.owned_by(db, "proc_one"),
    "a turn of an actor": lambda s, db: turn_store.find_turn(db, s.main, 1),
}


@pytest.mark.parametrize("what", LOOKS)
def test_no_look_reads_a_whole_table(stage: Stage, what: str) -> None:
    statements: list[str] = []
    stage.connection.set_trace_callback(statements.append)
    stage.read(lambda db: LOOKS[what](stage, db))
    stage.connection.set_trace_callback(None)
    looks = [one for one in statements if one.lstrip().upper().startswith(("SELECT", "WITH"))]
    assert looks
    for sql in looks:
        plan = [row[3] for row in stage.connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        scans = [step for step in plan if step.startswith("SCAN") and "INDEX" not in step]
        tables = ("SCAN actor", "SCAN inbox", "SCAN turn", "SCAN message", "SCAN a", "SCAN i")
        assert [step for step in scans if step in tables] == [], (sql, plan)

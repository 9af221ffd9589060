from typing import Any

import pytest
from stage import Stage

from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.tasks import store as tasks
from roost.tasks.models import MOVES, Move, Status, Task


def add(stage: Stage, summary: str, parent: str | None = None) -> Task:
    return stage.do(lambda tx: tasks.create(tx, stage.session_id, summary, parent_id=parent))


def move(stage: Stage, task_id: str, how: Move, reason: str = "") -> Task:
    return stage.do(lambda tx: tasks.move(tx, stage.session_id, task_id, how, reason))


def tree(stage: Stage) -> list[str]:
    return [task.id for task in stage.read(lambda db: tasks.listed(db, stage.session_id))]


def test_tasks_form_a_tree_and_are_listed_in_its_order(stage: Stage) -> None:
    for parent in (None, None, "T1", "T1", "T1.2", None):
        add(stage, "do it", parent)
    for _ in range(8):
        add(stage, "more", "T2")
    assert tree(stage) == [
        *("T1", "T1.1", "T1.2", "T1.2.1", "T2"),
        *(f"T2.{n}" for n in range(1, 9)),
        "T3",
    ]
    for _ in range(2):
        add(stage, "tenth", "T2")
    assert tree(stage)[-3:] == ["T2.9", "T2.10", "T3"]


def test_numbers_are_counted_in_each_session_for_itself(stage: Stage) -> None:
    add(stage, "one")
    other = Stage(stage.path)
    other.furnish()
    assert add(other, "one").id == "T1"
    assert tree(stage) == ["T1"]
    other.close()


def test_a_summary_is_one_line_of_bounded_length(stage: Stage) -> None:
    assert add(stage, "  fix \n the\tbug  ").summary == "fix the bug"
    for bad in ("", " \n ", "x" * (tasks.SUMMARY_LIMIT + 1)):
        with pytest.raises(UsageError, match="characters"):
            add(stage, bad)
        with pytest.raises(UsageError, match="characters"):
            stage.do(lambda tx, text=bad: tasks.rename(tx, stage.session_id, "T1", text))
    renamed = stage.do(lambda tx: tasks.rename(tx, stage.session_id, "T1", "fix it well"))
    assert renamed.summary == "fix it well"


@pytest.mark.parametrize("how", list(MOVES))
@pytest.mark.parametrize("status", ["open", "in_progress", "blocked", "done", "abandoned"])
def test_a_move_works_from_its_own_states_and_from_no_other(
    stage: Stage, how: Move, status: Status
) -> None:
    add(stage, "do it")
    stage.do(lambda tx: tx.run("UPDATE task SET status = ?", (status,)))
    allowed, target = MOVES[how]
    if status in allowed:
        assert move(stage, "T1", how).status == target
    else:
        with pytest.raises(ConflictError, match=f"is {status}"):
            move(stage, "T1", how)


def test_a_task_is_not_done_before_its_parts_are(stage: Stage) -> None:
    add(stage, "whole")
    add(stage, "part", "T1")
    add(stage, "part of the part", "T1.1")
    with pytest.raises(ConflictError, match=r"T1\.1, T1\.1\.1"):
        move(stage, "T1", "done")
    move(stage, "T1.1.1", "abandon", "not needed")
    move(stage, "T1.1", "done")
    assert move(stage, "T1", "done").status == "done"


def test_a_task_of_a_similar_number_is_no_part(stage: Stage) -> None:
    for _ in range(10):
        add(stage, "do it")
    add(stage, "part of the tenth", "T10")
    assert move(stage, "T1", "done").status == "done"


def test_nothing_is_opened_below_a_finished_task(stage: Stage) -> None:
    add(stage, "whole")
    add(stage, "part", "T1")
    move(stage, "T1.1", "done")
    move(stage, "T1", "done")
    with pytest.raises(UsageError, match="reopen it first"):
        add(stage, "late", "T1")
    with pytest.raises(ConflictError, match="reopen it first"):
        move(stage, "T1.1", "reopen")
    move(stage, "T1", "reopen")
    assert move(stage, "T1.1", "reopen").status == "open"


def test_a_reason_goes_with_its_state(stage: Stage) -> None:
    add(stage, "do it")
    assert move(stage, "T1", "block", "no key").reason == "no key"
    assert move(stage, "T1", "unblock").reason == ""


def test_an_unknown_task_is_named_beside_those_there_are(stage: Stage) -> None:
    with pytest.raises(NotFoundError, match="there are: none yet"):
        move(stage, "T1", "done")
    add(stage, "one")
    with pytest.raises(NotFoundError, match="no task T9; there are: T1"):
        move(stage, "T9", "done")
    with pytest.raises(NotFoundError, match="T9"):
        add(stage, "part", "T9")


def test_a_list_has_a_limit(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "TASK_LIMIT", 3)
    for parent in (None, "T1", "T1"):
        add(stage, "do it", parent)
    with pytest.raises(UsageError, match="at most 3"):
        add(stage, "one too many")


def test_clients_are_told_of_each_change_and_of_the_list_as_they_know_it(stage: Stage) -> None:
    stage.events.clear()
    add(stage, "one")
    move(stage, "T1", "start")
    assert stage.event_types() == ["task.created", "todo.updated", "task.updated", "todo.updated"]
    last: Any = stage.events[-1].properties
    assert [(todo.content, todo.status) for todo in last["todos"]] == [("T1 one", "in_progress")]
    move(stage, "T1", "abandon")
    (todo,) = stage.read(lambda db: tasks.todo_list(db, stage.session_id))
    assert todo.status == "cancelled"

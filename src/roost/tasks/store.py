"""The SQL of tasks. Every change emits `task.created` or `task.updated`, and OpenCode's
`todo.updated` with the whole list.
"""

import sqlite3
from typing import Final

import msgspec

from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.text import echo
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.tasks.models import MOVES, TERMINAL, TODO_STATUS, Move, Task, TodoItem

SUMMARY_LIMIT: Final = 500
"""Characters of a summary."""
TASK_LIMIT: Final = 500
"""Tasks of one session."""


def _from_row(row: sqlite3.Row) -> Task:
    return Task(
        id=row["id"],
        session_id=row["session_id"],
        summary=row["summary"],
        status=row["status"],
        created=row["created"],
        updated=row["updated"],
        parent_id=row["parent_id"],
        owner=row["owner"],
        reason=row["reason"],
    )


def listed(db: Reader, session_id: str) -> list[Task]:
    """Every task of a session in tree order: `T1`, `T1.1`, `T1.2`, `T2`, …"""
    rows = db.all("SELECT * FROM task WHERE session_id = ?", (session_id,))
    return sorted(map(_from_row, rows), key=lambda task: _numbers(task.id))


def _numbers(task_id: str) -> list[int]:
    return [int(piece) for piece in task_id.removeprefix("T").split(".")]


def get(db: Reader, session_id: str, task_id: str) -> Task:
    """The task of that id. Raises `NotFoundError` naming those there are."""
    row = db.one("SELECT * FROM task WHERE session_id = ? AND id = ?", (session_id, task_id))
    if row is None:
        known = ", ".join(task.id for task in listed(db, session_id)) or "none yet"
        raise NotFoundError(f"there is no task {echo(task_id)}; there are: {known}")
    return _from_row(row)


def create(
    tx: Transaction,
    session_id: str,
    summary: str,
    *,
    parent_id: str | None = None,
    owner: str | None = None,
) -> Task:
    """Add a task at the end of its list, below `parent_id` if given.

    Raises `UsageError` for a blank summary, a full list or a parent that is finished.
    """
    words = " ".join(summary.split())
    if not words or len(words) > SUMMARY_LIMIT:
        raise UsageError(f"a task needs a summary of 1 to {SUMMARY_LIMIT} characters")
    if parent_id is not None and get(tx, session_id, parent_id).status in TERMINAL:
        raise UsageError(f"task {parent_id} is finished; reopen it first")
    seq = _next_number(tx, session_id, parent_id)
    now = now_ms()
    task = Task(
        id=f"{parent_id}.{seq}" if parent_id else f"T{seq}",
        session_id=session_id,
        summary=words,
        status="open",
        created=now,
        updated=now,
        parent_id=parent_id,
        owner=owner,
    )
    tx.run(
        "INSERT INTO task (session_id, id, parent_id, seq, summary, status, owner, created,"
        " updated) VALUES (?,?,?,?,?,?,?,?,?)",
        (session_id, task.id, parent_id, seq, words, task.status, owner, now, now),
    )
    _tell(tx, task, "created")
    return task


def _next_number(tx: Transaction, session_id: str, parent_id: str | None) -> int:
    total = tx.one("SELECT count(*) AS n FROM task WHERE session_id = ?", (session_id,))
    if total is not None and total["n"] >= TASK_LIMIT:
        raise UsageError(f"a session has at most {TASK_LIMIT} tasks")
    last = tx.one(
        "SELECT max(seq) AS seq FROM task"
        " WHERE session_id = ? AND coalesce(parent_id, '') = coalesce(?, '')",
        (session_id, parent_id),
    )
    return ((last["seq"] if last else None) or 0) + 1


def move(tx: Transaction, session_id: str, task_id: str, how: Move, reason: str = "") -> Task:
    """Bring a task into another state.

    Raises `ConflictError` for a move that its state does not allow, for finishing a task whose
    parts are not finished, and for reopening a part of a finished task.
    """
    task = get(tx, session_id, task_id)
    allowed, target = MOVES[how]
    if task.status not in allowed:
        raise ConflictError(f"task {task_id} is {task.status}; {how} is not possible")
    if task.parent_id and how == "reopen" and get(tx, session_id, task.parent_id).status == "done":
        raise ConflictError(f"task {task.parent_id} is done; reopen it first")
    if target == "done" and (open_parts := _open_parts(tx, task)):
        raise ConflictError(f"task {task_id} has open parts: {', '.join(open_parts)}")
    return _store(tx, msgspec.structs.replace(task, status=target, reason=reason), target)


def take_up(tx: Transaction, session_id: str, task_id: str, owner: str) -> Task:
    """Let `owner` work on a task: it is in progress from now on, whoever made it."""
    task = get(tx, session_id, task_id)
    if task.status in TERMINAL:
        raise ConflictError(f"task {task_id} is {task.status}")
    changed = msgspec.structs.replace(task, owner=owner, status="in_progress", reason="")
    return _store(tx, changed, "in_progress")


def _open_parts(tx: Transaction, task: Task) -> list[str]:
    tasks = listed(tx, task.session_id)
    return [
        one.id for one in tasks if one.id.startswith(f"{task.id}.") and one.status not in TERMINAL
    ]


def rename(tx: Transaction, session_id: str, task_id: str, summary: str) -> Task:
    """Change what a task says."""
    words = " ".join(summary.split())
    if not words or len(words) > SUMMARY_LIMIT:
        raise UsageError(f"a task needs a summary of 1 to {SUMMARY_LIMIT} characters")
    task = get(tx, session_id, task_id)
    return _store(tx, msgspec.structs.replace(task, summary=words), "renamed")


def _store(tx: Transaction, task: Task, kind: str) -> Task:
    task = msgspec.structs.replace(task, updated=now_ms())
    tx.run(
        "UPDATE task SET summary = ?, status = ?, reason = ?, owner = ?, updated = ?"
        " WHERE session_id = ? AND id = ?",
        (
            *(task.summary, task.status, task.reason, task.owner, task.updated),
            *(task.session_id, task.id),
        ),
    )
    _tell(tx, task, kind)
    return task


def _tell(tx: Transaction, task: Task, kind: str) -> None:
    about = {"sessionID": task.session_id, "task": task}
    if kind == "created":
        tx.emit(Event("task.created", about, session_id=task.session_id))
    else:
        tx.emit(Event("task.updated", {**about, "kind": kind}, session_id=task.session_id))
    todos = todo_list(tx, task.session_id)
    tx.emit(
        Event(
            "todo.updated",
            {"sessionID": task.session_id, "todos": todos},
            session_id=task.session_id,
        )
    )


def todo_list(db: Reader, session_id: str) -> list[TodoItem]:
    """The tasks as OpenCode's clients list them."""
    return [
        TodoItem(f"{task.id} {task.summary}", TODO_STATUS[task.status])
        for task in listed(db, session_id)
    ]

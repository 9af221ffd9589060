"""The tool `task`: the session's list of tasks."""

from typing import Annotated, Any, ClassVar, Literal, assert_never

import msgspec
from msgspec import Meta, Struct

from roost.core.amounts import counted
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader, Transaction
from roost.tasks import store
from roost.tasks.models import TERMINAL, Move, Task
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput

Action = Literal[
    "create", "list", "get", "start", "block", "unblock", "done", "abandon", "reopen", "rename"
]


_Shown = Literal["open", "in_progress", "blocked", "done", "abandoned", "all"]


class TaskArguments(Struct, frozen=True, rename=wire_name):
    """What to do with which task."""

    action: Annotated[Action, Meta(description="What to do.")]
    id: Annotated[str, Meta(description="The task, such as T1 or T1.2.")] | None = None
    summary: Annotated[str, Meta(description="What is to be done, in one line.")] | None = None
    parent_id: Annotated[str, Meta(description="For create: the task it is part of.")] | None = None
    reason: Annotated[str, Meta(description="For block and abandon: why.")] | None = None
    status: Annotated[_Shown, Meta(description="For list: only tasks in this state.")] | None = None


class TaskTool(Tool[TaskArguments]):
    """Creates, moves and lists tasks."""

    name: ClassVar[str] = "task"
    parameters: ClassVar[type[Struct]] = TaskArguments
    permission: ClassVar[str] = "todo"

    async def run(self, arguments: TaskArguments, context: ToolContext) -> ToolOutput:
        """Do what `action` says."""
        session, actor = context.actor.session_id, context.actor.actor_id
        database = context.database
        match arguments.action:
            case "list":
                tasks = await database.read(lambda db: store.listed(db, session))
                return _list(tasks, arguments.status)
            case "get":
                return await database.read(lambda db: _get(db, session, _id(arguments)))
            case "create":
                summary = _needed(arguments.summary, "summary", "create")
                parent = arguments.parent_id or None
                return await database.write(
                    lambda tx: _created(
                        tx, store.create(tx, session, summary, parent_id=parent, owner=actor)
                    )
                )
            case "rename":
                summary = _needed(arguments.summary, "summary", "rename")
                return await database.write(
                    lambda tx: _renamed(tx, store.rename(tx, session, _id(arguments), summary))
                )
            case "start" | "block" | "unblock" | "done" | "abandon" | "reopen" as move:
                return await database.write(lambda tx: _move(tx, session, arguments, move))
            case _:
                assert_never(arguments.action)


def _created(db: Reader, task: Task) -> ToolOutput:
    return _output(db, f"Created {_line(task).lstrip()}", task)


def _renamed(db: Reader, task: Task) -> ToolOutput:
    return _output(db, _line(task), task)


def _move(tx: Transaction, session: str, arguments: TaskArguments, how: Move) -> ToolOutput:
    task = store.move(tx, session, _id(arguments), how, arguments.reason or "")
    left = [one for one in store.listed(tx, session) if one.status not in TERMINAL]
    words = _line(task)
    if how in {"done", "abandon"}:
        following = f"; next: {_line(left[0])}" if left else ""
        words += f"\n{len(left)} not finished{following}"
    return _output(tx, words, task)


def _get(db: Reader, session: str, task_id: str) -> ToolOutput:
    task = store.get(db, session, task_id)
    parts = [one for one in store.listed(db, session) if one.id.startswith(f"{task.id}.")]
    return _output(db, "\n".join(_line(one) for one in (task, *parts)), task)


def _list(tasks: list[Task], status: str | None) -> ToolOutput:
    if status in {None, "all"}:
        chosen = [one for one in tasks if status or one.status not in TERMINAL]
    else:
        chosen = [one for one in tasks if one.status == status]
    lines = [_line(one) for one in chosen] or ["There is no such task."]
    if hidden := len(tasks) - len(chosen):
        lines.append(f"({hidden} more in other states)")
    return ToolOutput("\n".join(lines), counted(len(chosen), "task"), {"count": len(chosen)})


def _output(db: Reader, words: str, task: Task) -> ToolOutput:
    """`todos` is the whole list as it now is, for clients that show it with the call."""
    shown: dict[str, Any] = msgspec.to_builtins(task)
    todos: list[Any] = msgspec.to_builtins(store.todo_list(db, task.session_id))
    return ToolOutput(words, f"{task.id} {task.summary}", {"task": shown, "todos": todos})


def _line(task: Task) -> str:
    depth = task.id.count(".")
    why = f" ({task.reason})" if task.reason else ""
    return f"{'  ' * depth}{task.id} [{task.status}] {task.summary}{why}"


def _id(arguments: TaskArguments) -> str:
    return _needed(arguments.id, "id", arguments.action)


def _needed(value: str | None, name: str, action: str) -> str:
    if not value or not value.strip():
        raise ToolError(f"{action} needs {name}.")
    return value.strip()

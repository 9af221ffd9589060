"""The goal of a session as surfaces ask for it: show, set, clear, go on."""

import msgspec

from roost.core.errors import ConflictError, NotFoundError
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.goals import store as goals
from roost.goals.models import OPEN, Goal
from roost.goals.view import GoalView, read_goal
from roost.inbox import store as inbox
from roost.runtime.goal_command import ResumeGoal, goal_command, going_on
from roost.runtime.models import PromptInput, TextInput
from roost.runtime.runtime import Runtime


async def view_goal(runtime: Runtime, session_id: str) -> GoalView:
    """The goal of a session with its history."""
    return await runtime.database.read(lambda db: read_goal(db, session_id))


def goal_since(db: Reader, session_id: str, message_id: str) -> Goal | None:
    """The goal that a prompt was about: one in force, or one that came to its end since.

    Raises `NotFoundError` if the prompt is not there any more.
    """
    goal = goals.find(db, session_id)
    if goal is None or goal.state == "cleared":
        return None
    asked = inbox.get(db, message_id).created
    return goal if goal.state == "active" or goal.updated >= asked else None


async def set_goal(
    runtime: Runtime, session_id: str, condition: str, news: tuple[Event, ...] = ()
) -> Goal:
    """Let the turns of a session be judged by `condition`. Raises `UsageError`.

    `news` is told with the commit.
    """

    def give(tx: Transaction) -> Goal:
        for event in news:
            tx.emit(event)
        return goals.set_goal(tx, session_id, condition)

    return await runtime.database.write(give)


async def clear_goal(
    runtime: Runtime, session_id: str, news: tuple[Event, ...] = ()
) -> Goal | None:
    """Let them be judged no more; the goal that was given up, if there was one.

    `news` is told with the commit.
    """

    def clear(tx: Transaction) -> Goal | None:
        for event in news:
            tx.emit(event)
        return goals.clear(tx, session_id)

    return await runtime.database.write(clear)


async def resuming(runtime: Runtime, session_id: str) -> PromptInput:
    """The prompt that lets a session go on with its goal.

    One that was found impossible is given anew: things may have changed. Raises `NotFoundError`
    and `ConflictError` where there is none to go on with.
    """
    goal = await runtime.database.read(lambda db: goals.find(db, session_id))
    if goal is None or goal.state == "cleared":
        raise NotFoundError(
            f"session {session_id} has no goal", hint='Give it one: roost run --goal "..." "..."'
        )
    if goal.state == "met":
        raise ConflictError(
            f"the goal of session {session_id} is met: {goal.reason}",
            hint="Give it another one with /goal.",
        )
    anew = None if goal.state in OPEN else goal.condition
    return PromptInput(parts=(TextInput(going_on(goal)),), goal=anew)


async def taken_up(runtime: Runtime, session_id: str, given: PromptInput) -> PromptInput:
    """`given`; if its words are `/goal resume`, with those that go on with the goal of the session.

    Raises as `resuming` does.
    """
    first = given.parts[0] if given.parts else None
    asked = goal_command(first.text) if isinstance(first, TextInput) else None
    if not isinstance(asked, ResumeGoal):
        return given
    found = await resuming(runtime, session_id)
    parts = (*found.parts, *given.parts[1:])
    return msgspec.structs.replace(given, parts=parts, goal=found.goal)

"""Tasks that a person gives to agents by name: an actor is started for each, in a step like those
of a model, and the model reads what came of it.
"""

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import msgspec

from roost.actors.models import Settled
from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.sessions.parts import SubtaskPart
from roost.tools.actor import NAME, ActorTool, Operation
from roost.tools.contract import ToolContext, ToolOutput
from roost.turn.apply import apply
from roost.turn.by_hand import allow, hand_step
from roost.turn.memory import Memory
from roost.turn.models import Facts, Sample, Wait
from roost.turn.world import World

_LOOKED_AT: Final = 50
"""Messages at the end of a slice among which a task can wait."""


def tasks_of(message: Message) -> tuple[SubtaskPart, ...]:
    """The tasks that a prompt gives."""
    if not isinstance(message.info, UserInfo):
        return ()
    return tuple(part for part in message.parts if isinstance(part, SubtaskPart))


def waiting(messages: Sequence[Message]) -> Message | None:
    """The first prompt at the end of a slice whose tasks were not begun yet."""
    latest = messages[-_LOOKED_AT:]
    begun = {one.info.parent_id for one in latest if isinstance(one.info, AssistantInfo)}
    return next((one for one in latest if one.info.id not in begun and tasks_of(one)), None)


async def run_subtasks(world: World, memory: Memory, facts: Facts) -> Facts | Settled | None:
    """Start actors for the tasks of the first prompt that gives any, and wait for them.

    Gives the facts for what follows, or how the turn settled; None where no task waits.
    """
    prompt = waiting(facts.messages)
    if prompt is None:
        return None
    assert isinstance(prompt.info, UserInfo)
    tasks = tasks_of(prompt)
    calls = [(NAME, json.dumps(arguments(task))) for task in tasks]
    tool = _Wanted({task.agent: "" for task in tasks})
    step = await hand_step(world, memory, facts, prompt.info, calls, tool)
    result = await apply(world, memory, step, Sample())
    assert not isinstance(result, Wait)
    return result


def arguments(task: SubtaskPart) -> dict[str, Any]:
    """The call that starts an actor for a task."""
    run = {
        "action": "run",
        "subagent_type": task.agent,
        "description": task.description,
        "prompt": task.prompt,
    }
    if task.model is not None:
        run["model"] = f"{task.model['providerID']}/{task.model['modelID']}"
    if task.command:
        run["command"] = task.command
    return {"operation": run}


class _Wanted(ActorTool):
    """Asks for no permission: it is the person who wants these actors."""

    given: ClassVar[bool] = True

    async def run(self, arguments: Operation, context: ToolContext) -> ToolOutput:
        """Start one and give its result."""
        return await super().run(arguments, msgspec.structs.replace(context, ask=allow))

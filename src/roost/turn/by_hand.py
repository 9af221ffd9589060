"""What a person runs by hand: a command that becomes a step like those of a model, without one.

The prompt that carries it says so in its `format`. What the command prints stands in the
conversation as the result of the tool `bash`, and the model reads it once it is spoken to.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar, Final

import msgspec

from roost.actors.models import Settled
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ModelRequest,
    StreamEvent,
)
from roost.llm.providers.cache import EncodingCache
from roost.permissions.models import PermissionRequest
from roost.sessions.models import AssistantInfo, Message, MessagePath, MessageTime, UserInfo
from roost.sessions.parts import Tokens
from roost.tools.bash import MAX_MS, BashArguments, BashTool
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.turn.apply import apply
from roost.turn.memory import Memory
from roost.turn.models import Action, Facts, Sample, Stop, Wait
from roost.turn.prepare import Plan
from roost.turn.sampler import Step, sample
from roost.turn.world import World

WORDS: Final = "The user ran this command."
"""What the prompt says to the model."""
_KIND: Final = "shell"
_LOOKED_AT: Final = 50
"""Messages at the end of a slice among which a command can wait."""
Calls = Sequence[tuple[str, str]]
"""Names of tools, with arguments as JSON."""


def asked(command: str) -> dict[str, Any]:
    """The `format` of a prompt that carries `command`."""
    return {"type": _KIND, "command": command}


def is_by_hand(prompt: UserInfo | None) -> bool:
    """Whether a prompt carries a command."""
    return prompt is not None and (prompt.format or {}).get("type") == _KIND


def waiting(messages: Sequence[Message]) -> UserInfo | None:
    """The first prompt at the end of a slice whose command was not run yet."""
    heads = [message.info for message in messages[-_LOOKED_AT:]]
    run = {info.parent_id for info in heads if isinstance(info, AssistantInfo)}
    prompts = (info for info in heads if isinstance(info, UserInfo) and is_by_hand(info))
    return next((info for info in prompts if info.id not in run), None)


async def run_commands(world: World, memory: Memory, facts: Facts) -> Facts | Settled:
    """Run the commands that wait: the facts for what follows, or how the turn settled.

    The turn ends behind them if nothing else was said.
    """
    while (prompt := waiting(facts.messages)) is not None:
        step = await _taken(world, memory, facts, prompt)
        after = facts.after(step.outcome)
        more = waiting(after.messages) is not None or not is_by_hand(facts.prompt)
        action: Action = Sample() if more else Stop("success")
        result = await apply(world, memory, step, action)
        assert not isinstance(result, Wait)
        if not isinstance(result, Facts):
            return result
        facts = result
    return facts


async def _taken(world: World, memory: Memory, facts: Facts, prompt: UserInfo) -> Step:
    command = str((prompt.format or {})["command"])
    calls = [(BashTool.name, json.dumps({"command": command}))]
    return await hand_step(world, memory, facts, prompt, calls, _ByHand())


async def hand_step(
    world: World,
    memory: Memory,
    facts: Facts,
    prompt: UserInfo,
    calls: Calls,
    tool: Tool[Any],
) -> Step:
    """Take the step that makes `calls`, all of them of `tool`, for a person's `prompt`."""
    request = ModelRequest(model=facts.model, system=(), messages=())
    plan = Plan(request, _head(world, memory, facts, prompt), {tool.name: tool})
    return await sample(msgspec.structs.replace(world, models=_Hand(calls)), memory, plan)


def _head(world: World, memory: Memory, facts: Facts, prompt: UserInfo) -> AssistantInfo:
    actor, place = memory.claim.actor, world.place
    return AssistantInfo(
        id=new_id("message", after=facts.last.info.id if facts.last else None),
        session_id=world.session.id,
        time=MessageTime(created=now_ms()),
        parent_id=prompt.id,
        model_id=prompt.model.model_id,
        provider_id=prompt.model.provider_id,
        mode=prompt.agent,
        agent=prompt.agent,
        path=MessagePath(str(place.directory), str(place.root)),
        cost=0.0,
        tokens=Tokens(),
        agent_id=None if actor.fronts else actor.actor_id,
    )


class _Hand:
    """Makes calls, as a model would."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def stream(
        self, request: ModelRequest, cache: EncodingCache
    ) -> AsyncGenerator[StreamEvent, None]:
        """The calls."""
        del request, cache
        for number, (name, arguments) in enumerate(self._calls):
            key = str(number)
            yield CallStart(key, new_id("tool"), name)
            yield CallDelta(key, arguments)
            yield CallEnd(key)
        yield Finish("tool-calls")


class _ByHand(BashTool):
    """Asks for no permission: it is the person who runs the command. What no approval allows is
    refused all the same.
    """

    given: ClassVar[bool] = True

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        """Run it, for as long as any command may take."""
        patient = msgspec.structs.replace(arguments, timeout=MAX_MS)
        return await super().run(patient, msgspec.structs.replace(context, ask=allow))


async def allow(request: PermissionRequest) -> None:
    """Let a person do what they do themselves."""
    del request

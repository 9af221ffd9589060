"""From facts to a request: pinned prefix, view, tools, reminders."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from roost.context.agents import Agent
from roost.context.prefix import Wanted, in_order
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.inbox.shown import is_prompt
from roost.llm.models import (
    AssistantMessage,
    Media,
    Message,
    Model,
    ModelRequest,
    Reasoning,
    Text,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from roost.sessions.models import AssistantInfo, MessagePath, MessageTime, UserInfo
from roost.sessions.parts import Tokens
from roost.sessions.unreadable import is_stand_in
from roost.tools.answer_format import answer_format, is_structured
from roost.tools.contract import Tool
from roost.tools.structured_output import StructuredOutputTool
from roost.turn.hands import lent
from roost.turn.memory import Memory, cache_key
from roost.turn.models import Facts, Sample
from roost.turn.prefix import pin
from roost.turn.world import World

_NO_MEDIA = "[an image or document was here; the provider refused it]"


class Plan(Struct, frozen=True):
    """One step, ready to be taken."""

    request: ModelRequest
    info: AssistantInfo
    """The head of the message that the step will write."""
    tools: Mapping[str, Tool[Any]]
    """What may be run; nothing in a closing step, although the model still sees its tools."""
    answer: StructuredOutputTool | None = None
    """What takes the answer, where one in a format is asked for."""


async def prepare(world: World, memory: Memory, facts: Facts, action: Sample) -> Plan:
    """The request that `action` asks for. Raises `StaleFenceError`."""
    fork = memory.fork
    agent, prompt = facts.agent, facts.prompt
    if fork is not None:  # its requests begin as its parent's did
        agent, prompt = world.resolve_agent(fork.agent), fork.prompt
    spawns = fork is not None or memory.claim.actor.mode != "subagent"
    tools = _wanted(world.tools(agent, facts.model, spawns), switched_off(prompt))
    if fork is None:
        tools = lent(tools, memory.claim.actor, world.lenders)
    wanted = Wanted(
        agent=agent,
        model=facts.model,
        extra=prompt.system if prompt else None,
        tools=tuple(map(_spec, tools.values())),
    )
    prefix = await pin(world, memory, wanted)
    tools = in_order(prefix, tools)
    answer = _answer_tool(facts.prompt)
    if answer is not None:
        tools = {**tools, answer.name: answer}  # last, so that the others keep their place
    request = _request(memory, facts, action, _Head(agent, prefix.system), tools)
    memory.continuity.see(request)
    info = _info(world, memory, facts)
    return Plan(request, info, {} if action.closing else tools, answer)


def _answer_tool(prompt: UserInfo | None) -> StructuredOutputTool | None:
    if prompt is None or not is_structured(prompt.format):
        return None
    return StructuredOutputTool(answer_format(prompt.format))


def switched_off(prompt: UserInfo | None) -> frozenset[str]:
    """The tools that a prompt switched off."""
    switches = (prompt.tools if prompt else None) or {}
    return frozenset(name for name, on in switches.items() if not on)


def _wanted(tools: Mapping[str, Tool[Any]], off: frozenset[str]) -> Mapping[str, Tool[Any]]:
    if off.isdisjoint(tools):
        return tools
    return {name: tool for name, tool in tools.items() if name not in off}


class _Head(Struct, frozen=True):
    """What stands before the messages of a request, and how it is sampled."""

    agent: Agent
    system: tuple[str, ...]


def _request(
    memory: Memory, facts: Facts, action: Sample, head: _Head, tools: Mapping[str, Tool[Any]]
) -> ModelRequest:
    user, agent = facts.user, head.agent
    messages = suitable(memory, memory.view.build(facts.messages))
    said = (memory.steering, action.words)
    reminders = tuple(f"<system-reminder>\n{one}\n</system-reminder>" for one in said if one)
    return ModelRequest(
        model=_with_options(facts.model, agent),
        system=head.system,
        messages=messages,
        reminders=reminders,
        tools=tuple(_spec(tool) for tool in tools.values()),
        tool_choice="none" if action.closing else "auto",
        temperature=agent.temperature,
        top_p=agent.top_p,
        variant=(user.model.variant if user else None) or agent.variant,
        cache_key=memory.fork.cache_key if memory.fork else cache_key(memory.claim.address),
    )


def _with_options(model: Model, agent: Agent) -> Model:
    """The model with the extra request fields that the agent asks for."""
    if not agent.options:
        return model
    return msgspec.structs.replace(model, options={**model.options, **agent.options})


_specs: WeakKeyDictionary[Tool[Any], ToolSpec] = WeakKeyDictionary()


def _spec(tool: Tool[Any]) -> ToolSpec:
    spec = _specs.get(tool)
    if spec is None:
        spec = _specs[tool] = ToolSpec(tool.name, tool.description, tool.schema())
    return spec


def suitable(memory: Memory, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` without the kinds of content that the provider has refused in this turn."""
    if not (memory.without_media or memory.without_reasoning):
        return messages
    return tuple(_stripped(memory, message) for message in messages)


def _stripped(memory: Memory, message: Message) -> Message:
    match message:
        case AssistantMessage(content=content) if memory.without_reasoning:
            kept = tuple(block for block in content if not isinstance(block, Reasoning))
            return AssistantMessage(kept) if len(kept) < len(content) else message
        case UserMessage(content=content) if memory.without_media:
            if not any(isinstance(block, Media) for block in content):
                return message
            return UserMessage(
                tuple(Text(_NO_MEDIA) if isinstance(block, Media) else block for block in content)
            )
        case ToolMessage(results=results) if memory.without_media:
            if not any(result.media for result in results):
                return message
            return ToolMessage(
                tuple(
                    msgspec.structs.replace(
                        result, media=(), output=f"{result.output}\n{_NO_MEDIA}"
                    )
                    if result.media
                    else result
                    for result in results
                )
            )
        case _:
            return message


def _answered(facts: Facts) -> UserInfo | None:
    """What a step answers: the newest prompt since the model spoke, for which what the runtime says
    beside it is no substitute; else what was said last.
    """
    infos = (message.info for message in reversed(facts.messages))
    new = takewhile(lambda info: isinstance(info, UserInfo), infos)
    said = (info for info in new if isinstance(info, UserInfo) and not is_stand_in(info))
    return next(filter(is_prompt, said), facts.user)


def _info(world: World, memory: Memory, facts: Facts) -> AssistantInfo:
    last = facts.last
    user = facts.user
    answered = _answered(facts)
    actor = memory.claim.actor
    place = world.place
    return AssistantInfo(
        id=new_id("message", after=last.info.id if last else None),
        session_id=world.session.id,
        time=MessageTime(created=now_ms()),
        parent_id=answered.id if answered else "",
        model_id=facts.model.ref.partition("/")[2],
        provider_id=facts.model.provider,
        mode=facts.agent.name,
        agent=facts.agent.name,
        path=MessagePath(str(place.directory), str(place.root)),
        cost=0.0,
        tokens=Tokens(),
        agent_id=None if actor.fronts else actor.actor_id,
        variant=user.model.variant if user else None,
    )

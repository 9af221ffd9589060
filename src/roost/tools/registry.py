"""Which tools there are, and which of them a model is shown."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from roost.llm.models import Model
from roost.permissions.models import Layer, PermissionRequest
from roost.permissions.rules import evaluate, is_hidden
from roost.tools.actor import NAME as ACTOR
from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.apply_patch import ApplyPatchTool
from roost.tools.bash import BashTool
from roost.tools.contract import Tool
from roost.tools.edit import EditTool
from roost.tools.glob import GlobTool
from roost.tools.grep import GrepTool
from roost.tools.history import HistoryTool
from roost.tools.memory import MemoryTool
from roost.tools.plan_exit import PlanExitTool
from roost.tools.question import QuestionTool
from roost.tools.read import ReadTool
from roost.tools.session import NAME as SESSION
from roost.tools.session import session_tool
from roost.tools.skill import SkillTool
from roost.tools.task import TaskTool
from roost.tools.team import TeamTool
from roost.tools.webfetch import WebfetchTool
from roost.tools.write import WriteTool

_KINDS: Final[tuple[type[Tool[Any]], ...]] = (
    ReadTool,
    GlobTool,
    GrepTool,
    EditTool,
    WriteTool,
    ApplyPatchTool,
    BashTool,
    WebfetchTool,
    TaskTool,
    QuestionTool,
    MemoryTool,
    HistoryTool,
    SkillTool,
)
"""In the order in which models are shown them; a change of it costs every session its cache.
Behind them come `actor` and `session`, which are made for the agents there are, then `team` and
`plan_exit`."""
_SMALL: Final = frozenset({"read", "glob", "grep", "edit", "write", "bash"})
"""What a small local model can keep apart."""
_OLDER_NAMES: Final = {"task": ("todowrite",)}
"""OpenCode's names, under which a configuration may deny a tool."""


def builtin_tools() -> dict[str, Tool[Any]]:
    """Every tool of Roost by name, in a fixed order."""
    return {kind.name: kind() for kind in _KINDS}


_TOOLS: Final = builtin_tools()
_TEAM: Final = TeamTool()
_PLAN_EXIT: Final = PlanExitTool()
NAMES: Final = (*_TOOLS, ACTOR, SESSION, _TEAM.name, _PLAN_EXIT.name)
"""Of every tool that an agent may have."""
# Shared by all actors: what a tool knows of an actor hangs on the actor's ledger.


def tools_for(
    layers: Sequence[Layer],
    model: Model,
    *,
    interactive: bool,
    actors: ActorOffer | None = None,
    sessions: Mapping[str, str] | None = None,
    teams: bool = False,
    plans: bool = False,
) -> dict[str, Tool[Any]]:
    """The tools that `model` is shown under the rules of `layers`, in a fixed order.

    `interactive`: somebody can answer questions. `actors`: what may be done with other actors;
    without agents to start, or with none that the rules leave, there is only talking. `sessions`:
    the agents that other sessions may work as. `teams`: it may be in some. `plans`: it may propose
    to leave plan mode; who does not plan is shown that too, so that a switch of the mode leaves the
    beginning of requests as it is. A tool whose every use
    would be denied is left out; models that were trained on patches get `apply_patch` instead of
    `edit` and `write`.
    """
    left_out = {"edit", "write"} if _patches(model) else {"apply_patch"}
    if not interactive:
        left_out.add("question")
    known = dict(_TOOLS)
    if actors is not None:
        tool = actor_tool(_allowed(actors, layers))
        known[tool.name] = tool
    if sessions is not None:
        directing = session_tool(sessions)
        known[directing.name] = directing
    if teams:
        known[_TEAM.name] = _TEAM
    if plans:
        known[_PLAN_EXIT.name] = _PLAN_EXIT
    return {
        name: tool
        for name, tool in known.items()
        if name not in left_out
        and (name in _SMALL or not model.small_prompt)
        and not _is_denied(tool, layers)
    }


def _allowed(offer: ActorOffer, layers: Sequence[Layer]) -> ActorOffer:
    """`offer` without the agents that the rules forbid to start."""
    agents = {
        name: about
        for name, about in offer.agents.items()
        if evaluate(PermissionRequest("actor", (name,)), layers).action != "deny"
    }
    return msgspec.structs.replace(offer, agents=agents)


def _is_denied(tool: Tool[Any], layers: Sequence[Layer]) -> bool:
    names = (tool.permission, *_OLDER_NAMES.get(tool.name, ()))
    return any(is_hidden(name, layers) for name in names)


def _patches(model: Model) -> bool:
    """Whether the model is of the GPT line; their open weights are not."""
    name = model.id.lower()
    return "gpt" in name and "gpt-oss" not in name and not model.small_prompt

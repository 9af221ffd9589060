"""The system prompt: who Roost is, where it works, what the project asks for."""

import platform
from pathlib import Path

from roost.context.agents import Agent
from roost.context.instructions import Instruction
from roost.llm.models import Model

_PROMPTS = Path(__file__).parent / "prompts"


def prompt_text(name: str) -> str:
    """The prompt of that name."""
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8").strip()


def system_prompt(
    agent: Agent,
    model: Model,
    *,
    directory: Path,
    root: Path,
    instructions: tuple[Instruction, ...],
    skills: str = "",
    memory: str = "",
    extra: str | None = None,
) -> tuple[str, ...]:
    """The blocks of the system prompt, the ones that change least first.

    Nothing in it changes from step to step, so that providers can cache it; what an agent adds to
    the standard prompt comes late, so that changing the agent leaves the cache of the rest.
    """
    told = (f"Instructions from {one.path}:\n{one.text}" for one in instructions)
    last = (skills, memory, prompt_text(agent.remark) if agent.remark else "", extra or "")
    return (_base(agent, model), _environment(directory, root), *told, *filter(None, last))


def _base(agent: Agent, model: Model) -> str:
    if agent.prompt:
        return agent.prompt
    return prompt_text("system_small" if model.small_prompt else agent.page or "system")


def _environment(directory: Path, root: Path) -> str:
    where = f"Working directory: {directory}"
    if root != directory:
        where += f"\nProject root: {root}"
    return f"{where}\nPlatform: {platform.system()}"

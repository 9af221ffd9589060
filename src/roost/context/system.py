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
    extra: str | None = None,
) -> tuple[str, ...]:
    """The blocks of the system prompt, the ones that change least first.

    Nothing in it changes from step to step, so that providers can cache it.
    """
    base = agent.prompt or prompt_text("system_small" if model.small_prompt else "system")
    told = (f"Instructions from {one.path}:\n{one.text}" for one in instructions)
    return (base, _environment(directory, root), *told, *([extra] if extra else ()))


def _environment(directory: Path, root: Path) -> str:
    where = f"Working directory: {directory}"
    if root != directory:
        where += f"\nProject root: {root}"
    return f"{where}\nPlatform: {platform.system()}"

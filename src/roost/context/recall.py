"""What an actor is told of memory: what there is when its requests begin, and once a turn that
there is some. Pure.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.context.system import prompt_text
from roost.core.amounts import counted
from roost.core.text import cut

MEMORY: Final = "memory"
"""The tool, without which nothing is told."""
_LISTED: Final = 20
_HEADINGS: Final = 200
"""Characters of the headings of one file."""


class Remembered(Struct, frozen=True):
    """A file of memory."""

    name: str
    headings: tuple[str, ...]


def memory_block(files: Sequence[Remembered], *, writable: bool) -> str:
    """The block of the system prompt; empty where there is nothing to tell."""
    told: list[str] = []
    if files:
        lines = [_line(one) for one in files[:_LISTED]]
        if len(files) > _LISTED:
            lines.append(f"- and {len(files) - _LISTED} more (`read` lists them)")
        told.append(prompt_text("memory").format(files="\n".join(lines)))
    if not writable:
        told.append(prompt_text("memory_off"))
    return "\n\n".join(told)


def _line(one: Remembered) -> str:
    about = cut("; ".join(one.headings), _HEADINGS)
    return f"- {one.name}: {about}" if about else f"- {one.name}"


def recall_note(files: int, tasks: int) -> str:
    """What is said behind a prompt that begins a turn; empty where there is nothing to look at."""
    there = [
        counted(files, "file of memory", "files of memory") if files else "",
        counted(tasks, "open task") if tasks else "",
    ]
    what = " and ".join(filter(None, there))
    return prompt_text("recall").format(what=what) if what else ""

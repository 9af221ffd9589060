"""Instructions of the folders that tools touch, told with the result of the call that went there.

What was told stands in the messages themselves, as `loaded` in a call's metadata: whoever goes on
with the conversation knows it, and once it is shortened away it is told again.
"""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from roost.context.instructions import FolderRules, read_instruction
from roost.core.text import clean
from roost.sessions.effective import mark_of
from roost.sessions.models import Message
from roost.sessions.parts import ToolCompleted, ToolPart
from roost.tools.markup import escaped
from roost.turn.memory import Memory

LOADED: Final = "loaded"
"""In the metadata of a call: the paths of what was told with it."""
LIMIT: Final = 16 * 1024
"""Bytes of the instructions that one result carries."""
_TOLD: Final = """\


<system-reminder>
Instructions from {path}, which hold for what lies below its folder:
{text}
</system-reminder>"""


class Told(Struct, frozen=True):
    """What goes with a result."""

    text: str = ""
    paths: tuple[str, ...] = ()


class StepRules:
    """What the calls of one step are told; of several that touch a folder the first is."""

    def __init__(self, rules: FolderRules, memory: Memory) -> None:
        self._rules = rules
        self._memory = memory
        self._told: set[str] = set()

    async def told(self, touched: Sequence[Path]) -> Told:
        """What goes with the result of a call that has touched these files."""
        pages = await asyncio.to_thread(self._pages, touched) if touched else []
        if not pages:
            return Told()
        known = {*told_in(_whole(self._memory)), *self._told}
        new = [page for page in pages if clean(str(page)) not in known]
        self._told.update(clean(str(page)) for page in new)
        return await asyncio.to_thread(_read, new)

    def _pages(self, touched: Sequence[Path]) -> list[Path]:
        try:
            return list(dict.fromkeys(page for one in touched for page in self._rules.above(one)))
        except OSError:
            return []  # a folder that nobody may look into tells nothing


def _read(pages: Iterable[Path]) -> Told:
    texts: list[str] = []
    paths: list[str] = []
    room = LIMIT
    for page in pages:
        found = read_instruction(page, room) if room > 0 else None
        if found is not None:
            path, text = clean(str(page)), clean(found.text)
            texts.append(_TOLD.format(path=path, text=escaped(text)))
            paths.append(path)
            room -= len(text.encode())
    return Told("".join(texts), tuple(paths))


def _whole(memory: Memory) -> Sequence[Message]:
    """The messages that the model is shown whole: a tail may be cut in its middle."""
    mark = mark_of(memory.messages[0]) if memory.settled else None
    return memory.messages[memory.settled if mark and mark.trim is not None else 0 :]


def told_in(messages: Iterable[Message]) -> Iterable[str]:
    """The paths of what was told in `messages`."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                loaded: Any = part.state.metadata.get(LOADED)
                if isinstance(loaded, list | tuple):
                    yield from map(str, cast("Sequence[object]", loaded))

"""Files of memory, as one call of a tool sees them."""

import asyncio
import time

from roost.core.secrets import Secrets
from roost.memory import search, writer
from roost.memory.index import Index
from roost.memory.layout import Layout, Located, Whose
from roost.memory.search import MemoryHit, Reach, scopes_of
from roost.memory.sections import entry_line
from roost.tools.memory_port import MemoryText


class MemoryPort:
    """See `roost.tools.memory_port.MemoryPort`."""

    def __init__(
        self, index: Index, layout: Layout, whose: Whose, secrets: Secrets, *, writable: bool
    ) -> None:
        self._index = index
        self._layout = layout
        self._whose = whose
        self._secrets = secrets
        self._writable = writable

    @property
    def writable(self) -> bool:
        """Whether anything may be written at all."""
        return self._writable

    async def search(self, words: str, reach: Reach, limit: int) -> list[MemoryHit]:
        """The sections that fit best."""
        return await asyncio.to_thread(
            search.search,
            self._index,
            self._layout,
            words,
            self._whose,
            reach=reach,
            limit=limit,
        )

    async def listed(self) -> list[MemoryText]:
        """The caller's own files that are there."""
        return await asyncio.to_thread(own_files, self._layout, self._whose)

    async def read(self, name: str) -> MemoryText:
        """The file of that name."""
        file = self.locate(name)
        return MemoryText(file, await asyncio.to_thread(writer.read, file))

    def locate(self, name: str) -> Located:
        """The file of that name, which need not be there."""
        return self._layout.locate(name, self._whose)

    async def append(self, file: Located, text: str, heading: str) -> MemoryText:
        """Add an entry that says when and where it came from."""
        day = time.strftime("%Y-%m-%d")
        entry = entry_line(self._secrets.hide(text), day, self._whose.session_id)
        heading = self._secrets.hide(heading)
        return MemoryText(file, await asyncio.to_thread(writer.append, file, entry, heading))

    async def update(self, file: Located, heading: str, was: str, text: str) -> MemoryText:
        """Replace a section that still reads as the hash `was` says."""
        new = self._secrets.hide(text)
        return MemoryText(file, await asyncio.to_thread(writer.update, file, heading, was, new))


def own_files(layout: Layout, whose: Whose) -> list[MemoryText]:
    """The files of a project and a session, and the global one, as far as they are there."""
    files = [
        file
        for scope, owner in scopes_of(layout, whose, "own")
        for file in layout.files(scope, owner, whose)
    ]
    return [MemoryText(file, writer.read(file)) for file in files]

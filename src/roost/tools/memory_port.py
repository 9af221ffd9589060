"""What the tool `memory` needs of the runtime, and what it is told."""

from typing import Protocol

from msgspec import Struct

from roost.memory.layout import Located
from roost.memory.search import MemoryHit, Reach


class MemoryText(Struct, frozen=True):
    """A file of memory with what stands in it."""

    file: Located
    text: str
    """Empty: it is not there."""


class MemoryPort(Protocol):
    """Files of memory, as one call of the tool sees them.

    Methods raise `UsageError`, `NotFoundError`, `ConflictError` or `StorageError` with words for
    the model.
    """

    @property
    def writable(self) -> bool:
        """Whether anything may be written at all."""
        ...

    async def search(self, words: str, reach: Reach, limit: int) -> list[MemoryHit]:
        """The sections that fit best."""
        ...

    async def listed(self) -> list[MemoryText]:
        """The caller's own files that are there."""
        ...

    async def read(self, name: str) -> MemoryText:
        """The file of that name."""
        ...

    def locate(self, name: str) -> Located:
        """The file of that name, which need not be there."""
        ...

    async def append(self, file: Located, text: str, heading: str) -> MemoryText:
        """Add an entry at the end of a section, or of the file."""
        ...

    async def update(self, file: Located, heading: str, was: str, text: str) -> MemoryText:
        """Replace a section that still reads as the hash `was` says; empty text removes it."""
        ...

"""What a call of a tool says of the files that it changes, so that undo can take it back."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from roost.workspace.changes import FileChange


class ChangeRecord(Protocol):
    """Notes the changes of one call. Whatever cannot be noted hinders no call."""

    def writing(self, changes: Sequence[FileChange]) -> AbstractAsyncContextManager[None]:
        """Around making exactly `changes`; if that fails, none of them was made."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Around something that may change any file, such as a command."""
        ...


class NoRecord:
    """Notes nothing."""

    @asynccontextmanager
    async def writing(self, changes: Sequence[FileChange]) -> AsyncGenerator[None]:
        """See `ChangeRecord`."""
        del changes
        yield

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """See `ChangeRecord`."""
        yield

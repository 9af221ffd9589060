"""What all handlers of one server share."""

import asyncio
import time
from pathlib import Path
from typing import Final, Protocol

from roost.runtime.project import Project
from roost.runtime.runtime import Runtime
from roost.server.directories import Directories
from roost.server.event_faces import EventFaces
from roost.server.file_names import FileNames
from roost.server.models import ServerSettings
from roost.server.problems import TooManyError
from roost.server.rates import Rate
from roost.sessions.models import Session

TOLD_SECONDS: Final = 0.1
"""Longest wait of an answer for those that follow events."""


class Follower(Protocol):
    """Sends events to a client."""

    @property
    def is_behind(self) -> bool:
        """Whether something happened that was not sent yet."""
        ...


class Service:
    """A runtime behind HTTP."""

    def __init__(self, runtime: Runtime, settings: ServerSettings, identity_key: str) -> None:
        self.runtime = runtime
        self.settings = settings
        self.identity_key = identity_key
        """Proves to this user's own clients that the server is what its advert says."""
        self.directories = Directories(runtime, settings.directories)
        self.file_names = FileNames()
        self.faces = EventFaces(runtime)
        self.closing = asyncio.Event()
        """Set when the server stops: open streams and waits end."""
        self.streams = 0
        """Event streams that are open."""
        self.followers: set[Follower] = set()
        """Those that send events now."""
        self._prompts = Rate(settings.prompts_per_minute, 60.0)

    async def project(self, directory: str) -> Project:
        """The project of a served folder."""
        return await self.runtime.projects.open(Path(directory))

    async def session(self, session_id: str) -> Session:
        """The session of that id, in a served folder. Raises `NotFoundError`, `DeniedError`."""
        return await self.directories.session(session_id)

    async def told(self) -> None:
        """Return when all that follow events were sent what has happened so far, or soon anyway:
        who waits for an answer is to hear what led to it first.
        """
        behind = [one for one in self.followers if one.is_behind]
        deadline = time.monotonic() + TOLD_SECONDS
        while behind and time.monotonic() < deadline:
            await asyncio.sleep(TOLD_SECONDS / 25)
            behind = [one for one in behind if one.is_behind]

    def count_prompt(self, source: str) -> None:
        """Note that `source` leaves a prompt. Raises `TooManyError`."""
        if wait := self._prompts.wait(source, time.monotonic()):
            raise TooManyError(
                f"more than {self.settings.prompts_per_minute} prompts a minute", wait
            )

"""What a client knows of a server, and what a server tells it."""

from pathlib import Path
from shlex import quote
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from roost.core.errors import RoostError
from roost.sessions.models import Info, Message
from roost.sessions.parts import decode_part

LOOPBACK: Final = "127.0.0.1"
_HERE: Final = {LOOPBACK, "localhost", "::1"}


class ServerPlace(Struct, frozen=True):
    """Where a server is, and what it wants to be shown."""

    url: str
    token: str
    socket: Path | None = None
    """Speak over this Unix socket; `url` is then `http://localhost`."""
    directory: str | None = None
    """The folder that requests are about; None: the server's first."""

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return f"unix:{self.socket}" if self.socket else self.url

    @property
    def start_command(self) -> str:
        """What starts a server there; the dots stand for this client's token."""
        start = "ROOST_SERVER_PASSWORD=... roost serve"
        if self.socket is not None:
            return f"{start} --unix {quote(str(self.socket))}"
        parts = urlsplit(self.url)
        port = f" --port {parts.port}" if parts.port else ""
        host = parts.hostname or LOOPBACK
        elsewhere = "" if host in _HERE else f" --hostname {host}"
        return f"{start}{port}{elsewhere}"


class ServerEvent(Struct, frozen=True):
    """One event of the stream."""

    type: str
    properties: dict[str, Any]
    id: str = ""

    @property
    def session_id(self) -> str | None:
        """The session it is about, if any."""
        return self.properties.get("sessionID")


RESYNC = "server.resync"
"""The type of the event after which the client must read the state again: news was missed."""


class Health(Struct, frozen=True):
    """The answer of `GET /global/health`."""

    healthy: bool
    version: str
    proof: str | None = None


class RawMessage(Struct, frozen=True):
    """A message whose parts are not decoded yet: one of an unknown type must not hide the rest."""

    info: Info
    parts: list[msgspec.Raw]

    def decoded(self) -> Message:
        """The message with its parts."""
        return Message(self.info, tuple(decode_part(bytes(part).decode()) for part in self.parts))


class UnreachableError(RoostError):
    """The server cannot be reached, or its answer was cut off. As text it says what to do, too."""

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class RateError(RoostError):
    """The server takes no more prompts now; nothing was stored. `retry_after` is in seconds."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message, hint=f"Try again in {retry_after:g} seconds.")
        self.retry_after = retry_after

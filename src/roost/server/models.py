"""How a server is set up, and where it listens."""

from pathlib import Path
from typing import Final

from msgspec import Struct

ENVIRONMENT_NAME: Final = "ROOST_SERVER_PASSWORD"
LOOPBACK: Final = "127.0.0.1"
MEGABYTE: Final = 1024 * 1024


class ServerSettings(Struct, frozen=True, kw_only=True):
    """What a server serves, and to whom. Times are seconds."""

    directories: tuple[Path, ...]
    """The folders it is opened for; the first is meant where a request names none."""
    hostname: str = LOOPBACK
    port: int = 0
    """0: any free one."""
    socket: Path | None = None
    """Listen on this Unix socket and on no port."""
    password: str | None = None
    """None: a random token, which only this user can read, is made."""
    origins: tuple[str, ...] = ()
    """Further origins that a browser may come from, exactly as it sends them."""
    owner_pid: int | None = None
    """End when this process ends."""
    watch_stdin: bool = False
    """End when standard input is closed."""
    body_limit: int = 96 * MEGABYTE
    """Bytes of a request: an attachment of 50 MB in base64, and some room."""
    body_timeout: float = 60.0
    """Longest silence while a request body comes in."""
    prompts_per_minute: int = 20
    """Prompts that one source may leave without waiting for their answers."""
    heartbeat: float = 10.0
    write_timeout: float = 30.0
    """A client that takes nothing for so long is cut off."""
    streams: int = 256
    """Event streams that may be open at once."""
    grace: float = 2.0
    """For requests to end by themselves when the server stops."""


class Listening(Struct, frozen=True):
    """A server that answers."""

    url: str
    """`http://127.0.0.1:PORT`, or `http://localhost` for a Unix socket."""
    token: str
    """What its clients have to show."""
    socket: Path | None = None
    port: int | None = None
    token_file: Path | None = None
    """None when the password came from outside."""

    @property
    def place(self) -> str:
        """The address for people."""
        return f"unix:{self.socket}" if self.socket else self.url


def ready_line(listening: Listening) -> str:
    """The line that tells a caller that the server answers, and where."""
    return f"roost server listening on {listening.place}"

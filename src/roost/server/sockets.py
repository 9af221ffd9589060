"""The socket that a server listens on; when it cannot be had, who has it."""

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Final

from roost.core.errors import ConflictError, UsageError
from roost.server.models import LOOPBACK, ServerSettings

_BACKLOG: Final = 128
_TCP_LISTEN: Final = "0A"
"""The state of a listening socket in `/proc/net/tcp`."""


def listen(settings: ServerSettings) -> socket.socket:
    """A listening socket as `settings` ask for it.

    Raises `ConflictError` naming the owner when the place is taken, `UsageError` when there is no
    such place.
    """
    if settings.socket is not None:
        return _unix(settings.socket)
    return _tcp(settings.hostname, settings.port)


def _tcp(hostname: str, port: int) -> socket.socket:
    host = LOOPBACK if hostname.lower() == "localhost" else hostname.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm, which would hold back parts of a stream for 40 ms, only
    # where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(error, host, port) from error
    listener.setblocking(False)
    return listener


def _refused(error: OSError, host: str, port: int) -> UsageError | ConflictError:
    if error.errno == errno.EADDRINUSE:
        owner = owner_of(port)
        return ConflictError(
            f"port {port} of {host} is taken" + (f" by {owner}" if owner else ""),
            hint="Choose another with --port; 0 takes any free one.",
        )
    if error.errno == errno.EACCES:
        return UsageError(
            f"this user may not listen on port {port}", hint="Ports from 1024 on are free to all."
        )
    return UsageError(
        f"cannot listen on {host}:{port}: {error.strerror or error}",
        hint="Give an address of this machine with --hostname, or leave it out.",
    )


def _unix(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > 100:
        raise UsageError(f"{path} is too long for a socket", hint="Use a path below 100 bytes.")
    _clear(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {path}: {error.strerror}",
            hint="Give a path in a folder that exists and that you may write to.",
        ) from error
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener


def _clear(path: Path) -> None:
    """Remove the socket of a server that is gone; never anything else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConflictError(f"{path} is there already and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise ConflictError(f"{path} is in use: {error.strerror}") from error
    raise ConflictError(f"another server listens on {path}")


def owner_of(port: int) -> str | None:
    """The process that listens on `port`, for people; None where that cannot be told."""
    inodes = {inode for name in ("tcp", "tcp6") for inode in _listening(name, port)}
    if not inodes:
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and _holds(process, wanted):
            return f"{_command(process)} (process {process.name})"
    return None


def _listening(table: str, port: int) -> list[str]:
    try:
        lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    rows = [line.split() for line in lines]
    suffix = f":{port:04X}"
    return [row[9] for row in rows if row[1].endswith(suffix) and row[3] == _TCP_LISTEN]


def _holds(process: Path, wanted: set[str]) -> bool:
    try:
        return any(str(entry.readlink()) in wanted for entry in (process / "fd").iterdir())
    except OSError:  # it is gone, or belongs to somebody else
        return False


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a process"

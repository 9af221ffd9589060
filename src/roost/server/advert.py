"""Tells this user's own clients where a server listens and how to be let in.

Two files below `state/servers/`, readable by the user alone: `PLACE.json` with the address, and
`PLACE.token` with the token unless a password came from outside. `key` lets a client see that it
speaks to this very server before it shows the token: `GET /global/health?challenge=…` answers with
a proof that only the holder of the key can make.
"""

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from roost import __version__
from roost.runtime.advert import FOLDER, Advert
from roost.server.auth import write_private
from roost.server.models import Listening


def place_name(port: int | None, socket: Path | None) -> str:
    """The name of a server's files: its port, or a hash of its socket's path."""
    if port is not None:
        return str(port)
    return "socket-" + hashlib.sha256(os.fsencode(socket or "")).hexdigest()[:16]


@contextmanager
def advertised(
    state: Path, listening: Listening, key: str, directories: list[str]
) -> Generator[None]:
    """Keep the advert of a server as long as the block runs. Raises `StorageError`."""
    path = state / FOLDER / f"{place_name(listening.port, listening.socket)}.json"
    advert = Advert(
        url=listening.url,
        pid=os.getpid(),
        key=key,
        version=__version__,
        directories=directories,
        socket=str(listening.socket) if listening.socket else None,
        token_file=str(listening.token_file) if listening.token_file else None,
    )
    _sweep(state / FOLDER)
    written = [path, *([listening.token_file] if listening.token_file else [])]
    try:
        if listening.token_file is not None:
            write_private(listening.token_file, listening.token)
        write_private(path, msgspec.json.encode(advert).decode())
        yield
    finally:
        for file in written:
            file.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what servers left that were killed."""
    for file in folder.glob("*.json"):
        try:
            pid = msgspec.json.decode(file.read_bytes(), type=Advert).pid
            os.kill(pid, 0)
        except (ProcessLookupError, msgspec.MsgspecError):
            file.unlink(missing_ok=True)
            file.with_suffix(".token").unlink(missing_ok=True)
        except (OSError, OverflowError):
            continue  # it lives, or cannot be looked at

"""Finds a running server of this user, and makes sure that it is the one it claims to be.

A server leaves an advert in `state/servers/`. The port in it may belong to a stranger by now, so
the token is shown only to who can answer a challenge with the key of the advert.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import msgspec

from roost.client.client import Client
from roost.client.models import ServerPlace, UnreachableError
from roost.core.errors import RoostError
from roost.runtime.advert import FOLDER, Advert


def adverts(state: Path) -> list[Advert]:
    """The adverts below `state` whose process lives, newest first. Unreadable ones are passed."""
    files = sorted((state / FOLDER).glob("*.json"), key=_age, reverse=True)
    found = [advert for file in files if (advert := _read(file)) is not None]
    return [advert for advert in found if _lives(advert.pid)]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> Advert | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Advert)
    except (OSError, msgspec.MsgspecError):
        return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


async def find(state: Path, directory: Path, password: str | None = None) -> ServerPlace | None:
    """A running server that was opened for `directory`; None if there is none.

    `password` is for a server that was started with one.
    """
    wanted = os.path.realpath(directory)
    for advert in adverts(state):
        if wanted in advert.directories and await _is_genuine(advert):
            token = _token(advert) or password
            if token is not None:
                return _place(advert, token, wanted)
    return None


def _place(advert: Advert, token: str, directory: str | None = None) -> ServerPlace:
    socket = Path(advert.socket) if advert.socket else None
    return ServerPlace(advert.url, token, socket, directory)


def _token(advert: Advert) -> str | None:
    if advert.token_file is None:
        return None
    try:
        return Path(advert.token_file).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


async def _is_genuine(advert: Advert) -> bool:
    challenge = secrets.token_hex(16)
    words = f"roost-server:{challenge}".encode()
    expected = hmac.new(advert.key.encode(), words, hashlib.sha256).hexdigest()
    # Whoever listens there now learns a random text, and nothing of the token.
    async with Client(_place(advert, "none")) as client:
        try:
            health = await client.health(challenge)
        except (UnreachableError, RoostError):
            return False
    return hmac.compare_digest(health.proof or "", expected)

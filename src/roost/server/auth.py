"""The secret of a server: made, kept in a file that only its user can read, and compared.

A client shows it as `Authorization: Bearer TOKEN`, or as Basic with the user `opencode`, which is
how OpenCode's clients send a password.
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import secrets
from pathlib import Path
from typing import Final

from roost.core.errors import ConfigError, StorageError
from roost.server.models import ENVIRONMENT_NAME

BASIC_USER: Final = "opencode"
_PRIVATE: Final = 0o600


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


class Secret:
    """What clients must show. Comparing takes the same time wherever the difference is."""

    def __init__(self, value: str) -> None:
        self._value = value.encode()

    def accepts(self, authorization: str) -> bool:
        """Whether the value of an `Authorization` header, read as Latin-1, carries the secret."""
        scheme, _, credentials = authorization.partition(" ")
        match scheme.lower():
            case "bearer":
                return self._equals(credentials.strip().encode("latin-1", "replace"))
            case "basic":
                user, password = _basic(credentials.strip())
                # Both are compared always, so that a wrong user costs the same time.
                right = self._equals(password.encode())
                return hmac.compare_digest(user.encode(), BASIC_USER.encode()) and right
            case _:
                return False

    def _equals(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._value)


def _basic(credentials: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", ""
    return user, password


def proof(key: str, challenge: str) -> str:
    """Shows that a server knows `key` without telling it: HMAC-SHA256 in hex."""
    return hmac.new(key.encode(), f"roost-server:{challenge}".encode(), hashlib.sha256).hexdigest()


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody but the user can read at any moment. Raises `StorageError`."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error


def is_loopback(hostname: str) -> bool:
    """Whether only this machine can reach what listens on `hostname`."""
    if hostname.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(hostname.strip("[]")).is_loopback
    except ValueError:
        return False


def require_password(hostname: str, password: str | None) -> None:
    """Refuse to be reachable from other machines without a password. Raises `ConfigError`."""
    if password == "":  # an empty variable is a mistake, not a wish for an open server
        raise ConfigError(
            f"{ENVIRONMENT_NAME} is empty", hint="Set it to a password, or unset it for a token."
        )
    if password is None and not is_loopback(hostname):
        raise ConfigError(
            f"{hostname} can be reached from other machines, and no password is set",
            hint=f"Set {ENVIRONMENT_NAME}, or listen on 127.0.0.1.",
        )

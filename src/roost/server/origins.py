"""Whom a browser may speak for: `Host` and `Origin`, compared exactly, port included.

A page of another site cannot read answers or send JSON here, and a name that is pointed at this
machine after the page was loaded (DNS rebinding) is not one of ours.
"""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from roost.core.errors import ConfigError
from roost.server.auth import is_loopback

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_ALLOWED_HEADERS: Final = (
    "authorization, content-type, last-event-id, x-opencode-directory, x-opencode-workspace"
)
_SHOWN_HEADERS: Final = "link, x-next-cursor, retry-after"
_DAY: Final = "86400"


class Origins:
    """The names under which one server may be spoken to."""

    def __init__(self, hostname: str, port: int | None, configured: tuple[str, ...] = ()) -> None:
        """`port` is None for a Unix socket. Raises `ConfigError` for what is no origin."""
        extra = tuple(_checked(origin) for origin in configured)
        self._any_address = hostname if _is_wildcard(hostname) else None
        self._port = port
        names = set[str](_LOOPBACK_NAMES)
        if not is_loopback(hostname) and self._any_address is None:
            names.add(bracketed(hostname).lower())
        self._hosts = frozenset(_with_port(name, port) for name in names) | frozenset(
            urlsplit(origin).netloc for origin in extra
        )
        self._origins = frozenset(f"http://{_with_port(name, port)}" for name in names) | set(extra)
        if port is None:
            self._hosts = frozenset({"localhost"})

    def host_allowed(self, host: str) -> bool:
        """Whether `Host` is one of our names."""
        return host.lower() in self._hosts or self._is_our_address(host)

    def origin_allowed(self, origin: str) -> bool:
        """Whether a page of `origin` may use the server."""
        return origin.lower() in self._origins

    def _is_our_address(self, host: str) -> bool:
        """A server on all addresses is reached by number; names could be anybody's."""
        if self._any_address is None:
            return False
        name, _, port = host.rpartition(":")
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return port == str(self._port)


def _is_wildcard(hostname: str) -> bool:
    try:
        return ipaddress.ip_address(hostname.strip("[]")).is_unspecified
    except ValueError:
        return False


def bracketed(hostname: str) -> str:
    """A host name as it stands in a URL."""
    return f"[{hostname}]" if ":" in hostname and not hostname.startswith("[") else hostname


def _with_port(name: str, port: int | None) -> str:
    return name if port in {None, 80} else f"{name}:{port}"


def _checked(origin: str) -> str:
    parts = urlsplit(origin)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path or parts.query:
        raise ConfigError(
            f"server.cors: {origin!r} is no origin",
            hint="Write it as a browser sends it, for example https://tools.example.com",
        )
    return origin.lower()


def shared_headers(origin: str) -> dict[str, str]:
    """Headers that let a page of an allowed origin read an answer."""
    return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": _SHOWN_HEADERS,
        "vary": "Origin",
    }


def preflight_headers(origin: str) -> dict[str, str]:
    """The answer to a browser's question whether a page of an allowed origin may ask."""
    return {
        **shared_headers(origin),
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": _ALLOWED_HEADERS,
        "access-control-max-age": _DAY,
    }

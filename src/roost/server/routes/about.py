"""The server itself: is it well, what it can do, what its clients have to report."""

import logging
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from roost import __version__
from roost.core.text import clean, cut, terminal_safe
from roost.server.auth import proof
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.wire import Health

logger = logging.getLogger(__name__)
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
_LINE: Final = 4_000
"""Characters of a client's log entry that are kept."""


class HealthQuery(Struct, frozen=True):
    """Random text that a client makes up to see whether the server is the one it looks for."""

    challenge: Annotated[str, Meta(max_length=200)] | None = None


class LogBody(Struct, frozen=True):
    """One entry of a client's log."""

    service: str
    level: Literal["debug", "info", "warn", "error"]
    message: str
    extra: dict[str, Any] = {}


async def health(call: Call[HealthQuery, None]) -> Health:
    """Whether the server answers. The only route that needs no secret."""
    challenge = call.query.challenge
    key = call.service.identity_key
    return Health(
        healthy=True, version=__version__, proof=proof(key, challenge) if challenge else None
    )


async def write_log(call: Call[NoQuery, LogBody]) -> bool:
    """Put an entry into the server's log."""
    body = call.body
    words = terminal_safe(clean(f"{body.service}: {body.message} {body.extra or ''}"))
    logger.log(_LEVELS[body.level], "%s", cut(" ".join(words.split()), _LINE))
    return True


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/global/health", health, scoped=False),
    endpoint("POST", "/log", write_log),
)

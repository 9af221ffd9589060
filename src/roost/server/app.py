"""The whole application: every route behind the gate."""

from functools import cache
from typing import Any, Final

from starlette.types import ASGIApp

from roost.server.auth import Secret
from roost.server.endpoint import Call, Endpoint, NoQuery, endpoint
from roost.server.gate import Gate
from roost.server.openapi import openapi
from roost.server.origins import Origins
from roost.server.routes import (
    about,
    absent,
    actors,
    aside,
    asks,
    events,
    experimental,
    files,
    goal,
    inbox,
    interfaces,
    located,
    messages,
    projects,
    prompts,
    session_acts,
    sessions,
    settings,
    skills,
    teams,
    undo,
    vcs,
)
from roost.server.routing import router
from roost.server.service import Service


async def document(call: Call[NoQuery, None]) -> dict[str, Any]:
    """This document."""
    return {**_document(), "servers": [{"url": str(call.request.base_url).rstrip("/")}]}


@cache
def _document() -> dict[str, Any]:
    return openapi(ENDPOINTS)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *about.ROUTES,
    *events.ROUTES,
    *sessions.ROUTES,
    *messages.ROUTES,
    *prompts.ROUTES,
    *session_acts.ROUTES,
    *goal.ROUTES,
    *aside.ROUTES,
    *undo.ROUTES,
    *actors.ROUTES,
    *inbox.ROUTES,
    *teams.ROUTES,
    *asks.ROUTES,
    *projects.ROUTES,
    *files.ROUTES,
    *vcs.ROUTES,
    *experimental.ROUTES,
    *settings.ROUTES,
    *skills.ROUTES,
    *located.ROUTES,
    *interfaces.ROUTES,
    *absent.ROUTES,
    endpoint("GET", "/doc", document, scoped=False),
)


def application(service: Service, secret: Secret, origins: Origins) -> ASGIApp:
    """The ASGI app of one server."""
    return Gate(router(service, ENDPOINTS), secret, origins)

"""What OpenCode keeps below `/experimental` and Roost has: tools, sessions, working trees."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from roost.server.endpoint import Call, Endpoint, NoQuery, Reply, endpoint
from roost.server.routes.projects import current_project
from roost.server.wire import Stamp
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.tools.registry import builtin_tools

_LIMIT: Final = 100


class ToolView(Struct, frozen=True):
    """A tool as models are shown it; `parameters` is a JSON Schema."""

    id: str
    description: str
    parameters: dict[str, Any]


class EverywhereQuery(Struct, frozen=True):
    """Sessions that match everything given, used before `cursor` and since `start`."""

    roots: bool = False
    """Without those that have a parent."""
    start: Stamp | None = None
    cursor: Stamp | None = None
    search: str | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = _LIMIT
    archived: bool = False
    """With those that are archived."""


class ProjectRef(Struct, frozen=True):
    """The project of a session."""

    id: str
    worktree: str


async def list_tool_ids(call: Call[NoQuery, None]) -> list[str]:
    """The names of the tools that need no other actors."""
    del call
    return list(builtin_tools())


async def list_tools(call: Call[NoQuery, None]) -> list[ToolView]:
    """The same with what models are told of them."""
    del call
    return [
        ToolView(name, tool.description, tool.schema()) for name, tool in builtin_tools().items()
    ]


async def list_everywhere(call: Call[EverywhereQuery, None]) -> Reply[list[dict[str, Any]]]:
    """The sessions of all folders that the server was opened for, the last used first."""
    query = call.query
    found = await call.service.runtime.database.read(
        lambda db: sessions.listed(
            db, roots=query.roots, search=query.search, since=query.start, limit=10_000
        )
    )
    shown: list[dict[str, Any]] = []
    for one in found:
        if query.cursor is not None and one.time.updated >= query.cursor:
            continue
        if one.time.archived is not None and not query.archived:
            continue
        if (await call.service.directories.remember(one)).served:
            shown.append(_with_project(one))
        if len(shown) > query.limit:
            page = shown[: query.limit]
            return Reply(page, {"X-Next-Cursor": str(page[-1]["time"]["updated"])})
    return Reply(shown, {})


def _with_project(session: Session) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(session)
    project = ProjectRef(session.project_id, session.directory)
    return {**fields, "project": msgspec.to_builtins(project)}


async def list_worktrees(call: Call[NoQuery, None]) -> list[str]:
    """The further working trees of a folder's project that sessions work in."""
    return (await current_project(call)).sandboxes


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/experimental/tool/ids", list_tool_ids),
    endpoint("GET", "/experimental/tool", list_tools),
    endpoint("GET", "/experimental/session", list_everywhere),
    endpoint("GET", "/experimental/worktree", list_worktrees),
)

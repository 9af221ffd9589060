"""What OpenCode's clients look for and Roost has none of: told as OpenCode tells none.

Where a client only looks, it gets an empty answer; where it wants something done, an error that
says why that is not offered.
"""

import re
from typing import Any, Final

from msgspec import Struct

from roost.core.wire_names import wire_name
from roost.server.endpoint import Call, Endpoint, Handler, Method, NoQuery, endpoint
from roost.server.problems import RefusalError


class ConsoleView(Struct, frozen=True, rename=wire_name):
    """Accounts at OpenCode's console."""

    console_managed_providers: list[str] = []
    switchable_org_count: int = 0


class Organisations(Struct, frozen=True):
    """Organisations of such accounts."""

    orgs: list[dict[str, Any]] = []


class CapabilitiesView(Struct, frozen=True, rename=wire_name):
    """What OpenCode 1.18 lets a client do beside the rest."""

    background_subagents: bool = False
    """A running subagent can be sent to the background by a person."""


class Upgraded(Struct, frozen=True):
    """What came of an upgrade."""

    success: bool
    error: str


async def nothing_listed(call: Call[NoQuery, None]) -> list[dict[str, Any]]:
    """Nothing: Roost has none of these."""
    del call
    return []


async def nothing_named(call: Call[NoQuery, None]) -> dict[str, dict[str, Any]]:
    """Nothing: Roost has none of these."""
    del call
    return {}


async def get_console(call: Call[NoQuery, None]) -> ConsoleView:
    """No accounts: Roost has no console."""
    del call
    return ConsoleView()


async def list_organisations(call: Call[NoQuery, None]) -> Organisations:
    """No organisations: Roost has no console."""
    del call
    return Organisations()


async def get_capabilities(call: Call[NoQuery, None]) -> CapabilitiesView:
    """What a client of OpenCode 1.18 may show beside the rest."""
    del call
    return CapabilitiesView()


async def upgrade(call: Call[NoQuery, None]) -> Upgraded:
    """Refused: a server does not replace itself."""
    del call
    words = "Roost is upgraded by what installed it, and restarted after that"
    return Upgraded(success=False, error=words)


_NO_TERMINALS: Final = (
    "Roost runs no terminals for its clients; prompt with `!` or use the bash tool"
)
_NO_MCP: Final = "Roost connects to no MCP servers yet; what the configuration says of them is kept"
_NO_CONSOLE: Final = "Roost has no accounts, so there is no organisation to switch to"
_NO_WORKSPACES: Final = "Roost has no remote workspaces; start a server where the work is"
_NO_WORKTREES: Final = "Roost makes working trees for the sessions that it directs, not on request"
_NO_OAUTH: Final = "Roost signs in with keys alone: PUT /auth/{providerID} with type api"
_NO_REPLICAS: Final = "Roost keeps no log of events to replay; read the sessions again instead"
_NO_SHARING: Final = "Roost shares no sessions: nothing of a conversation leaves this machine"
_NO_NAMES: Final = "Roost names projects by their folders, and keeps no icons or commands of them"
_NO_QUEUE: Final = "terminal interfaces are driven by events here: POST /tui/publish and the others"

_NOT_OFFERED: Final[tuple[tuple[Method, str, str], ...]] = (
    ("POST", "/pty", _NO_TERMINALS),
    ("GET", "/pty/{ptyID}", _NO_TERMINALS),
    ("PUT", "/pty/{ptyID}", _NO_TERMINALS),
    ("DELETE", "/pty/{ptyID}", _NO_TERMINALS),
    ("GET", "/pty/{ptyID}/connect", _NO_TERMINALS),
    ("POST", "/pty/{ptyID}/connect-token", _NO_TERMINALS),
    ("POST", "/mcp", _NO_MCP),
    ("POST", "/mcp/{name}/auth", _NO_MCP),
    ("DELETE", "/mcp/{name}/auth", _NO_MCP),
    ("POST", "/mcp/{name}/auth/callback", _NO_MCP),
    ("POST", "/mcp/{name}/auth/authenticate", _NO_MCP),
    ("POST", "/mcp/{name}/connect", _NO_MCP),
    ("POST", "/mcp/{name}/disconnect", _NO_MCP),
    ("POST", "/experimental/console/switch", _NO_CONSOLE),
    ("POST", "/experimental/workspace", _NO_WORKSPACES),
    ("DELETE", "/experimental/workspace/{id}", _NO_WORKSPACES),
    ("POST", "/experimental/workspace/{id}/session-restore", _NO_WORKSPACES),
    ("POST", "/experimental/worktree", _NO_WORKTREES),
    ("DELETE", "/experimental/worktree", _NO_WORKTREES),
    ("POST", "/experimental/worktree/reset", _NO_WORKTREES),
    ("POST", "/provider/{providerID}/oauth/authorize", _NO_OAUTH),
    ("POST", "/provider/{providerID}/oauth/callback", _NO_OAUTH),
    ("POST", "/sync/start", _NO_REPLICAS),
    ("POST", "/sync/replay", _NO_REPLICAS),
    ("POST", "/sync/history", _NO_REPLICAS),
    ("POST", "/session/{sessionID}/share", _NO_SHARING),
    ("DELETE", "/session/{sessionID}/share", _NO_SHARING),
    ("PATCH", "/project/{projectID}", _NO_NAMES),
    ("GET", "/tui/control/next", _NO_QUEUE),
    ("POST", "/tui/control/response", _NO_QUEUE),
)


def _refusal(words: str) -> Handler:
    async def refuse(call: Call[NoQuery, None]) -> None:
        """Not offered: the answer says why."""
        del call
        raise RefusalError(501, words)

    return refuse


def _name(method: Method, path: str) -> str:
    return "_".join(["no", method.lower(), *re.findall(r"\w+", path)])


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/lsp", nothing_listed, name="list_language_servers"),
    endpoint("GET", "/formatter", nothing_listed, name="list_formatters"),
    endpoint("GET", "/mcp", nothing_named, name="list_mcp_servers"),
    endpoint("GET", "/experimental/resource", nothing_named, name="list_mcp_resources"),
    endpoint("GET", "/experimental/workspace", nothing_listed, name="list_workspaces"),
    endpoint(
        "GET", "/experimental/workspace/status", nothing_listed, name="list_workspace_statuses"
    ),
    endpoint(
        "GET", "/experimental/workspace/adapter", nothing_listed, name="list_workspace_adapters"
    ),
    endpoint("GET", "/pty", nothing_listed, name="list_terminals"),
    endpoint("GET", "/pty/shells", nothing_listed, name="list_shells"),
    endpoint("GET", "/find/symbol", nothing_listed, name="find_symbols"),
    endpoint("GET", "/provider/auth", nothing_named, name="list_sign_in_methods"),
    endpoint("GET", "/experimental/console", get_console),
    endpoint("GET", "/experimental/console/orgs", list_organisations),
    endpoint("GET", "/experimental/capabilities", get_capabilities),
    endpoint("POST", "/global/upgrade", upgrade, scoped=False),
    *(
        endpoint(method, path, _refusal(words), name=_name(method, path))
        for method, path, words in _NOT_OFFERED
    ),
)

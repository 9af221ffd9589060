"""`roost sessions delete`: asks first, stops what runs in the session, then removes it."""

import sys
from typing import Any

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.storage import Home, run_at_home
from roost.cli.terminal import is_terminal
from roost.core.errors import UsageError
from roost.core.text import terminal_safe
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime


class DeleteOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions delete`."""

    session: str
    yes: bool = False


def execute(given: dict[str, Any]) -> int:
    """Delete one session for good. Raises `NotFoundError`."""
    options = msgspec.convert(given, DeleteOptions)
    return run_at_home(given, lambda home: _delete(home, options))


async def _delete(home: Home, options: DeleteOptions) -> int:
    settings = Settings(environment=home.environ, interactive=False, make_titles=False)
    async with Runtime.open(settings) as runtime:
        session = await runtime.session(options.session)
        if not options.yes and not _agreed(session.title):
            tell("nothing was deleted\n")
            return 1
        await runtime.delete_session(session.id)
    tell(f"deleted {session.id}\n")
    return 0


def _agreed(title: str) -> bool:
    """Whether the person at the terminal says yes. Raises `UsageError` when there is none."""
    if not is_terminal(sys.stdin):
        raise UsageError("nobody can be asked whether to delete it", hint="Say so with --yes.")
    tell(f"Delete “{terminal_safe(title)}” for good? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}

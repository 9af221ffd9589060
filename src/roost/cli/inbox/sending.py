"""`roost inbox send`: leaves a person's words with an actor, and says who will take them up.

Nothing runs in this process: whoever runs the actor, or serves, hears of it by the database.
"""

import shlex
import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.actors.models import Actor
from roost.actors.owner import process_number
from roost.cli.actors.naming import in_session
from roost.cli.sessions.naming import named
from roost.cli.storage import Home, run_at_home, tell_notes
from roost.cli.table import as_json
from roost.client.discovery import adverts
from roost.core.errors import UsageError
from roost.runtime.models import PromptInput, Settings, TextInput
from roost.runtime.runtime import Runtime


class SendOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost inbox send`."""

    session: str
    text: str
    actor: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Send. Raises `NotFoundError`, `UsageError`, and what a prompt can raise."""
    options = msgspec.convert(given, SendOptions)
    return run_at_home(given, lambda home: _send(home, options))


async def _send(home: Home, options: SendOptions) -> int:
    text = sys.stdin.read() if options.text == "-" else options.text
    if not text.strip():
        raise UsageError("there is nothing to say", hint="Give the words, or pipe them in with -.")
    settings = Settings(
        environment=home.environ, interactive=False, make_titles=False, runs_actors=False
    )
    async with Runtime.open(settings) as runtime:
        tell_notes(runtime.database)
        session = await runtime.database.read(lambda db: named(db, options.session))
        actor = await runtime.database.read(lambda db: in_session(db, session.id, options.actor))
        given = PromptInput(parts=(TextInput(text.rstrip("\n")),))
        accepted = await runtime.prompt(session.id, given, actor_id=actor.actor_id)
        now = await runtime.actor(actor.address)
    if options.format == "json":
        about = {"id": accepted.inbox_id, "messageID": accepted.message_id}
        print(as_json({**about, "sessionID": now.session_id, "actorID": now.actor_id}))
    else:
        print(f"{accepted.inbox_id} is stored; {_who(home, now)}")
    return 0


def _who(home: Home, actor: Actor) -> str:
    """Who hears it, or what to do so that somebody does."""
    watch = home.watch()
    if watch.is_running(actor):
        number = process_number(watch.owners, actor.owner) if actor.owner else None
        who = f"process {number}" if number else "the process that runs it"
        return f"{actor.actor_id} hears it at its next step, in {who}"
    if serving := adverts(home.paths.state):
        return f"the server {serving[0].url} (process {serving[0].pid}) takes it up in a moment"
    go_on = shlex.join(["roost", "run", "-s", actor.session_id, "go on"])
    return f"nobody runs {actor.actor_id} now. To have it heard: {go_on}"

"""`roost sessions export`: the document on stdout, everything else on stderr."""

import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.secrets import MASK, secrets_in, secrets_of
from roost.cli.sessions.naming import chosen
from roost.cli.sessions.sanitize import sanitize
from roost.cli.states import Watch
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.terminal import Output
from roost.cli.trusting import load_config
from roost.core.amounts import counted
from roost.core.errors import ConfigError
from roost.core.text import terminal_safe
from roost.db.transaction import Reader
from roost.sessions.export import Exported, encode, read_session


class ExportOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost sessions export`."""

    session: str | None = None
    """Its id or the beginning of it; None: the last one of the folder."""
    dir: str | None = None
    sanitize: bool = False


def execute(given: dict[str, Any]) -> int:
    """Write one session as JSON. Raises `NotFoundError` and `UsageError`."""
    options = msgspec.convert(given, ExportOptions)
    return run_at_home(given, lambda home: _export(home, options))


async def _export(home: Home, options: ExportOptions) -> int:
    watch = home.watch()
    with database_of(home) as database:
        exported, running = await database.read(lambda db: _read(db, options, watch))
    if options.session is None:
        info = exported.info
        tell(f"note: this is {info.id}, “{terminal_safe(info.title)}”\n")
    if running:
        tell("note: the session is running; this is how far it has come\n")
    data = encode(sanitize(exported) if options.sanitize else exported)
    data, hidden = without_secrets(data, _secrets(home, exported))
    if hidden:
        keys = counted(hidden, "known key was", "known keys were")
        tell(f"note: {keys} replaced by {MASK}\n")
    output = Output(sys.stdout)
    output.write(data.decode())
    if output.lost:
        raise BrokenPipeError
    return 0


def _read(db: Reader, options: ExportOptions, watch: Watch) -> tuple[Exported, bool]:
    session = chosen(db, options.session, options.dir)
    return read_session(db, session.id), bool(watch.running(db, [session.id]))


def _secrets(home: Home, exported: Exported) -> frozenset[str]:
    """The keys of the environment, and those of the configuration the session ran with."""
    known = secrets_in(home.environ)
    try:
        loaded = load_config(Path(exported.info.directory), home.environ, home.paths)
    except ConfigError:
        return known
    return known | secrets_of(loaded.config, home.environ)


def without_secrets(document: bytes, secrets: frozenset[str]) -> tuple[bytes, int]:
    """The JSON `document` with each secret inside its texts masked, and how many there were."""
    hidden = 0
    for secret in sorted(secrets, key=len, reverse=True):
        written = msgspec.json.encode(secret)[1:-1]
        hidden += document.count(written)
        document = document.replace(written, MASK.encode())
    return document, hidden

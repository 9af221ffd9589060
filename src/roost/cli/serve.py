"""`roost serve`: opens the runtime and serves it over HTTP until told to stop."""

import stat
from pathlib import Path
from shlex import quote
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.cli.collector import calm
from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.secrets import secrets_of
from roost.cli.storage import Home, run_at_home
from roost.cli.telemetry import send_telemetry
from roost.cli.trusting import load_config, withheld_words
from roost.config.models import ServerConfig
from roost.core.errors import UsageError
from roost.core.text import terminal_safe
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime
from roost.server.models import (
    ENVIRONMENT_NAME,
    LOOPBACK,
    Listening,
    ServerSettings,
    ready_line,
)
from roost.server.serve import serve

_WHAT_TO_DO: Final = "Write the password into it, or leave --password-file out."


class ServeOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost serve`."""

    port: int | None = None
    hostname: str | None = None
    unix: str | None = None
    dirs: list[str] = []
    password_file: str | None = None
    cors: list[str] = []
    model: str | None = None
    yes: bool = False
    until_eof: bool = False
    owner_pid: int | None = None


def execute(given: dict[str, Any]) -> int:
    """Serve until a signal. Raises `RoostError` when the server cannot start."""
    options = msgspec.convert(given, ServeOptions)
    calm()
    return run_at_home(given, lambda home: _serve(home, options))


async def _serve(home: Home, options: ServeOptions) -> int:
    folders = tuple(working_folder(name).resolve() for name in options.dirs or [None])
    loaded = load_config(folders[0], home.environ, home.paths)
    password = _password(options, home)
    hidden = {password} if password else set[str]()
    home.log.hide(secrets_of(loaded.config, home.environ) | hidden)
    home.log.use_level(loaded.config.log_level)
    runtime_settings = Settings(
        environment=home.environ,
        interactive=True,
        yes=options.yes,
        model=options.model,
        recover_all=True,
    )
    settings = server_settings(options, loaded.config.server, folders, password)
    async with Runtime.open(runtime_settings) as runtime:
        for note in (*runtime.database.notes, *loaded.warnings, withheld_words(loaded)):
            if note:
                tell(terminal_safe(note) + "\n")
        send_telemetry(runtime, loaded.config, home.environ, lambda words: tell(f"note: {words}\n"))
        await serve(runtime, settings, lambda place: _announce(place, folders[0]))
    return 0


def server_settings(
    options: ServeOptions, config: ServerConfig, folders: tuple[Path, ...], password: str | None
) -> ServerSettings:
    """The command line laid over the configuration."""
    if options.unix is not None and (options.port is not None or options.hostname is not None):
        raise UsageError(
            "--unix takes the place of --port and --hostname", hint="Give one of them."
        )
    port = config.port if options.port is None else options.port
    return ServerSettings(
        directories=folders,
        hostname=options.hostname or config.hostname or LOOPBACK,
        port=port or 0,
        socket=Path(options.unix).absolute() if options.unix else None,
        password=password,
        origins=(*config.cors, *options.cors),
        owner_pid=options.owner_pid,
        watch_stdin=options.until_eof,
    )


def _password(options: ServeOptions, home: Home) -> str | None:
    """From the file or the environment. Raises `UsageError` for a file that is of no use."""
    if options.password_file is None:
        return home.environ.get(ENVIRONMENT_NAME) or None
    path = Path(options.password_file)
    try:
        password = path.read_text(encoding="utf-8").strip()
        open_to_others = stat.S_IMODE(path.stat().st_mode) & 0o077
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"the password file {path} cannot be read: {why}", hint=_WHAT_TO_DO
        ) from error
    if not password:
        raise UsageError(f"the password file {path} is empty", hint=_WHAT_TO_DO)
    if open_to_others:
        tell(f"warning: others can read {path}; chmod 600 mends that\n")
    return password


def _announce(place: Listening, folder: Path) -> None:
    """One line for programs on stdout, and for people how to come in."""
    print(ready_line(place), flush=True)
    key = f"$(cat {quote(str(place.token_file))})" if place.token_file else f"${ENVIRONMENT_NAME}"
    if place.socket is None:
        tell(f'attach with: OPENCODE_SERVER_PASSWORD="{key}" opencode attach {place.url}')
        tell(f" --dir {quote(str(folder))}\n")
    over = f"--unix-socket {quote(str(place.socket))} " if place.socket else ""
    tell(f'try it with: curl {over}-H "Authorization: Bearer {key}" {place.url}/session\n')
    tell(f"its routes: {place.url}/doc, with the same header; Ctrl-C stops the server\n")

"""Checks of the machine: Python, SQLite, programs, text and terminal."""

import locale
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from roost import __version__
from roost.cli.doctor.findings import Finding, Status, fail, ok, warn
from roost.cli.terminal import is_terminal

OLDEST_PYTHON: Final = (3, 11)
OLDEST_SQLITE: Final = (3, 35, 0)
"""The first with RETURNING and with the upserts that PostgreSQL understands too."""
_PROGRAM_SECONDS: Final = 5.0


def check_machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Everything that does not depend on the user's files."""
    yield ok("roost", f"{__version__} on {platform.system()} {platform.machine()}")
    yield _python()
    yield _sqlite()
    yield _program("git", "fail", "Install git: projects, undo and worktrees need it.")
    yield _program("rg", "warn", "Install ripgrep: searching large folders is slower without it.")
    yield _shell(environ)
    yield _text()
    yield _terminal(environ)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return fail("python", version, f"Roost needs Python {wanted} or newer.")
    return ok("python", f"{version} at {sys.executable}")


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        return fail("sqlite", version, f"Roost needs SQLite {wanted} or newer; use a newer Python.")
    if sqlite3.threadsafety < 1:
        return fail("sqlite", f"{version}, built without threads", "Use another Python.")
    return ok("sqlite", version)


def _program(name: str, missing: Status, mend: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(missing, name, "not found", mend)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, timeout=_PROGRAM_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(missing, name, f"{path} does not run: {error}", mend)
    return ok(name, done.stdout.decode(errors="replace").partition("\n")[0])


def _shell(environ: Mapping[str, str]) -> Finding:
    path = shutil.which("bash") or shutil.which("sh")
    if path is None:
        return fail("shell", "neither bash nor sh is on the PATH", "Add one: commands need it.")
    chosen = environ.get("SHELL")
    return ok("shell", f"{path} runs commands" + (f" (yours is {chosen})" if chosen else ""))


def _text() -> Finding:
    names = {
        "files": sys.getfilesystemencoding(),
        "output": (sys.stdout.encoding if sys.stdout else None) or "none",
        "locale": locale.getpreferredencoding(do_setlocale=False),
    }
    shown = ", ".join(f"{name} {encoding}" for name, encoding in names.items())
    plain = [e for e in names.values() if not e.lower().replace("-", "").startswith("utf8")]
    if plain:
        return warn("text", shown, "Set LANG to a UTF-8 locale, such as C.UTF-8.")
    return ok("text", shown)


def _terminal(environ: Mapping[str, str]) -> Finding:
    if not is_terminal(sys.stdout):
        return ok("terminal", "none: plain text is written")
    size = shutil.get_terminal_size()
    kind = environ.get("TERM", "")
    shown = f"{kind or 'unknown'}, {size.columns} × {size.lines}"
    if kind in {"", "dumb"}:
        return warn("terminal", shown, "Set TERM to what your terminal is, such as xterm-256color.")
    return ok(
        "terminal", shown + (", without colour (NO_COLOR)" if environ.get("NO_COLOR") else "")
    )

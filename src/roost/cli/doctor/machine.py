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
from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.doctor.installing import install_command
from roost.cli.terminal import is_terminal
from roost.core.errors import plain_words
from roost.workspace.search import ripgrep_program

OLDEST_PYTHON: Final = (3, 11)
OLDEST_SQLITE: Final = (3, 35, 0)
"""The first with RETURNING and with the upserts that PostgreSQL understands too."""
_NEWER_PYTHON: Final = "In the checkout: make setup PYTHON=python3.12 (or another that you have)"
_PROGRAM_SECONDS: Final = 5.0


def check_machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Everything that does not depend on the user's files."""
    yield ok("roost", f"{__version__} on {platform.system()} {platform.machine()}")
    yield _python()
    yield _sqlite()
    git = shutil.which("git")
    yield _program("git", git, "what changed in a project is not seen", install_command("git"))
    rg = ripgrep_program()
    yield _program("rg", rg, "searching large folders is slower", install_command("ripgrep"))
    yield _shell(environ)
    yield _text()
    yield _terminal(environ)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        detail = f"{version} at {sys.executable}; Roost needs {wanted} or newer"
        return fail("python", detail, _NEWER_PYTHON)
    return ok("python", f"{version} at {sys.executable}")


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        detail = f"{version}; Roost needs SQLite {wanted} or newer, which a newer Python brings"
        return fail("sqlite", detail, _NEWER_PYTHON)
    if sqlite3.threadsafety < 1:
        return fail("sqlite", f"{version}, built without threads", _NEWER_PYTHON)
    return ok("sqlite", version)


def _program(name: str, path: str | None, without: str, mend: str) -> Finding:
    """A program that Roost can do without; `without` says what is worse then."""
    if path is None:
        return warn(name, f"not found; {without}", mend)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, timeout=_PROGRAM_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return warn(name, f"{path} does not run ({_reason(error)}); {without}", mend)
    version = done.stdout.decode(errors="replace").partition("\n")[0]
    return ok(name, f"{version} at {path}")


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    match error:
        case subprocess.TimeoutExpired():
            return f"no answer within {_PROGRAM_SECONDS:.0f} s"
        case subprocess.CalledProcessError():
            return f"it ends with {error.returncode}"
        case _:
            return plain_words(error)


def _shell(environ: Mapping[str, str]) -> Finding:
    path = shutil.which("bash") or shutil.which("sh")
    if path is None:
        detail = "neither bash nor sh is on the PATH; commands cannot be run"
        return fail("shell", detail, install_command("bash"))
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
        return warn("text", shown, "export LANG=C.UTF-8")
    return ok("text", shown)


def _terminal(environ: Mapping[str, str]) -> Finding:
    if not is_terminal(sys.stdout):
        return ok("terminal", "none: plain text is written")
    size = shutil.get_terminal_size()
    kind = environ.get("TERM", "")
    shown = f"{kind or 'unknown'}, {size.columns} × {size.lines}"
    if kind in {"", "dumb"}:
        return warn("terminal", f"{shown}; nothing is coloured", "export TERM=xterm-256color")
    return ok(
        "terminal", shown + (", without colour (NO_COLOR)" if environ.get("NO_COLOR") else "")
    )

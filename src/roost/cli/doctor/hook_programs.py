"""Whether the program of a hook can be started. Nothing of it is run: it is only looked at."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.config.hooks import HookConfig

_INTERPRETERS: Final = {"sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby"}
"""Programs whose first argument is a file that they run, unless it is an option."""
_UNREADABLE: Final = set("$`(){}<>|&;*?[]!~'\"\\")
"""Characters of a word that only the shell can tell the meaning of."""
_SECONDS: Final = 5.0


class Fault(Struct, frozen=True):
    """Why a program cannot be started."""

    what: str
    mend: str = ""
    """Empty: the command itself has to be mended."""


def fault_of(hook: HookConfig, folder: Path, environ: Mapping[str, str]) -> Fault | None:
    """What keeps the command of `hook` from being started in `folder`; None if nothing does."""
    variables = {**environ, **hook.env}
    if isinstance(hook.command, str):
        return _fault_of_line(hook.command, folder, variables)
    program, *arguments = hook.command
    if fault := _fault_of_program(program, folder, variables):
        return fault
    script = arguments[0] if arguments and Path(program).name in _INTERPRETERS else "-"
    if not script.startswith("-") and not (folder / script).exists():
        return Fault(f"{script} does not exist in {folder}")
    return None


def _fault_of_program(program: str, folder: Path, variables: Mapping[str, str]) -> Fault | None:
    if "/" in program:
        return _fault_of_file(program, folder / program, folder)
    if shutil.which(program, path=variables.get("PATH", os.defpath)) is None:
        return Fault(f"{program} is not on the PATH")
    return None


def _fault_of_file(name: str, path: Path, folder: Path, *, by_shell: bool = False) -> Fault | None:
    if not path.exists():
        return Fault(f"{name} does not exist" + (f" in {folder}" if path != Path(name) else ""))
    if path.is_dir():
        return Fault(f"{name} is a folder")
    if not os.access(path, os.X_OK):
        return Fault(f"{name} is not executable", f"chmod +x {shlex.quote(str(path))}")
    return _fault_of_start(name, path, by_shell=by_shell)


def _fault_of_start(name: str, path: Path, *, by_shell: bool) -> Fault | None:
    """What is wrong with the first line, by which the system knows how to run a script.

    A shell runs one that does not say it by itself.
    """
    try:
        with path.open("rb") as file:
            first = file.readline(4096)
    except OSError as error:
        return Fault(
            f"{name} cannot be read: {error.strerror}", f"chmod u+r {shlex.quote(str(path))}"
        )
    if first.startswith(b"#!"):
        return _fault_of_interpreter(name, first[2:].strip(b" \t\n").decode(errors="replace"))
    if first.isascii() and b"\0" not in first and not by_shell:
        mend = "Let its first line say it, such as #!/bin/sh, or name the shell in the command."
        return Fault(f"{name} does not say what runs it", mend)
    return None


def _fault_of_interpreter(name: str, words: str) -> Fault | None:
    program, _, rest = words.partition(" ")
    if not Path(program).exists():
        return Fault(f"{name} is started by {program!s}, which is not there", _mend_start(program))
    wanted = rest.split()[0] if rest.split() else ""
    is_env = Path(program).name == "env" and wanted and not wanted.startswith("-")
    if is_env and shutil.which(wanted) is None:
        return Fault(f"{name} is started by {wanted}, which is not there", _mend_start(wanted))
    return None


def _mend_start(program: str) -> str:
    if program.endswith("\r"):
        return "Its lines end as on Windows: save it with Unix line ends."
    return "Mend its first line, or install that."


def _fault_of_line(line: str, folder: Path, variables: Mapping[str, str]) -> Fault | None:
    shell = shutil.which("bash") or "/bin/sh"
    if words := _complaint([shell, "-n", "-c", line], variables):
        return Fault(f"the shell does not understand it: {words}")
    first = _first_word(line)
    if first is None or _UNREADABLE & set(first):
        return None
    if "/" in first:
        return _fault_of_file(first, folder / first, folder, by_shell=True)
    if _complaint([shell, "-c", 'type -- "$1" || echo unknown >&2', "sh", first], variables):
        return Fault(f"{first} is neither a program on the PATH nor known to the shell")
    return None


def _first_word(line: str) -> str | None:
    """The program that a line of the shell begins with; None where it cannot be told."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    return next((word for word in words if not _is_assignment(word)), None)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _complaint(command: list[str], variables: Mapping[str, str]) -> str:
    """The first line that the shell writes to standard error. It runs no file of the user."""
    quiet = {name: value for name, value in variables.items() if name not in {"BASH_ENV", "ENV"}}
    try:
        done = subprocess.run(
            command,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""  # the check of the shell itself tells that
    first = done.stderr.decode(errors="replace").partition("\n")[0]
    return first.rpartition("line 1: ")[2]

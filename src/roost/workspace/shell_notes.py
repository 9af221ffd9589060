"""What a model must be told about how a command ended, beside its output."""

import re
import signal
from collections.abc import Iterator
from typing import Final, assert_never

from roost.core.text import cut
from roost.workspace.running import LeftRunning, ShellResult

_TAIL: Final = 4000
_ASKED: Final = re.compile(
    r"terminal is required|no tty present|not a tty|not a terminal|inappropriate ioctl for device"
    r"|cannot open '?/dev/tty|no such device or address: '?/dev/tty|/dev/tty'?: no such device"
    r"|(?:input|output) is not (?:from|to) a terminal"
    r"|terminal prompts disabled|could not read (?:username|password)|askpass"
    r"|new password: |problem with the editor|terminal is dumb, but editor|waiting for your editor"
    r"|eof when reading a line|host key verification failed|a password is required",
    re.IGNORECASE,
)
_PROMPT: Final = re.compile(r"(?:[:?] ?|[>)\]] |#\? \n)\Z")
"""How output ends that waits for an answer."""
_SHELL_OF_ITS_OWN: Final = re.compile(
    r"\s*(?:python[\d.]*|node|irb|ruby|php -a|ghci|bc|sqlite3?|psql|mysql|bash|sh|zsh|cat|julia)\s*"
)
_ASKS: Final = re.compile(
    r"(?:^|[;&|(]\s*)(?:sudo|su|passwd|ssh|read|select|vim?|nvim|nano|emacs|top|htop|mysql|psql"
    r"|git\s+(?:commit|rebase\s+-i|add\s+-[ip]))\b"
)


def notes(command: str, result: ShellResult) -> list[str]:
    """Sentences for the model; empty when the command simply ended."""
    return [*_about_the_end(result), *_about_input(command, result), *_about_processes(result)]


def _about_the_end(result: ShellResult) -> Iterator[str]:
    seconds = f"{result.seconds:.3g} s"
    effect = "What it did until then may have taken effect."
    match result.end:
        case "exited":
            if result.exit > 128 and (name := _signal_name(result.exit - 128)):
                yield f"The command was killed by signal {name}."
        case "timed out":
            yield f"The command was stopped because it took longer than {seconds}. {effect}"
        case "cancelled":
            yield f"The command was cancelled after {seconds}. {effect}"
        case "flooded":
            yield f"The command was stopped after it wrote {result.output.total:,} bytes. {effect}"
        case _:
            assert_never(result.end)
    if result.output.discarded:
        yield f"The file lacks the last {result.output.discarded:,} bytes of the output."


def _signal_name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def _about_input(command: str, result: ShellResult) -> Iterator[str]:
    if result.end != "exited":
        return
    end = (result.output.tail or result.output.head)[-_TAIL:]
    if result.exit == 0:
        if _SHELL_OF_ITS_OWN.fullmatch(command):
            yield "Commands have no input: it read nothing. Give it what it shall do, or a file."
        return
    if _ASKED.search(end) or _PROMPT.search(end) or (not end.strip() and _ASKS.search(command)):
        yield (
            "Commands have no terminal and no input. Use options that ask nothing, such as -y,"
            " -m or --no-edit, or ask the user to run it."
        )


def _about_processes(result: ShellResult) -> Iterator[str]:
    if result.left_running:
        yield (
            f"Still running in the background: {_listed(result.left_running)}."
            " It is ended at the end of the turn."
        )
    if result.survivors:
        yield f"Could not be ended: {_listed(result.survivors)}."


def _listed(processes: tuple[LeftRunning, ...]) -> str:
    shown = [f"{process.pid} ({cut(process.command, 80)})" for process in processes[:10]]
    more = f" and {len(processes) - 10} more" if len(processes) > 10 else ""
    return ", ".join(shown) + more

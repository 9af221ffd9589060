"""What `roost` says of itself: in a few lines where no command is given, and in whole on demand."""

from collections.abc import Iterator
from typing import Final

from roost.cli.grammar import COMMANDS, Command
from roost.cli.wrapping import columns, wrapped

START: Final = """\
Roost, a coding agent for the terminal. It is used by commands; a full-screen interface is to come.

  roost run "what does this project do?"    one prompt, shown as it is answered
  roost run -c "now add a test"             go on with the last session of this folder
  roost sessions                            what was done before in this project
  roost serve                               serve sessions to other programs
  roost doctor                              check that everything is ready

`roost --help` lists all commands.
"""
_GROUPS: Final = {
    "work": ("run", "serve", "goal", "btw", "context", "compact", "undo", "redo"),
    "look at it, and steer it": (
        *("sessions", "history", "memory", "actors", "inbox"),
        *("requests", "tasks", "teams", "trace", "log"),
    ),
    "set it up": ("agents", "skills", "models", "config", "doctor", "completion"),
}
"""Headings of the list of commands, with those below each."""
_OTHERS: Final = "more"
_HEAD: Final = """\
usage: roost COMMAND ...

A coding agent for the terminal: many actors in one session, safe against crashes.
"""
_FOOT: Final = """\
options of every command:
  -h, --help       what the command takes, with examples
  --print-logs     write the log to stderr too
  --log-level L    DEBUG, INFO, WARN or ERROR
  --log-format F   json or text

  -v, --version    print the version

What lists or shows something takes --format json (or --json); what is about a session takes -s ID,
where the beginning of an id is enough. `roost help COMMAND ACTION` shows the help of an action.

exit codes of every command:
  0    done, or it was so before
  1    it could not be done
  2    wrong usage or configuration, or what was named is not there
  130  interrupted (`roost run --help` lists more)

ROOST_DEBUG=1 shows where an error comes from. Files are kept below $ROOST_HOME,
else where this system keeps such files: `roost config path` tells.
"""


def overview() -> str:
    """What `roost --help` prints."""
    return wrapped("\n".join([_HEAD, *_commands(), _FOOT]), columns())


def _commands() -> Iterator[str]:
    left = {command.name: command for command in COMMANDS}
    grouped = [
        (title, [left.pop(name) for name in names if name in left])
        for title, names in _GROUPS.items()
    ]
    for title, commands in [*grouped, (_OTHERS, list(left.values()))]:
        if commands:
            yield f"{title}:"
            yield from map(_line, commands)
            yield ""


def _line(command: Command) -> str:
    return f"  {command.name:<12} {command.summary}"

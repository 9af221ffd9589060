"""The whole command line: every command, its arguments and its help. Imports nothing heavy, since
each start of any command reads it.
"""

from argparse import SUPPRESS
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from roost.cli import notes
from roost.cli.arguments import actions, at_most, log_options, place, sentence
from roost.cli.parser import Parser, port_number, positive_amount, positive_count

Argue = Callable[[Parser], None]
_HOW: Final = "how to show it"


class Command(NamedTuple):
    """One command of `roost`."""

    name: str
    summary: str
    """One line for the list of commands."""
    arguments: Argue
    module: str
    """Imported when the command is chosen; its `execute` runs it."""
    notes: str = ""
    """Examples and exit codes, below the options."""
    aliases: tuple[str, ...] = ()
    words: str = ""
    """The positional argument that takes any number of words, with options between them."""


def _run(parser: Parser) -> None:
    add = parser.add_argument
    add("message", nargs="*", help="the prompt; what is piped in is added to it")
    place(parser, "work in this folder (default: the current one)")
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model to use")
    add("--agent", metavar="NAME", help="the agent to run as")
    add("--variant", metavar="NAME", help="reasoning effort of the model, such as high")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        dest="continue_",
        action="store_true",
        help="go on with the last session of this folder",
    )
    which.add_argument(
        "-s",
        "--session",
        metavar="ID",
        help="go on with this session (the beginning of its id is enough)",
    )
    add("--title", metavar="TEXT", help="title of the new session")
    add(
        "-f",
        "--file",
        dest="files",
        action="append",
        default=[],
        metavar="PATH",
        help="attach a file, an image or a folder; may be repeated",
    )
    add(
        "--schema",
        metavar="FILE",
        help="the answer must fit the JSON Schema in this file; it alone goes to stdout",
    )
    add(
        "--format",
        choices=("text", "json", "default"),
        default="text",
        help="text for people, or one JSON object a line (default is text)",
    )
    add("--thinking", action="store_true", help="show the model's reasoning too")
    add("--yes", action="store_true", help="allow what would be asked; never what is denied")
    add(
        "--trust",
        action="store_true",
        help="trust this repository's configuration exactly as it is now",
    )
    _limits(parser)


def _limits(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--time-limit",
        type=positive_amount,
        metavar="SECONDS",
        help="stop after so many seconds (exit code 124)",
    )
    add(
        "--max-steps",
        type=positive_count,
        metavar="N",
        help="most model calls of the turn; when more work is due, one more call reports",
    )
    add(
        "--max-cost",
        type=positive_amount,
        metavar="USD",
        help="most US dollars of all its actors together; the price of the model must be known",
    )


def _serve(parser: Parser) -> None:
    add = parser.add_argument
    add("--port", type=port_number, metavar="N", help="port (default: a free one)")
    add("--hostname", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    add("--unix", metavar="PATH", help="listen on a Unix socket instead")
    add(
        "--dir",
        dest="dirs",
        action="append",
        default=[],
        metavar="PATH",
        help="a folder that clients may work in; may be repeated (default: the current one)",
    )
    add(
        "--password-file",
        metavar="PATH",
        help="read the password from this file (default: $ROOST_SERVER_PASSWORD, else a new one)",
    )
    add(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web origin that browsers may come from; may be repeated",
    )
    # For programs that start a server for themselves.
    add("--until-eof", action="store_true", help=SUPPRESS)
    add("--owner-pid", type=positive_count, help=SUPPRESS)
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model of new prompts")
    add("--yes", action="store_true", help="allow what would be asked; never what is denied")


def _sessions(parser: Parser) -> None:
    add = actions(parser)
    listing = add("list", "list the sessions of this project", notes.STATES, alias="ls")
    listing.add_argument("--format", choices=("table", "json"), default="table", help=_HOW)
    at_most(listing, 50, "sessions")
    listing.add_argument("--all", action="store_true", help="those of every project")
    place(listing, "list those of this folder's project")
    show = add("show", "show what was said and done in a session")
    _which(show)
    show.add_argument("--actor", metavar="NAME", help="whose messages (default: the first actor's)")
    at_most(show, 100, "messages")
    show.add_argument("--full", action="store_true", help="do not shorten long texts")
    show.add_argument("--thinking", action="store_true", help="show the model's reasoning too")
    export = add("export", "write a session as JSON to stdout", notes.EXPORTED)
    _which(export)
    export.add_argument("--sanitize", action="store_true", help="leave out texts, paths and data")
    load = add("import", "read a session that was exported")
    load.add_argument("file", help="the file, or - for stdin")
    load.add_argument("--new-id", action="store_true", help="give it a new id")
    place(load, "the folder that it belongs to (default: as exported, if that exists here)")
    delete = add("delete", "delete a session for good", notes.DELETED, alias="rm")
    delete.add_argument("session", metavar="ID", help="its id, or the beginning of it")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.add_argument(
        "--force",
        action="store_true",
        help="stop who is at work in it, and leave working trees that hold work (default: refuse)",
    )
    for action in (listing, show, export, load, delete):
        log_options(action)


def _which(parser: Parser) -> None:
    parser.add_argument(
        "session",
        nargs="?",
        metavar="ID",
        help="its id, or the beginning of it (default: the last session of this folder)",
    )
    place(parser, "without an ID: the last session of this folder")


def _models(parser: Parser) -> None:
    add = parser.add_argument
    add("provider", nargs="?", help="only this provider's models")
    add("--verbose", action="store_true", help="show where each is reached, as JSON")
    add("--refresh", action="store_true", help="ask the endpoints which models they have")
    place(parser, "with the configuration of this folder")


def _config(parser: Parser) -> None:
    place(parser, "of this folder (default: the current one)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help=_HOW)
    add = actions(parser)
    for name, words, below in (
        ("trust", "trust this repository's configuration exactly as it is now", notes.TRUSTED),
        ("untrust", "forget that it was trusted", ""),
        ("path", "print where files are looked for and kept", ""),
    ):
        action = add(name, words, below)
        # SUPPRESS: a default here would undo the same option given before the action.
        action.add_argument("--dir", default=SUPPRESS, metavar="PATH", help="for this folder")
        log_options(action)


def _doctor(parser: Parser) -> None:
    add = parser.add_argument
    add("--online", action="store_true", help="also call endpoints on other machines")
    add("--deep", action="store_true", help="also check the whole database")
    place(parser, "with the configuration of this folder")


def _completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def _actors(parser: Parser) -> None:
    add = parser.add_argument
    add("-s", "--session", metavar="ID", help="only those of this session and below it")
    add("--all", action="store_true", help="those that sleep, too")
    at_most(parser, 20, "sessions of which --all shows all actors")
    add("--json", action="store_true", help="as JSON")
    add("--watch", action="store_true", help="on a terminal: draw again every second")
    cancel = actions(parser)("cancel", "stop an actor", notes.CANCELLED)
    cancel.add_argument("actor", metavar="ID", help="SESSION/ACTOR, or the name if that is clear")
    cancel.add_argument("-s", "--session", metavar="ID", help="the session that it belongs to")
    cancel.add_argument("--force", action="store_true", help="at once, without a last step")
    cancel.add_argument("--tree", action="store_true", help="with all that is at work below it")
    log_options(cancel)


def _inbox(parser: Parser) -> None:
    add = actions(parser)
    listing = add("list", "list what was said to the actors of a session", alias="ls")
    _which(listing)
    listing.add_argument("--actor", metavar="NAME", help="only what was said to this one")
    listing.add_argument(
        "--state",
        choices=("queued", "delivered", "rejected", "expired"),
        help="only what is in this state; queued: nobody has heard it yet",
    )
    at_most(listing, 50, "messages")
    listing.add_argument("--json", action="store_true", help="as JSON")
    send = add("send", "say something to an actor, busy or not", notes.SENT)
    send.add_argument("session", metavar="SESSION", help="its id, or the beginning of it")
    send.add_argument("text", metavar="TEXT", help="what to say; - reads it from stdin")
    send.add_argument("--actor", metavar="NAME", help="to whom (default: the first actor)")
    withdraw = add("withdraw", "take back what nobody has heard yet")
    withdraw.add_argument("id", metavar="ID", help="the id that `list` and `send` show")
    for action in (listing, send, withdraw):
        log_options(action)


def _teams(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="those of every project")
    parser.add_argument("--json", action="store_true", help="as JSON")
    place(parser, "those of this folder's project")
    listing = actions(parser)("list", "list the teams and who is in them", alias="ls")
    for name, words in (("--all", "those of every project"), ("--json", "as JSON")):
        # SUPPRESS: a default here would undo the same option given before the action.
        listing.add_argument(name, action="store_true", default=SUPPRESS, help=words)
    listing.add_argument(
        "--dir", default=SUPPRESS, metavar="PATH", help="those of this folder's project"
    )
    log_options(listing)


COMMANDS: Final = (
    Command(
        "run",
        "give a prompt, show the work, and end",
        _run,
        "roost.cli.run.command",
        notes.RUN,
        words="message",
    ),
    Command(
        "serve",
        "serve sessions over HTTP until stopped",
        _serve,
        "roost.cli.serve",
        notes.SERVE,
    ),
    Command(
        "sessions",
        "list, show, export, import and delete sessions",
        _sessions,
        "roost.cli.sessions.command",
        notes.SESSIONS,
        ("session",),
    ),
    Command(
        "actors",
        "show who is at work, and stop one",
        _actors,
        "roost.cli.actors.command",
        notes.ACTORS,
        ("actor",),
    ),
    Command(
        "inbox",
        "list what was said to actors, say something, take it back",
        _inbox,
        "roost.cli.inbox.command",
        notes.INBOX,
    ),
    Command(
        "teams",
        "list the teams of sessions that talk to each other",
        _teams,
        "roost.cli.teams",
        notes.TEAMS,
        ("team",),
    ),
    Command(
        "models",
        "list the models that can be used",
        _models,
        "roost.cli.model_list",
        notes.MODELS,
    ),
    Command(
        "config",
        "show the configuration in force, and trust a repository's",
        _config,
        "roost.cli.config",
        notes.CONFIG,
    ),
    Command(
        "doctor",
        "check this machine, the configuration and the database",
        _doctor,
        "roost.cli.doctor.command",
        notes.DOCTOR,
    ),
    Command(
        "completion",
        "print the completion script of a shell",
        _completion,
        "roost.cli.completion.command",
        notes.COMPLETION,
    ),
)


def find_command(name: str) -> Command | None:
    """The command of that name or alias."""
    return next((c for c in COMMANDS if name == c.name or name in c.aliases), None)


def parser_of(command: Command) -> Parser:
    """The parser of one command."""
    parser = Parser(f"roost {command.name}", sentence(command.summary), command.notes)
    command.arguments(parser)
    log_options(parser)
    return parser


def parse(command: Command, words: list[str]) -> dict[str, Any]:
    """The arguments in `words`, by name. Raises `UsageError`, or SystemExit after `--help`."""
    parser = parser_of(command)
    if not command.words:
        return vars(parser.parse_args(words))
    # argparse loses what follows `--` when options stand between words.
    at = words.index("--") if "--" in words else len(words)
    given = vars(parser.parse_intermixed_args(words[:at]))
    given[command.words] = [*given[command.words], *words[at + 1 :]]
    return given

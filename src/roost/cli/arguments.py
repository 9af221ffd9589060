"""Pieces that the arguments of several commands are made of, so that each is called the same."""

from argparse import SUPPRESS
from collections.abc import Callable
from typing import Protocol

from roost.cli.parser import ACTION, Parser, format_name, positive_count

Argue = Callable[[Parser], None]


class AddAction(Protocol):
    """Adds an action and gives its parser; the text `below` stands below its options."""

    def __call__(self, name: str, summary: str, below: str = "", alias: str = "") -> Parser: ...


def actions(parser: Parser) -> AddAction:
    """Let the command have actions, and give what adds one."""
    known = parser.add_subparsers(
        dest="action", title="actions", metavar=ACTION, parser_class=Parser
    )

    def add(name: str, summary: str, below: str = "", alias: str = "") -> Parser:
        words = sentence(summary)
        aliases = [alias] if alias else []
        return known.add_parser(
            name, aliases=aliases, help=summary, description=words, epilog=below
        )

    return add


def listing(
    parser: Parser, add: AddAction, summary: str, options: Argue, below: str = ""
) -> Parser:
    """Let the command be able to list: that is its action `list`, and what it does without one."""
    options(parser)
    action = add("list", f"{summary} (the default)", below, alias="ls")
    options(action)
    for one in action.actions:
        one.default = SUPPRESS  # else it would undo the same option given before the action
    log_options(action)
    return action


def formats(parser: Parser, words: str = "text for people, or JSON (default: text)") -> None:
    """Add `--format` and `--json`; `words` say what the formats are."""
    add = parser.add_argument
    add(
        "--format",
        type=format_name,
        choices=("text", "json"),
        default="text",
        help=words,
    )
    add(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        default=SUPPRESS,
        help="the same as --format json",
    )


def place(parser: Parser, words: str) -> None:
    """Add `--dir`; `words` say what the folder is for."""
    parser.add_argument("--dir", metavar="PATH", help=words)


def of_session(parser: Parser, words: str) -> None:
    """Add `-s`; `words` say what the session is for."""
    parser.add_argument("-s", "--session", metavar="ID", help=words)


def which_session(parser: Parser, *, required: bool = False, metavar: str = "ID") -> None:
    """Add the session that is meant, which may be given as `-s`, too."""
    default = "" if required else " (default: the last session of this folder)"
    positional = parser.add_argument(
        "session",
        nargs=None if required else "?",
        metavar=metavar,
        help=f"its id, or the beginning of it{default}",
    )
    words = f"the same as {metavar}"
    parser.add_argument("-s", "--session", metavar="ID", default=SUPPRESS, help=words)
    parser.may_replace(positional, "-s", "--session")
    if not required:
        place(parser, f"without {metavar}: the last session of this folder")


def log_options(parser: Parser) -> None:
    """Add the options about the log, which every command and action has."""
    group = parser.add_argument_group("log")
    group.add_argument(
        "--print-logs", action="store_true", default=SUPPRESS, help="write the log to stderr too"
    )
    group.add_argument(
        "--log-level",
        default=SUPPRESS,
        metavar="LEVEL",
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        help="from where on: DEBUG, INFO (the default), WARN or ERROR",
    )
    group.add_argument(
        "--log-format",
        default=SUPPRESS,
        metavar="FORMAT",
        choices=("json", "text"),
        help="json or text (default: json in the file, text on stderr)",
    )


def at_most(parser: Parser, count: int, what: str) -> None:
    """Add `-n`, of which `count` is the default."""
    words = f"the newest N {what} (default: {count})"
    parser.add_argument(
        "-n", "--max-count", type=positive_count, default=count, metavar="N", help=words
    )


def sentence(text: str) -> str:
    """A summary as a sentence of its own."""
    return f"{text[0].upper()}{text[1:]}."

"""Pieces that the arguments of several commands are made of."""

from argparse import SUPPRESS
from typing import Protocol

from roost.cli.parser import Parser, positive_count


class AddAction(Protocol):
    """Adds an action and gives its parser; the text `below` stands below its options."""

    def __call__(self, name: str, summary: str, below: str = "", alias: str = "") -> Parser: ...


def actions(parser: Parser) -> AddAction:
    """Let the command have actions, and give what adds one."""
    known = parser.add_subparsers(dest="action", metavar="[ACTION]", parser_class=Parser)

    def add(name: str, summary: str, below: str = "", alias: str = "") -> Parser:
        words = sentence(summary)
        aliases = [alias] if alias else []
        return known.add_parser(
            name, aliases=aliases, help=summary, description=words, epilog=below
        )

    return add


def place(parser: Parser, words: str) -> None:
    """Add `--dir`; `words` say what the folder is for."""
    parser.add_argument("--dir", metavar="PATH", help=words)


def log_options(parser: Parser) -> None:
    """Add the options about the log, which every command and action has."""
    group = parser.add_argument_group("log")
    group.add_argument(
        "--print-logs", action="store_true", default=SUPPRESS, help="write the log to stderr too"
    )
    group.add_argument(
        "--log-level",
        default=SUPPRESS,
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        help="least important lines that are logged (default: INFO)",
    )
    group.add_argument(
        "--log-format",
        default=SUPPRESS,
        choices=("json", "text"),
        help="how lines are written (default: json in the file, text on stderr)",
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

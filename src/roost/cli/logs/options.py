"""The arguments of `roost log`. Imports nothing heavy."""

from roost.cli.arguments import at_most, formats
from roost.cli.parser import Parser


def log(parser: Parser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    at_most(parser, 50, "lines")
    add("-s", "--session", metavar="ID", help="only what is about this session")
    add(
        "--level",
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        default="DEBUG",
        help="only what is at least this important",
    )
    add("--follow", action="store_true", help="go on with what is written from now on")
    formats(parser)

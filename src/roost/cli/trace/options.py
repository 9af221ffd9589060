"""The arguments of `roost trace`. Imports nothing heavy."""

from roost.cli.arguments import formats, of_session, place
from roost.cli.parser import Parser


def trace(parser: Parser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        metavar="TURN|SESSION",
        help="a turn by its id or number, or a session (default: the last one of this folder)",
    )
    of_session(parser, "the session that it is of")
    add("--actor", metavar="NAME", help="of this actor (default: the first one)")
    add("--follow", action="store_true", help="go on until the turn ends")
    add(
        "--all",
        action="store_true",
        help="every turn of the session; of a turn, also those that came of it",
    )
    formats(parser)
    place(parser, "without a session: the last one of this folder")

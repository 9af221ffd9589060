"""The arguments of commands about one conversation: its goal, questions aside, its window."""

from argparse import SUPPRESS

from roost.cli import notes
from roost.cli.arguments import actions, formats, log_options, of_session, place
from roost.cli.parser import Parser, positive_amount


def goal(parser: Parser) -> None:
    """Of `roost goal`."""
    _goal_options(parser)
    add = actions(parser)
    show = add("show", "show the goal and what was said of it (what is done without an action)")
    give = add("set", "give a session a goal in place of the one it has")
    give.add_argument("condition", nargs="+", metavar="CONDITION", help="what is to be true")
    clear = add("clear", "give the goal up")
    resume = add("resume", "go on with a goal that is paused, as `roost run` does", notes.RESUMED)
    for action in (show, give, clear, resume):
        _goal_options(action)
        for one in action.actions:
            if one.dest != "condition":
                one.default = SUPPRESS  # else it would undo the same option before the action
        log_options(action)
    resume.add_argument("--yes", action="store_true", help="allow what would be asked")


def _goal_options(parser: Parser) -> None:
    of_session(parser, "of this session (default: the last one of this folder)")
    place(parser, "without -s: of the last session of this folder")
    formats(parser)


def btw(parser: Parser) -> None:
    """Of `roost btw`."""
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    of_session(parser, "about this session (default: the last one of this folder)")
    place(parser, "without -s: about the last session of this folder")
    parser.add_argument(
        "--time-limit",
        type=positive_amount,
        metavar="SECONDS",
        help="how long the answer may take (default: 300)",
    )
    formats(parser)


def tasks(parser: Parser) -> None:
    """Of `roost tasks`."""
    of_session(parser, "of this session (default: the last one of this folder)")
    parser.add_argument("--all", action="store_true", help="those that are over, too")
    place(parser, "without -s: of the last session of this folder")
    formats(parser)


def context(parser: Parser) -> None:
    """Of `roost context`."""
    of_session(parser, "of this session (default: the last one of this folder)")
    parser.add_argument("--actor", metavar="ID", help="of this actor (default: the session's own)")
    place(parser, "without -s: of the last session of this folder")
    formats(parser)


def compact(parser: Parser) -> None:
    """Of `roost compact`."""
    of_session(parser, "this session (default: the last one of this folder)")
    place(parser, "without -s: the last session of this folder")
    formats(parser)

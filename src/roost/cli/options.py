"""The arguments of each command, `run` and `serve` first."""

from argparse import SUPPRESS
from typing import Final

from roost.cli import notes
from roost.cli.arguments import (
    actions,
    at_most,
    formats,
    listing,
    log_options,
    of_session,
    place,
    which_session,
)
from roost.cli.parser import Parser, candidates, port_number, positive_amount, positive_count

STATES: Final = ("running", "asking", "waiting", "interrupted")
"""What `sessions list --state` can choose."""


def run(parser: Parser) -> None:
    """Of `roost run`."""
    add = parser.add_argument
    add("message", nargs="*", help="the prompt; what is piped in is added to it")
    place(parser, "work in this folder (default: the current one)")
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model to use")
    add("--agent", metavar="NAME", help="the agent to run as (`roost agents` lists them)")
    add("--variant", metavar="NAME", help="reasoning effort of the model: none, low, high, ...")
    add(
        "--max",
        nargs="?",
        type=candidates,
        metavar="N",
        help="choose each step from N proposed side by side (default: 3, or as configured),"
        " which costs that many times as much",
    )
    parser.may_be_numbered("--max")
    _going_on(parser)
    add("--title", metavar="TEXT", help="title of the new session")
    add(
        "--goal",
        metavar="CONDITION",
        help="go on until this is true, as an independent judge sees it",
    )
    add("--command", metavar="NAME", help="run this command with the prompt as its arguments")
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
    formats(parser, "text for people, or one JSON object a line (default: text)")
    add("--thinking", action="store_true", help="show the model's reasoning too")
    add("--yes", action="store_true", help="allow what would be asked; never what is denied")
    add(
        "--trust",
        action="store_true",
        help="trust this repository's configuration exactly as it is now",
    )
    _limits(parser)


def _going_on(parser: Parser) -> None:
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
        help="stop when all its actors together have cost so much, which wants a known price;"
        " steps under way by then, and one last call that reports, come on top",
    )


def serve(parser: Parser) -> None:
    """Of `roost serve`."""
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


def sessions(parser: Parser) -> None:
    """Of `roost sessions`."""
    add = actions(parser)
    listing(parser, add, "list the sessions of this project", _listed_sessions, notes.STATES)
    show = add("show", "show what was said and done in a session", notes.SHOWN)
    which_session(show)
    show.add_argument("--actor", metavar="NAME", help="whose messages (default: the first actor's)")
    at_most(show, 100, "messages")
    show.add_argument("--full", action="store_true", help="do not shorten long texts")
    show.add_argument("--thinking", action="store_true", help="show the model's reasoning too")
    formats(show)
    export = add("export", "write a session as JSON to stdout", notes.EXPORTED)
    which_session(export)
    export.add_argument("--sanitize", action="store_true", help="leave out texts, paths and data")
    load = add("import", "take in a session that was exported", notes.IMPORTED)
    load.add_argument("file", help="the file, or - for stdin")
    load.add_argument("--new-id", action="store_true", help="give it a new id")
    place(load, "the folder that it belongs to (default: as exported, if that exists here)")
    delete = add("delete", "delete a session for good", notes.DELETED, alias="rm")
    which_session(delete, required=True)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.add_argument(
        "--force",
        action="store_true",
        help="stop who is at work in it, and leave working trees that hold work (default: refuse)",
    )
    for action in (show, export, load, delete):
        log_options(action)


def _listed_sessions(parser: Parser) -> None:
    add = parser.add_argument
    add("--all", action="store_true", help="those of every project")
    place(parser, "those of this folder's project (default: the current one)")
    add("--search", metavar="WORDS", help="those with these words in their title")
    add("--since", metavar="WHEN", help="those used since, such as 2h, 3d or 2026-01-31")
    add("--state", choices=STATES, help="those that are doing this now")
    add("--children", action="store_true", help="also those that other sessions direct")
    at_most(parser, 50, "sessions")
    formats(parser)


def actors(parser: Parser) -> None:
    """Of `roost actors`."""
    add = actions(parser)
    listing(parser, add, "show who is at work, as a tree", _listed_actors, notes.ACTOR_STATES)
    cancel = add("cancel", "stop an actor", notes.CANCELLED)
    cancel.add_argument(
        "actor",
        metavar="ID",
        help="SESSION/ACTOR, a session for its first actor, or a name that one at work has alone",
    )
    of_session(cancel, "the session that it belongs to")
    cancel.add_argument("--force", action="store_true", help="at once, without a last step")
    cancel.add_argument("--tree", action="store_true", help="with all that is at work below it")
    formats(cancel)
    log_options(cancel)


def _listed_actors(parser: Parser) -> None:
    add = parser.add_argument
    of_session(parser, "only those of this session and below it")
    add("--all", action="store_true", help="those that sleep, too")
    at_most(parser, 20, "sessions of which --all shows all actors")
    add("--watch", action="store_true", help="on a terminal: draw again every second")
    formats(parser)


def inbox(parser: Parser) -> None:
    """Of `roost inbox`."""
    add = actions(parser)
    what = "list what was said to the actors of a session"
    chosen = listing(parser, add, what, _listed_mail)
    positional = chosen.add_argument(
        "session", nargs="?", default=SUPPRESS, metavar="ID", help="the same as -s"
    )
    chosen.may_replace(positional, "-s", "--session")
    send = add("send", "say something to an actor, busy or not", notes.SENT)
    which_session(send, required=True, metavar="SESSION")
    send.add_argument("text", metavar="TEXT", help="what to say; - reads it from stdin")
    send.add_argument("--actor", metavar="NAME", help="to whom (default: the first actor)")
    withdraw = add("withdraw", "take back what nobody has heard yet", notes.WITHDRAWN)
    withdraw.add_argument(
        "id", metavar="ID", help="the id that `list` and `send` show, or the beginning of it"
    )
    for action in (send, withdraw):
        formats(action)
        log_options(action)


def _listed_mail(parser: Parser) -> None:
    add = parser.add_argument
    of_session(parser, "its id, or the beginning of it (default: the last session of this folder)")
    place(parser, "without -s: the last session of this folder")
    add("--actor", metavar="NAME", help="only what was said to this one")
    add(
        "--state",
        choices=("queued", "delivered", "rejected", "expired"),
        help="only what is in this state; queued: nobody has heard it yet",
    )
    at_most(parser, 50, "messages")
    formats(parser)


def requests(parser: Parser) -> None:
    """Of `roost requests`."""
    add = actions(parser)
    listing(parser, add, "list what actors ask you", _listed_requests)
    show = add("show", "show all of one request")
    allow = add("allow", "agree to what is asked for", notes.ALLOWED)
    allow.add_argument("--always", action="store_true", help="for good in this project, not once")
    deny = add("deny", "refuse it, or leave a question unanswered", notes.REFUSED)
    deny.add_argument("--because", metavar="WORDS", help="what the actor is told, to go on with")
    answer = add("answer", "answer questions", notes.ANSWERED)
    for action in (show, allow, deny, answer):
        action.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    answer.add_argument(
        "answers",
        nargs="+",
        metavar="ANSWER",
        help="one for each question: an option, its number, or words of your own",
    )
    for action in (show, allow, deny, answer):
        formats(action)
        log_options(action)


def _listed_requests(parser: Parser) -> None:
    of_session(parser, "only those of this session and below it")
    formats(parser)


def agents(parser: Parser) -> None:
    """Of `roost agents`."""
    add = actions(parser)
    listing(parser, add, "list the agents that an actor can run as", _listed_agents)
    show = add("show", "show one agent: where it is defined, what it is told and may do")
    show.add_argument("name", metavar="NAME", help="the agent")
    place(show, "with the configuration of this folder (default: the current one)")
    formats(show)
    log_options(show)


def _listed_agents(parser: Parser) -> None:
    place(parser, "with the configuration of this folder (default: the current one)")
    formats(parser)


def teams(parser: Parser) -> None:
    """Of `roost teams`."""
    add = actions(parser)
    listing(parser, add, "list the teams and who is in them", _listed_teams)


def _listed_teams(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="those of every project")
    place(parser, "those of this folder's project (default: the current one)")
    formats(parser)


def models(parser: Parser) -> None:
    """Of `roost models`."""
    add = parser.add_argument
    add("provider", nargs="?", metavar="PROVIDER", help="only this provider's models")
    add("--refresh", action="store_true", help="ask the endpoints which models they have")
    place(parser, "with the configuration of this folder (default: the current one)")
    formats(parser)
    add(
        "--verbose",
        dest="format",
        action="store_const",
        const="json",
        default=SUPPRESS,
        help="the same as --format json, which also says where each is reached",
    )


def config(parser: Parser) -> None:
    """Of `roost config`."""
    place(parser, "of this folder (default: the current one)")
    formats(parser)
    add = actions(parser)
    for name, words, below in (
        ("show", "show the configuration in force (the default)", ""),
        ("trust", "trust this repository's configuration exactly as it is now", notes.TRUSTED),
        ("untrust", "forget that it was trusted", ""),
        ("path", "print where files are looked for and kept", ""),
    ):
        action = add(name, words, below)
        place(action, "for this folder (default: the current one)")
        if name in {"show", "path"}:
            formats(action)
        for one in action.actions:
            one.default = SUPPRESS  # else it would undo the same option before the action
        log_options(action)


def doctor(parser: Parser) -> None:
    """Of `roost doctor`."""
    add = parser.add_argument
    add("--online", action="store_true", help="also call endpoints on other machines")
    add("--deep", action="store_true", help="also check the whole database")
    place(parser, "with the configuration of this folder (default: the current one)")
    formats(parser)


def completion(parser: Parser) -> None:
    """Of `roost completion`."""
    shells = ("bash", "zsh", "fish")
    parser.add_argument("shell", choices=shells, help="the shell that the script is for")

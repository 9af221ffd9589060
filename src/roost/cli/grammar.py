"""The commands, in the order in which the help lists them. Imports nothing heavy, since each start
of any command reads it.
"""

from typing import Any, Final, NamedTuple

from roost.cli import conversation_options, notes, options
from roost.cli.arguments import Argue, log_options, sentence
from roost.cli.logs.options import log
from roost.cli.memory.options import HISTORY, MEMORY, history, memory
from roost.cli.parser import Parser
from roost.cli.skills.options import SKILLS, skills
from roost.cli.trace.options import trace
from roost.cli.undo.options import REDO, UNDO, redo, undo


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


COMMANDS: Final = (
    Command(
        "run",
        "give a prompt, show the work, and end",
        options.run,
        "roost.cli.run.command",
        notes.RUN,
        words="message",
    ),
    Command(
        "serve",
        "serve sessions over HTTP until stopped",
        options.serve,
        "roost.cli.serve",
        notes.SERVE,
    ),
    Command(
        "sessions",
        "list, show, export, import and delete sessions",
        options.sessions,
        "roost.cli.sessions.command",
        notes.SESSIONS,
        ("session",),
    ),
    Command(
        "goal",
        "show, set and clear what a session is to reach, and go on with it",
        conversation_options.goal,
        "roost.cli.goal",
        notes.GOAL,
        ("goals",),
    ),
    Command(
        "btw",
        "ask something about a session, which goes on as if you had not",
        conversation_options.btw,
        "roost.cli.btw",
        notes.BTW,
        words="question",
    ),
    Command(
        "context",
        "show what fills the window of a session's model",
        conversation_options.context,
        "roost.cli.context",
        notes.CONTEXT,
    ),
    Command(
        "compact",
        "shorten a long session for the model; nothing of it is deleted",
        conversation_options.compact,
        "roost.cli.compact",
        notes.COMPACT,
    ),
    Command(
        "undo",
        "take back the last prompt: what was said, and what was done to files",
        undo,
        "roost.cli.undo.undoing",
        UNDO,
    ),
    Command(
        "redo",
        "bring back what was taken back",
        redo,
        "roost.cli.undo.redoing",
        REDO,
    ),
    Command(
        "actors",
        "show who is at work, and stop one",
        options.actors,
        "roost.cli.actors.command",
        notes.ACTORS,
        ("actor",),
    ),
    Command(
        "inbox",
        "list what was said to actors, say something, take it back",
        options.inbox,
        "roost.cli.inbox.command",
        notes.INBOX,
    ),
    Command(
        "requests",
        "list what actors ask you, and answer it",
        options.requests,
        "roost.cli.requests.command",
        notes.REQUESTS,
    ),
    Command(
        "trace",
        "show a turn as a timeline, while it runs or later",
        trace,
        "roost.cli.trace.command",
        notes.TRACE,
        ("turn",),
    ),
    Command(
        "memory",
        "list, show, search and edit what is remembered",
        memory,
        "roost.cli.memory.command",
        MEMORY,
    ),
    Command(
        "history",
        "find what was said and done in sessions",
        history,
        "roost.cli.memory.history",
        HISTORY,
    ),
    Command(
        "log",
        "show what was logged, and follow it",
        log,
        "roost.cli.logs.command",
        notes.LOG,
        ("logs",),
    ),
    Command(
        "agents",
        "list the agents that an actor can run as",
        options.agents,
        "roost.cli.agents.command",
        notes.AGENTS,
    ),
    Command(
        "tasks",
        "list the tasks that a session keeps of its work",
        conversation_options.tasks,
        "roost.cli.tasks",
        notes.TASKS,
        ("task",),
    ),
    Command(
        "skills",
        "list and show the skills that can be loaded",
        skills,
        "roost.cli.skills.command",
        SKILLS,
        ("skill",),
    ),
    Command(
        "teams",
        "list the teams of sessions that talk to each other",
        options.teams,
        "roost.cli.teams",
        notes.TEAMS,
        ("team",),
    ),
    Command(
        "models",
        "list the models that can be used",
        options.models,
        "roost.cli.model_list",
        notes.MODELS,
    ),
    Command(
        "config",
        "show the configuration in force, and trust a repository's",
        options.config,
        "roost.cli.config",
        notes.CONFIG,
    ),
    Command(
        "doctor",
        "check this machine, the configuration, its hooks and the database",
        options.doctor,
        "roost.cli.doctor.command",
        notes.DOCTOR,
    ),
    Command(
        "completion",
        "print the completion script of a shell",
        options.completion,
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
    parser.expect(words)
    words = parser.with_numbers(words)
    if not command.words:
        return vars(parser.parse_args(words))
    # argparse loses what follows `--` when options stand between words.
    at = words.index("--") if "--" in words else len(words)
    given = vars(parser.parse_intermixed_args(words[:at]))
    given[command.words] = [*given[command.words], *words[at + 1 :]]
    return given

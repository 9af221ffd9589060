"""The command lines of `roost memory` and `roost history`, with their help."""

from typing import Final

from roost.cli.arguments import actions, formats, listing, log_options, of_session, place
from roost.cli.parser import Parser, positive_count

MEMORY: Final = """\
examples:
  roost memory                          what is remembered for this project
  roost memory show                     project/MEMORY.md
  roost memory search "port of the server"
  roost memory edit global/MEMORY.md    in $VISUAL or $EDITOR

Files: project/MEMORY.md, project/MEMORY-<topic>.md, session/notes.md, global/MEMORY.md. They are
plain Markdown below the data folder (`roost config path`). "memory": {"disable_write": true} in
roost.json keeps actors from writing there."""
HISTORY: Final = """\
examples:
  roost history search "connection refused"
  roost history search 迁移 --since 7d
  roost history search --all --tool bash "docker compose"

Any of the words count, rare ones more; what is in quotes of its own counts where it stands so:
roost history search '"exit code 3" tests'. Searched are prompts, answers, arguments of tools,
errors, and lines of outputs with exact values; "history": {"kinds": [...]} in roost.json adds
reasoning and tool_output."""
KINDS: Final = (
    "user_text",
    "assistant_text",
    "tool_input",
    "tool_error",
    "reasoning",
    "tool_output",
    "tool_value",
)
"""As `roost.sessions.said.KINDS`, which a start of the command line does not read."""
_FILE: Final = "such as project/MEMORY.md (the default) or session/notes.md"


def memory(parser: Parser) -> None:
    """Of `roost memory`."""
    add = actions(parser)
    listing(parser, add, "list the files of memory", _listed)
    show = add("show", "print a file of memory")
    show.add_argument("file", nargs="?", metavar="FILE", help=_FILE)
    search = add("search", "find sections by words")
    search.add_argument("words", nargs="+", metavar="WORDS", help="what to look for")
    search.add_argument("--all", action="store_true", help="in all projects and sessions")
    _best(search, "sections")
    edit = add("edit", "change a file of memory in your editor")
    edit.add_argument("file", nargs="?", metavar="FILE", help=_FILE)
    for action in (show, search, edit):
        _whose(action)
        log_options(action)
    for action in (show, search):
        formats(action)


def _listed(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="those of all projects and sessions")
    _whose(parser)
    formats(parser)


def _whose(parser: Parser) -> None:
    of_session(parser, "whose notes (default: the last session of this folder)")
    place(parser, "of this folder's project (default: the current one)")


def _best(parser: Parser, what: str) -> None:
    words = f"the best N {what}, at most 50 (default: 10)"
    parser.add_argument(
        "-n", "--max-count", type=positive_count, default=10, metavar="N", help=words
    )


def history(parser: Parser) -> None:
    """Of `roost history`."""
    add = actions(parser)
    search = add("search", "find what was said and done in sessions")
    search.add_argument("words", nargs="+", metavar="WORDS", help="what to look for")
    search.add_argument("--all", action="store_true", help="in the sessions of every project")
    of_session(search, "only in this session")
    place(search, "in the sessions of this folder's project (default: the current one)")
    search.add_argument(
        "--kind",
        dest="kinds",
        action="append",
        default=[],
        choices=KINDS,
        metavar="KIND",
        help=f"only this kind of text; may be repeated: {', '.join(KINDS)}",
    )
    search.add_argument("--tool", default="", metavar="NAME", help="only calls of this tool")
    search.add_argument("--since", metavar="WHEN", help="said since, such as 2h, 3d or 2026-01-31")
    search.add_argument("--until", metavar="WHEN", help="said until then")
    _best(search, "passages")
    formats(search)
    log_options(search)

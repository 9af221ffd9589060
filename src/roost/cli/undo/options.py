"""The command lines of `roost undo` and `roost redo`, with their help."""

from typing import Final

from roost.cli.arguments import formats, of_session, place
from roost.cli.parser import Parser

_DEFAULT: Final = "the session that is meant (default: the last one of this folder)"
UNDO: Final = """\
examples:
  roost undo --preview             what it would do, file by file
  roost undo                       take back the last prompt and all that came of it
  roost undo                       and the one before it
  roost undo --list                what was said, with ids for --to
  roost undo --to msg_dd3f18       take back that prompt and all after it
  roost redo                       bring back the last of them

It takes back what was said and what agents did to files, and never what you or others changed
since: where both are in one file yours stays, and a file for which that cannot be told apart is
left alone and named. `roost redo` brings back what is taken back until the next prompt; that
removes it for good. Files outside of the project and what git ignores stay as commands made them.

exit codes:
  0    done
  1    done, but some files were left as they are (with --preview: would be)"""
REDO: Final = """\
examples:
  roost redo --preview
  roost redo                       bring back the prompt that was taken back last
  roost redo --all                 everything that is taken back

What you changed since stays, as with `roost undo`, with the same exit codes."""


def undo(parser: Parser) -> None:
    """The arguments of `roost undo`."""
    add = parser.add_argument
    of_session(parser, _DEFAULT)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--to",
        metavar="MESSAGE",
        help="take back this prompt and all after it (either end of its id is enough)",
    )
    which.add_argument("--list", action="store_true", help="list the prompts, the newest first")
    add("--preview", action="store_true", help="only show what would be done")
    add("--keep-files", action="store_true", help="take back what was said, and leave all files")
    formats(parser)
    place(parser, "without -s: the last session of this folder")


def redo(parser: Parser) -> None:
    """The arguments of `roost redo`."""
    add = parser.add_argument
    of_session(parser, _DEFAULT)
    add("--all", action="store_true", help="bring back all that is taken back")
    add("--preview", action="store_true", help="only show what would be done")
    formats(parser)
    place(parser, "without -s: the last session of this folder")

"""The command line of `roost skills`, with its help."""

from typing import Final

from roost.cli.arguments import actions, formats, listing, log_options, place
from roost.cli.parser import Parser

SKILLS: Final = """\
examples:
  roost skills
  roost skills show run-the-tests
  roost run "/review-a-change the last commit"

A skill is a folder with a SKILL.md, in .roost/skills or .agents/skills of a repository that you
trust, in skills/ beside your roost.json, or in ~/.agents/skills. `roost doctor` tells of those that
cannot be read."""
_FOLDER: Final = "with the configuration of this folder (default: the current one)"


def skills(parser: Parser) -> None:
    """Of `roost skills`."""
    add = actions(parser)
    listing(parser, add, "list the skills that a model can load, or you", _listed)
    show = add("show", "show one skill: what it says, and where it lies")
    show.add_argument("name", metavar="NAME", help="the skill, or another name that it goes by")
    place(show, _FOLDER)
    formats(show)
    log_options(show)


def _listed(parser: Parser) -> None:
    place(parser, _FOLDER)
    formats(parser)

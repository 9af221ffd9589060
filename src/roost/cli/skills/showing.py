"""`roost skills show`: one skill, as a model is given it, and where it lies."""

import os
import sys
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.missing import not_there
from roost.cli.skills.found import details, skills_in
from roost.cli.storage import Home, run_at_home
from roost.cli.table import as_json
from roost.cli.terminal import Look, look_of
from roost.core.text import terminal_safe
from roost.skills.known import files_of
from roost.skills.models import Skill


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost skills show`."""

    name: str
    dir: str | None = None
    format: Literal["text", "json"] = "text"


def execute(given: dict[str, Any]) -> int:
    """Show one skill. Raises `NotFoundError`, `UsageError` and `ConfigError`."""
    options = msgspec.convert(given, ShowOptions)
    return run_at_home(given, lambda home: _show(home, options))


async def _show(home: Home, options: ShowOptions) -> int:
    _, skills = skills_in(home, options.dir)
    name = options.name.removeprefix("/")
    if (one := skills.named(name)) is None:
        raise not_there("skill", name, skills.known)
    if options.format == "json":
        print(as_json({**details(one), "content": one.body}))
    else:
        print("\n".join(_lines(one, look_of(sys.stdout, os.environ))))
    return 0


def _lines(skill: Skill, look: Look) -> Iterator[str]:
    yield look.paint(terminal_safe(skill.name), "bold")
    yield terminal_safe(skill.description)
    yield ""
    for name, value in _facts(skill):
        yield f"{name:<8} {terminal_safe(value)}"
    yield ""
    yield terminal_safe(skill.body)


def _facts(skill: Skill) -> Iterator[tuple[str, str]]:
    yield "from", skill.owner
    yield "page", str(skill.page)
    paths, more = files_of(skill)
    for path in paths:
        yield "file", str(path.relative_to(skill.folder))
    if more:
        yield "", "… and more"
    if skill.aliases:
        yield "also", ", ".join(skill.aliases)
    if skill.license:
        yield "license", skill.license
    if skill.by_hand:
        yield "loaded", f"by you alone: /{skill.name} in a prompt"
    for note in skill.notes:
        yield "note", note

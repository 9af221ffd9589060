"""What can be typed after `roost`, read from the parsers, so that no script is out of step."""

import argparse
from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct

from roost.cli.grammar import COMMANDS, parser_of
from roost.cli.parser import Parser

Value = Literal["none", "text", "file", "folder"]


class Option(Struct, frozen=True):
    """One option."""

    names: tuple[str, ...]
    help: str
    value: Value
    """What follows it."""
    choices: tuple[str, ...] = ()
    metavar: str = ""
    repeatable: bool = False


class Node(Struct, frozen=True):
    """A command, or an action of one."""

    names: tuple[str, ...]
    """The first is its own, the others are aliases."""
    summary: str
    options: tuple[Option, ...] = ()
    actions: "tuple[Node, ...]" = ()
    words: tuple[str, ...] = ()
    """What its positional argument may be."""
    files: bool = False
    """Its positional argument is a file."""


def commands() -> tuple[Node, ...]:
    """Every command with its actions."""
    return tuple(_node((c.name, *c.aliases), c.summary, parser_of(c)) for c in COMMANDS)


def _node(names: tuple[str, ...], summary: str, parser: Parser) -> Node:
    positional = [a for a in parser.actions if not a.option_strings]
    plain = [a for a in positional if not _actions_of(a)]
    return Node(
        names=names,
        summary=summary,
        options=tuple(_options(parser)),
        actions=tuple(node for action in positional for node in _children(action)),
        words=tuple(word for action in plain for word in _choices(action)),
        files=any(action.dest == "file" for action in plain),
    )


def _actions_of(action: argparse.Action) -> dict[str, Parser]:
    """The parsers of a command's actions by every name they have; empty for another argument."""
    choices: Any = action.choices
    if not isinstance(choices, dict):
        return {}
    return cast("dict[str, Parser]", choices)


def _children(action: argparse.Action) -> Iterator[Node]:
    """One node an action; its aliases are the other names of the same parser."""
    parsers = _actions_of(action)
    listed: Any = getattr(action, "_choices_actions", [])
    helps = {str(one.dest): str(one.help or "") for one in listed}
    seen: list[Parser] = []
    for parser in parsers.values():
        if parser not in seen:
            seen.append(parser)
            names = tuple(name for name, other in parsers.items() if other is parser)
            yield _node(names, helps.get(names[0], ""), parser)


def _options(parser: Parser) -> Iterator[Option]:
    for action in parser.actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            yield Option(
                names=tuple(action.option_strings),
                help=(action.help or "").partition(" (")[0],
                value=_value(action),
                choices=_choices(action),
                metavar=action.metavar if isinstance(action.metavar, str) else action.dest,
                repeatable=isinstance(action.default, list),
            )


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(str(choice) for choice in action.choices or ())


def _value(action: argparse.Action) -> Value:
    if action.nargs == 0:
        return "none"
    if action.dest in {"dir", "dirs"}:
        return "folder"
    return "file" if action.metavar == "PATH" else "text"

"""argparse made strict and kind: no abbreviations, errors are `UsageError`s with a near match."""

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, cast

from roost.cli.wrapping import columns, wrapped
from roost.core.errors import UsageError

LOG_OPTIONS: Final = ("print_logs", "log_level", "log_format")
"""What every command and action takes. It stands in the help, and not in its first line."""
_UNSAID: Final = {"help", *LOG_OPTIONS}
_CHOICE: Final = re.compile(r"invalid choice: '?(?P<word>[^']*)'? \(choose from (?P<all>.*)\)")
_BOTH: Final = re.compile(r"argument (?P<one>\S+): not allowed with argument (?P<other>\S+)")
MOST_CANDIDATES: Final = 8
"""What `roost.turn.ensemble_size` allows, which is not imported to read a command line."""
ACTION: Final = "[ACTION]"
"""Stands for the actions of a command, of which one may be chosen."""


def near_match(word: str, known: list[str]) -> str:
    """`Did you mean …?` for the nearest of `known`, or nothing."""
    import difflib  # only when something was mistyped

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"Did you mean `{near[0]}`? " if near else ""


class Parser(argparse.ArgumentParser):
    """The parser of one command. Raises `UsageError` where argparse would print and exit."""

    def __init__(self, prog: str, description: str = "", epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            add_help=False,
            formatter_class=_Formatter,
        )
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help")
        self._replaced: list[tuple[argparse.Action, tuple[str, ...]]] = []
        self._numbered: set[str] = set()

    def may_be_numbered(self, option: str) -> None:
        """What follows `option` is its value only if that is a whole number, which may be missing:
        then the value is the empty text.
        """
        self._numbered.add(option)

    def with_numbers(self, words: Sequence[str]) -> list[str]:
        """`words`, with an empty value for such options that have no number behind them."""
        end = words.index("--") if "--" in words else len(words)
        followed = [*(word.isdigit() for word in words[1:end]), False]
        return [
            f"{word}=" if at < end and word in self._numbered and not followed[at] else word
            for at, word in enumerate(words)
        ]

    def may_replace(self, positional: argparse.Action, *options: str) -> None:
        """Where one of `options` is given, `positional` is not (see `expect`)."""
        self._replaced.append((positional, options))

    def expect(self, words: Sequence[str]) -> None:
        """Let what an option among `words` stands for be given no more, here and in actions."""
        for positional, options in self._replaced:
            if _is_given(options, words):
                self._remove_action(positional)
        for action in self._actions:
            if action.nargs == argparse.PARSER and isinstance(action.choices, dict):
                for parser in cast("dict[str, Parser]", action.choices).values():
                    parser.expect(words)
        self._replaced = []

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the words of argparse and where to read on."""
        if (choice := _CHOICE.search(message)) and ACTION in message:
            known = re.findall(r"[^', ]+", choice["all"])
            guess = near_match(choice["word"], known)
            message = f"`{self.prog}` has no action {choice['word']}"
            raise UsageError(message, hint=f"{guess}There are: {', '.join(known)}.")
        if two := _BOTH.fullmatch(message):
            words = f"{two['one']} and {two['other']} exclude each other"
            raise UsageError(words, hint=f"Give one of them. See `{self.prog} --help`.")
        raise UsageError(message, hint=f"{self._guess(message)}See `{self.prog} --help`.")

    def _guess(self, message: str) -> str:
        """A near match for the first option that is not known."""
        _, _, unknown = message.partition("unrecognized arguments: ")
        word = unknown.partition(" ")[0].partition("=")[0]
        return near_match(word, self.option_names) if word.startswith("-") else ""

    @property
    def actions(self) -> list[argparse.Action]:
        """Every argument, in the order in which it was added."""
        return self._actions

    @property
    def option_names(self) -> list[str]:
        """`--like-this` and `-t`, as the user may write them."""
        return [name for action in self._actions for name in action.option_strings]


def _is_given(options: tuple[str, ...], words: Sequence[str]) -> bool:
    """Whether one of `options` is among `words`, alone or with its value behind it."""
    before = words[: words.index("--")] if "--" in words else words
    return any(
        word == name or word.startswith(f"{name}=" if name.startswith("--") else name)
        for word in before
        for name in options
    )


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=columns())

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """The first line, without what every command takes."""
        told = [action for action in actions if action.dest not in _UNSAID]
        super().add_usage(usage, told, groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Examples and tables as they are written, paragraphs as wide as the screen."""
        return textwrap.indent(wrapped(text, width), indent)

    def _format_action(self, action: argparse.Action) -> str:
        """A line an action: the word that stands for all of them needs none."""
        if action.nargs == argparse.PARSER:
            return "".join(map(self._format_action, self._iter_indented_subactions(action)))
        return super()._format_action(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-m, --model NAME`: the value once, behind all names."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def positive_count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def candidates(text: str) -> int | bool:
    """How many candidates a step is chosen from; True: as many as is usual."""
    if not text:
        return True
    if not text.isascii() or not text.isdigit() or not 2 <= int(text) <= MOST_CANDIDATES:
        words = f"{text!r} is not a whole number from 2 to {MOST_CANDIDATES}"
        raise argparse.ArgumentTypeError(words)
    return int(text)


def positive_amount(text: str) -> float:
    """A finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def port_number(text: str) -> int:
    """0 to 65535."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def format_name(text: str) -> str:
    """`text` or `json`, by whatever name a command has ever known it."""
    return {"table": "text", "default": "text"}.get(text, text)

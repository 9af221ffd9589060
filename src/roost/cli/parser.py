"""argparse made strict and kind: no abbreviations, errors are `UsageError`s with a near match."""

import argparse
from typing import NoReturn

from roost.core.errors import UsageError


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
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the words of argparse and where to read on."""
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


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)


def positive_count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
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

"""Options and operands of a command, as getopt would part them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from roost.permissions.shell_words import Word, plain_word


class Option(Struct, frozen=True):
    """`-n`, `-n 3`, `-n3`, `--name` or `--name=3`."""

    name: str
    """With its dashes; of a cluster `-ab` each letter is an option of its own."""
    value: Word | None = None


class Arguments(Struct, frozen=True):
    """What follows the name of a program."""

    options: tuple[Option, ...]
    operands: tuple[Word, ...]
    certain: bool = True
    """False: a word that is only known later could be an option."""

    def has(self, *names: str) -> bool:
        """Whether any of these options is given. A long name may be shortened, as getopt allows."""
        return any(_is(option.name, name) for option in self.options for name in names)

    def values(self, *names: str) -> list[Word]:
        """The values of these options."""
        return [
            option.value
            for option in self.options
            if option.value is not None and any(_is(option.name, name) for name in names)
        ]


def _is(given: str, name: str) -> bool:
    return given == name or (len(given) > 2 and given[:2] == "--" and name.startswith(given))


def arguments(words: Sequence[Word], *, values: str = "", long: Sequence[str] = ()) -> Arguments:
    """Part `words` (without the program).

    `values` are the letters, and `long` the names, whose value may stand in the next word.
    """
    options: list[Option] = []
    operands: list[Word] = []
    certain = True
    rest = iter(words)
    for word in rest:
        text = word.text if word.exact else word.stem
        if word.exact and text == "--":
            operands += rest
        elif word.pipe or (text and text[0] != "-") or text == "-" or (word.exact and not text):
            operands.append(word)
        elif not word.exact and len(text) < 3:
            certain = False
            operands.append(word)
        elif text.startswith("--"):
            options.append(_long(word, text, rest, long))
            certain = certain and (word.exact or "=" in text)
        else:
            certain = certain and (word.exact or text[1] in values)
            options += _cluster(text[1:], rest, values)
    return Arguments(tuple(options), tuple(operands), certain)


def _long(word: Word, text: str, rest: Iterator[Word], names: Sequence[str]) -> Option:
    name, equals, value = text.partition("=")
    if equals:
        return Option(name, Word(value, word.exact, value, word.glob))
    return Option(name, next(rest, None) if name in names else None)


def _cluster(letters: str, rest: Iterator[Word], values: str) -> list[Option]:
    found: list[Option] = []
    for index, letter in enumerate(letters):
        if letter in values:
            attached = letters[index + 1 :]
            value = plain_word(attached) if attached else next(rest, None)
            return [*found, Option(f"-{letter}", value)]
        found.append(Option(f"-{letter}"))
    return found

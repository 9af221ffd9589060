"""A timeline as lines of text for one width: rows that line up, words that keep to them. Pure."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from roost.cli.table import cut_to, one_line, width_of
from roost.cli.terminal import Look
from roost.cli.trace import cells
from roost.cli.trace.cells import amount, left, money, right, share, span, wrapped
from roost.cli.trace.entries import (
    Called,
    Decision,
    Entry,
    Ran,
)
from roost.cli.trace.wording import Words, words_of

NARROWEST: Final = 60
"""Cells that a timeline takes at least."""
WIDEST: Final = 160
"""Cells that it takes at most: further apart, words and numbers of a row do not find each other."""
WIDE: Final = 130
"""From so many cells on numbers are written out."""
_BEFORE: Final = 10
"""Cells of the moment and the mark at the beginning of a row."""


class Columns(Struct, frozen=True):
    """The cells of the numbers at the end of a row."""

    first: int
    sent: int
    cached: int
    cost: int
    out: int
    took: int

    @property
    def all(self) -> int:
        """Those of all of them."""
        return self.first + self.sent + self.cached + self.cost + self.out + self.took

    @property
    def of_tools(self) -> int:
        """Those that a call of a tool needs, too."""
        return self.out + self.took


_NARROW: Final = Columns(first=7, sent=6, cached=7, cost=8, out=7, took=7)
_WIDE: Final = Columns(first=8, sent=11, cached=11, cost=10, out=9, took=9)


class Picture:
    """How entries look in lines of `width` cells."""

    def __init__(self, width: int, look: Look, began: int) -> None:
        self._width = min(WIDEST, max(NARROWEST, width))
        self._look = look
        self._began = began
        self._columns = _WIDE if self._width >= WIDE else _NARROW
        self._error = ""
        """Of the last step."""

    @property
    def _is_wide(self) -> bool:
        return self._columns is _WIDE

    def heads(self) -> str:
        """The line above the rows."""
        columns = self._columns
        names = [
            right("AT", 7),
            " " * 3,
            left("WHAT", self._width - _BEFORE - columns.all),
            right("FIRST", columns.first),
            right("IN", columns.sent),
            right("CACHED", columns.cached),
            right("COST", columns.cost),
            right("OUT", columns.out),
            right("TOOK", columns.took),
        ]
        return self._look.paint("".join(names).rstrip(), "dim")

    def lines(self, entry: Entry) -> list[str]:
        """The lines of one entry."""
        words = words_of(self._without_echo(entry))
        match entry:
            case Called():
                return [self._step(entry, words), *self._below(words, indent=2)]
            case Ran():
                return [self._tool(entry, words), *self._below(words, indent=4)]
            case _:
                return [*self._told(entry.at, words), *self._below(words, indent=2)]

    def _without_echo(self, entry: Entry) -> Entry:
        """A decision without the error of the step above it, which it only hands on."""
        if isinstance(entry, Called):
            self._error = entry.error
        elif isinstance(entry, Decision) and self._is_echo(entry.text):
            return replace(entry, text="")
        return entry

    def _is_echo(self, text: str) -> bool:
        """Whether `text` is the error of the last step, or the beginning of it that was kept."""
        return bool(text) and self._error.startswith(text.removesuffix("…"))

    def _start(self, at: int, words: Words) -> str:
        moment = right(cells.offset((at - self._began) / 1000), 7)
        mark = self._look.icon(*words.mark)
        paint = self._look.paint
        return f"{paint(moment, 'dim')} {paint(mark, words.colour or 'dim')} "

    def _step(self, entry: Called, words: Words) -> str:
        columns = self._columns
        room = self._width - _BEFORE - columns.all
        label = words.label
        rest = left(self._about(entry), room - len(label) - 1) if room > len(label) + 1 else ""
        tokens = entry.tokens
        numbers = [
            right(span(entry.first), columns.first),
            right(amount(tokens.input, exact=self._is_wide), columns.sent),
            right(self._cached(entry), columns.cached),
            right(money(entry.cost), columns.cost),
            right(amount(tokens.output, exact=self._is_wide), columns.out),
            right(span(words.took), columns.took),
        ]
        painted = self._look.paint(label, words.colour or "cyan", "bold")
        return f"{self._start(entry.at, words)}{painted} {rest}{''.join(numbers)}".rstrip()

    def _cached(self, entry: Called) -> str:
        tokens = entry.tokens
        if self._is_wide:
            return amount(tokens.cached, exact=True)
        return share(tokens.cached, tokens.input)

    def _about(self, entry: Called) -> str:
        """The model, and how its answer ended; a narrow line has no room for the provider."""
        model = entry.model if self._is_wide else entry.model.partition("/")[2]
        state = entry.finish or ("" if entry.seconds is not None else "…")
        hidden = "hidden" if entry.hidden else ""
        thought = f"{entry.tokens.reasoning:,} thinking" if entry.tokens.reasoning else ""
        parts = [one_line(model), one_line(state), hidden, thought if self._is_wide else ""]
        return " · ".join(filter(None, parts))

    def _tool(self, entry: Ran, words: Words) -> str:
        columns = self._columns
        state = self._state(entry)
        room = self._width - _BEFORE - 2 - columns.of_tools - (len(state) + 1 if state else 0)
        label = cut_to(one_line(words.label), max(1, room))
        used = width_of(label)
        rest = left(one_line(words.text), room - used - 1) if room > used + 1 else ""
        painted = self._look.paint(label, words.colour) if words.colour else label
        return (
            f"{self._start(entry.at, words)}  {painted} {rest}"
            f"{self._look.paint(f' {state}', words.colour or 'yellow') if state else ''}"
            f"{right(cells.size(entry.bytes), columns.out)}"
            f"{right(span(entry.seconds), columns.took)}"
        ).rstrip()

    @staticmethod
    def _state(entry: Ran) -> str:
        """What is said of how a call ended, or that it has not."""
        if entry.exit:
            return f"exit {entry.exit}"
        return "" if entry.state == "completed" else entry.state

    def _told(self, at: int, words: Words) -> Iterator[str]:
        room = self._width - _BEFORE - self._columns.took
        label = cut_to(one_line(words.label), room)
        used = width_of(label) + 2
        first, *more = wrapped(words.text, room - 2, words.most, first=room - used) or [""]
        painted = self._look.paint(label, words.colour) if words.colour else label
        body = left(f"  {first}" if first else "", room - used + 2)
        took = right(span(words.took), self._columns.took)
        yield f"{self._start(at, words)}{painted}{body}{took}".rstrip()
        for line in more:
            yield f"{' ' * _BEFORE}  {line}"

    def _below(self, words: Words, *, indent: int) -> list[str]:
        room = self._width - _BEFORE - indent
        start = " " * (_BEFORE + indent)
        return [
            start + (self._look.paint(line, one.colour) if one.colour else line)
            for one in words.below
            for line in wrapped(one.text, room, one.most)
        ]

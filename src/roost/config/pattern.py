"""Regular expressions for names that always end soon: those parts that need no backtracking.

Python's own engine needs years for `(a+)+b` on forty letters, and stops the whole process while it
tries. Here all ways through a name are followed at once, and what a group can reach from one place
is found out once, so the work is bounded by pattern × name². Understood: letters, `.`, `[…]`,
`\\d \\w \\s` and escaped characters, `|`, `( )`, `(?: )`, `* + ? {m} {m,} {m,n}`, and `^` `$` at
the ends. All else is refused.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

LONGEST_PATTERN: Final = 200
"""Characters of a pattern."""
LONGEST_NAME: Final = 100
"""Characters; no longer name matches anything."""
_MOST_TIMES: Final = LONGEST_NAME
_DEEPEST: Final = 40
_TOKEN: Final = re.compile(
    r"(?P<group>\((?:\?:)?)"
    r"|(?P<atom>\[\^?\]?(?:\\.|[^\]\\])*\]|\\[dDwWsS]|\\[^A-Za-z0-9]|[^\\\[\](){}*+?|^$])"
    r"|(?P<times>[*+?]|\{\d+(?:,\d*)?\})\??"
    r"|(?P<mark>[)|^$])"
)


class PatternError(ValueError):
    """A pattern that is not understood; its text says why."""


class _Atom(Struct, frozen=True):
    one: re.Pattern[str]
    """Matches one character."""


class _Edge(Struct, frozen=True):
    at: Literal["^", "$"]


class _Row(Struct, frozen=True):
    parts: tuple["_Part", ...]


class _Choice(Struct, frozen=True):
    rows: tuple[_Row, ...]


class _Repeat(Struct, frozen=True):
    part: "_Part"
    least: int
    most: int | None


_Part = _Atom | _Edge | _Row | _Choice | _Repeat


class NamePattern:
    """A pattern that a whole name matches or does not. Raises PatternError when it is made."""

    def __init__(self, pattern: str) -> None:
        self._root = _Reader(pattern).whole()

    def matches(self, name: str) -> bool:
        """Whether all of `name` fits the pattern."""
        if len(name) > LONGEST_NAME:
            return False
        return bool(_Walk(name).reached(self._root, 1) >> len(name))


@lru_cache(maxsize=256)
def name_pattern(pattern: str) -> NamePattern:
    """The pattern, read once. Raises PatternError."""
    return NamePattern(pattern)


class _Reader:
    """One pass over the text of a pattern."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST_PATTERN:
            raise PatternError(f"is longer than {LONGEST_PATTERN} characters")
        self._tokens = list(_tokens(pattern))
        self._at = 0

    def whole(self) -> _Choice:
        found = self._choice(0)
        if self._at < len(self._tokens):
            raise PatternError("closes a bracket that was never opened")
        return found

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _choice(self, depth: int) -> _Choice:
        if depth > _DEEPEST:
            raise PatternError("is nested too deeply")
        rows = [self._row(depth)]
        while self._peek() == ("mark", "|"):
            self._at += 1
            rows.append(self._row(depth))
        return _Choice(tuple(rows))

    def _row(self, depth: int) -> _Row:
        parts: list[_Part] = []
        while (token := self._peek())[0] != "end" and token not in {("mark", "|"), ("mark", ")")}:
            self._at += 1
            parts.append(self._repeated(self._part(token, depth)))
        return _Row(tuple(parts))

    def _part(self, token: tuple[str, str], depth: int) -> _Part:
        kind, text = token
        if kind == "times":
            raise PatternError(f"has {text} where there is nothing to repeat")
        if kind == "mark":
            return _Edge("^" if text == "^" else "$")
        if kind == "atom":
            return _Atom(_compiled(text))
        inner = self._choice(depth + 1)
        if self._peek() != ("mark", ")"):
            raise PatternError("has a bracket that is never closed")
        self._at += 1
        return inner

    def _repeated(self, part: _Part) -> _Part:
        kind, text = self._peek()
        if kind != "times":
            return part
        self._at += 1
        if self._peek()[0] == "times":
            raise PatternError(f"repeats twice at {text}")
        if isinstance(part, _Edge):
            raise PatternError(f"has {text} where there is nothing to repeat")
        return _Repeat(part, *_times(text))


def _tokens(pattern: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None or pattern.startswith("(?", at) > pattern.startswith("(?:", at):
            raise PatternError(f"is not understood from {pattern[at : at + 12]!r} on")
        assert found.lastgroup is not None
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _compiled(atom: str) -> re.Pattern[str]:
    try:
        return re.compile(atom, re.DOTALL)
    except re.error as error:
        raise PatternError(f"is not understood at {atom!r}: {error.msg}") from error


def _times(text: str) -> tuple[int, int | None]:
    if text in "*+?":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[text]
    low, comma, high = text.strip("{}").partition(",")
    least, most = int(low), int(high or low) if high or not comma else None
    if max(least, most or 0) > _MOST_TIMES or (most is not None and most < least):
        raise PatternError(f"cannot repeat {text} times")
    return least, most


class _Walk:
    """Where parts of a pattern can end in one name. Places are the bits of a number."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._fits: dict[str, int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def reached(self, part: _Part, places: int) -> int:
        """Every place up to which `part` can go from any of `places`."""
        match part:
            case _Atom(one):
                return (places & self._fitting(one)) << 1
            case _Edge(at):
                return places & (1 << (len(self._name) if at == "$" else 0))
            case _Row(parts):
                for one in parts:
                    places = self.reached(one, places)
                return places
            case _Choice(rows):
                return self._any(rows, places)
            case _Repeat(_Atom()):
                return self._repeated(part, places)
            case _Repeat():
                return self._from_each(part, places)

    def _any(self, rows: tuple[_Row, ...], places: int) -> int:
        found = 0
        for row in rows:
            found |= self.reached(row, places)
        return found

    def _fitting(self, one: re.Pattern[str]) -> int:
        """The places whose character `one` matches."""
        if one.pattern not in self._fits:
            letters = enumerate(self._name)
            self._fits[one.pattern] = sum(1 << at for at, x in letters if one.fullmatch(x))
        return self._fits[one.pattern]

    def _from_each(self, part: _Repeat, places: int) -> int:
        found = 0
        for place in range(places.bit_length()):
            if places >> place & 1:
                key = (id(part), place)
                if key not in self._known:
                    self._known[key] = self._repeated(part, 1 << place)
                found |= self._known[key]
        return found

    def _repeated(self, part: _Repeat, places: int) -> int:
        for _ in range(part.least):
            places = self.reached(part.part, places)
        found = new = places
        left = len(self._name) if part.most is None else part.most - part.least
        while new and left:
            new = self.reached(part.part, new) & ~found
            found |= new
            left -= 1
        return found

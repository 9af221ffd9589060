"""What is found, put in order and cut to what shows why: words in full, age, marked snippets. Pure.

The index tells which passages hold which tokens; the passages themselves decide about the order,
since only they know whether the words stand together as they were asked for.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

from roost.memory.tokens import folded, query_tokens, spans

FLOOR: Final = 0.15
"""Of the best score: what has less is left out."""
SNIPPET: Final = 240
"""Characters of a snippet."""
OPEN_MARK: Final = "«"
CLOSE_MARK: Final = "»"
_LITERAL: Final = 1.0
_COVERED: Final = 0.5
_RECENT: Final = 0.15
"""How much a score grows by the words standing there literally, by all of them being there, and by
being new."""
_WORD: Final = 0.1
"""What all the words count where they are so common that the index tells nothing by them."""
_LONG: Final = 0.5
_LONGEST: Final = 2_000
"""How much less the words of a long passage tell than those of a short one, and from how many
characters on."""
_HALF_LIFE: Final = 14 * 86_400_000
"""Milliseconds in which being new counts half as much."""
_QUOTED: Final = re.compile(r'"([^"]{2,})"|“([^”]{2,})”|「([^」]{2,})」')
T = TypeVar("T")


class Query(Struct, frozen=True):
    """What is looked for."""

    words: tuple[str, ...]
    """Tokens."""
    literals: tuple[str, ...]
    """Folded phrases that count more where they stand literally."""


class Candidate(Struct, Generic[T], frozen=True):
    """A passage that holds some of the tokens."""

    of: T
    score: float
    """How well its tokens fit; greater is better."""
    text: str
    created: int
    """Milliseconds since the epoch."""


class Snippet(Struct, frozen=True):
    """A piece of a passage, on one line, and where in it stands what was looked for."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def marked(self, opening: str = OPEN_MARK, closing: str = CLOSE_MARK) -> str:
        """The text with marks around what was looked for."""
        made, at = "", 0
        for start, end in self.spans:
            made += f"{self.text[at:start]}{opening}{self.text[start:end]}{closing}"
            at = end
        return made + self.text[at:]


class Hit(Struct, Generic[T], frozen=True):
    """A passage that was found."""

    of: T
    score: float
    snippet: Snippet
    words: frozenset[str]
    """What was looked for."""


def query_of(text: str) -> Query:
    """What `text` asks for; quoted phrases count as such, and the whole of it."""
    quoted = ["".join(groups) for groups in _QUOTED.findall(text)]
    whole = folded(text.replace('"', " "))
    words = tuple(query_tokens(text))
    literals = [folded(one) for one in quoted] or ([whole] if len(words) > 1 else [])
    return Query(words, tuple(one for one in dict.fromkeys(literals) if one))


def ranked(
    query: Query,
    candidates: Iterable[Candidate[T]],
    now: int,
    limit: int,
    *,
    same: Callable[[T], Hashable] | None = None,
) -> list[Hit[T]]:
    """The best of `candidates`, the best first; `now` is milliseconds since the epoch.

    Of those for which `same` gives one thing the best alone is shown.
    """
    scored = [(_score(query, one, now), one) for one in candidates]
    scored.sort(key=lambda pair: -pair[0])
    least = FLOOR * scored[0][0] if scored else 0.0
    wanted = frozenset(query.words)
    hits: list[Hit[T]] = []
    seen: set[Hashable] = set()
    for score, one in scored:
        if len(hits) == limit or score < least:
            break
        thing = same(one.of) if same is not None else id(one)
        if thing in seen:
            continue
        seen.add(thing)
        hits.append(Hit(one.of, score, snippet(one.text, wanted), wanted))
    return hits


def _score(query: Query, candidate: Candidate[T], now: int) -> float:
    text = folded(candidate.text)
    literal = sum(one in text for one in query.literals) / max(1, len(query.literals))
    covered = sum(word in text for word in query.words) / max(1, len(query.words))
    long = 1 + _LONG * min(len(text), _LONGEST) / _LONGEST
    base = (candidate.score + _WORD * covered) / long
    recent = 0.5 ** (max(0, now - candidate.created) / _HALF_LIFE)
    return base * (1 + _LITERAL * literal + _COVERED * covered) * (1 + _RECENT * recent)


def snippet(text: str, wanted: Collection[str], size: int = SNIPPET) -> Snippet:
    """The piece of `text` that holds the most of the tokens `wanted`."""
    line = " ".join(text.split())
    found = [(a, b, one) for a, b, some in spans(line) for one in some if one in wanted]
    start = _best_start(found, size)
    start = max(0, min(start - size // 6, len(line) - size))
    if start and (space := line.find(" ", start, start + size // 8)) > 0:
        start = space + 1
    end = min(len(line), start + size)
    head, tail = "…" if start else "", "…" if end < len(line) else ""
    shift = len(head) - start
    places = [(a + shift, b + shift) for a, b, _ in found if a >= start and b <= end]
    return Snippet(f"{head}{line[start:end]}{tail}", tuple(_joined(places)))


def _best_start(found: Sequence[tuple[int, int, str]], size: int) -> int:
    """Where the window begins that holds the most different tokens, of several the one in which
    they stand closest together: what belongs to them stands around them.
    """
    best, most, least = 0, 0, size
    inside: dict[str, int] = {}
    last = 0
    for first, (start, _, word) in enumerate(found):
        while last < len(found) and found[last][1] <= start + size * 5 // 6:
            inside[found[last][2]] = inside.get(found[last][2], 0) + 1
            last += 1
        if inside and len(inside) >= most:
            span = _end_of_new(found[first:last]) - start
            if len(inside) > most or span < least:
                best, most, least = start, len(inside), span
        if first < last:
            inside[word] -= 1
            if not inside[word]:
                del inside[word]
    return best


def _end_of_new(found: Iterable[tuple[int, int, str]]) -> int:
    """Where the last of the different tokens ends for the first time."""
    seen: dict[str, int] = {}
    for _, end, word in found:
        seen.setdefault(word, end)
    return max(seen.values(), default=0)


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places that touch or overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(set(places)):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined

"""Which rows of an index hold some of what is looked for, and how much that tells of each.

A token tells the more the fewer rows hold it. That is all that the index is asked: how long a
passage is, and how the words stand in it, decides later about the few best ones (`rank.py`).
"""

from collections.abc import Iterator, Sequence
from math import log
from typing import Final, Literal

from roost.db.transaction import Reader

COMMON: Final = 4_000
"""Rows that the rarer words of a query may stand in before the more common ones are left out: they
would tell little, and cost much."""
Name = Literal["memory", "history"]


def weighed(
    db: Reader, name: Name, words: Sequence[str], facets: Sequence[Sequence[str]], total: int
) -> list[tuple[int, float]]:
    """The rows of the index `name` that hold any of `words` and any of each group of `facets`, the
    best first, of equal ones the newest. `total`: how many rows there are.
    """
    groups = "".join(f" AND ({' OR '.join(map(_quoted, group))})" for group in facets if group)
    sql = f"SELECT rowid FROM {name}_terms WHERE {name}_terms MATCH ?"
    scores: dict[int, float] = {}
    for word, count in _telling(db, name, words):
        tells = log(1 + (max(total, count) - count + 0.5) / (count + 0.5))
        for row in db.all(sql, (f"{_quoted(word)}{groups}",)):
            scores[row[0]] = scores.get(row[0], 0.0) + tells
    return sorted(scores.items(), key=lambda one: (-one[1], -one[0]))


def _telling(db: Reader, name: Name, words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Those of `words` that are somewhere with the count of their rows, the rarest first, as far as
    they tell enough.
    """
    sql = f"SELECT doc FROM {name}_vocabulary WHERE term = ?"
    found = [(row["doc"], word) for word in words if (row := db.one(sql, (word,)))]
    total = 0
    for count, word in sorted(found):
        if total and total + count > COMMON:
            return
        total += count
        yield word, count


def _quoted(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'

"""Searching files of memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.core.clock import now_ms
from roost.memory import section_store as store
from roost.memory.index import Index
from roost.memory.layout import Layout, Located, Scope, Whose
from roost.memory.rank import Candidate, Hit, query_of, ranked, snippet
from roost.memory.reconcile import Owned, reconcile
from roost.memory.section_store import Found

Reach = Literal["own", "project", "session", "global", "all"]
"""Where is looked: `own` is one's project, session and what is global; `all` is everybody's."""
MOST: Final = 50
_SCOPES: Final[tuple[Scope, ...]] = ("project", "session", "global")


class MemoryHit(Struct, frozen=True):
    """A section that was found."""

    file: Located
    found: Found
    hit: Hit[Found]


def search(
    index: Index, layout: Layout, words: str, whose: Whose, *, reach: Reach = "own", limit: int = 10
) -> list[MemoryHit]:
    """The sections that fit `words` best; none for words without letters or digits.

    Raises `StorageError` if the index cannot be used.
    """
    query = query_of(words)
    scopes = scopes_of(layout, whose, reach)
    reconcile(index, layout, _with_gone(index, scopes, reach), whose)
    if not query.words or not scopes:
        return []
    within = () if reach == "all" else scopes
    found = index.read(lambda db: store.search(db, query.words, within))
    candidates = [Candidate(one, one.score, one.text, one.changed) for one in found]
    hits = ranked(query, candidates, now_ms(), min(limit, MOST))
    return [MemoryHit(_located(layout, one.of, whose), one.of, _below_heading(one)) for one in hits]


def scopes_of(layout: Layout, whose: Whose, reach: Reach) -> list[Owned]:
    """The scopes that a search reaches, with their owners."""
    if reach == "all":
        return [(scope, owner) for scope in _SCOPES for owner in layout.owners(scope)]
    own: list[Owned] = [(scope, whose.id_of(scope)) for scope in _SCOPES if reach in {"own", scope}]
    return [one for one in own if one[1] or one[0] == "global"]


def _with_gone(index: Index, scopes: Sequence[Owned], reach: Reach) -> list[Owned]:
    """`scopes` and, where everybody's are meant, those whose folder is gone."""
    if reach != "all":
        return list(scopes)
    known: list[Owned] = [
        (scope, owner)
        for scope in _SCOPES
        for owner in index.read(lambda db, scope=scope: store.owners(db, scope))
    ]
    return list(dict.fromkeys([*scopes, *known]))


def _below_heading(hit: Hit[Found]) -> Hit[Found]:
    """`hit` with a snippet of what stands below the heading, which is shown beside it."""
    body = hit.of.text.partition("\n")[2] if hit.of.heading else ""
    return Hit(hit.of, hit.score, snippet(body, hit.words), hit.words) if body.strip() else hit


def _located(layout: Layout, found: Found, whose: Whose) -> Located:
    return layout.locate(Path(found.path).relative_to(layout.root).as_posix(), whose)

"""The actors as lines of text: each below the one that started it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from roost.cli.actors.crew import Member
from roost.cli.short_ids import shown_ids
from roost.cli.table import table
from roost.inbox.models import Address

HEAD: Final = ["ACTOR", "AGENT", "STATE", "AGE", "STEPS", "TOKENS", "COST", "WHAT"]
_SPARE: Final = ("TOKENS", "STEPS", "AGENT", "COST", "AGE")
"""What is left out first where a line has few cells."""
_UNICODE: Final = ("├─ ", "└─ ", "│  ", "   ")
_PLAIN: Final = ("|- ", "`- ", "|  ", "   ")


def tree_lines(
    members: Sequence[Member], *, unicode: bool = True, width: int | None = None
) -> list[str]:
    """A table of `members`, which are in the order in which they were made."""
    placed = list(branches(members, unicode=unicode))
    ids = shown_ids((member.view.session_id for member in members), width)
    rows = [_row(member, ids) for _, member in placed]
    starts = ["", *(branch for branch, _ in placed)]
    return table([HEAD, *rows], width, starts, spare=_SPARE)


def branches(members: Sequence[Member], *, unicode: bool) -> Iterator[tuple[str, Member]]:
    """Each member behind those above it, with the lines of the tree that stand before it."""
    known = {member.address for member in members}
    below: dict[Address | None, list[Member]] = {}
    for member in members:
        parent = member.view.parent
        below.setdefault(parent if parent in known else None, []).append(member)
    marks = _UNICODE if unicode else _PLAIN

    def walk(parent: Address, before: str) -> Iterator[tuple[str, Member]]:
        children = below.get(parent, [])
        for child in children:
            is_last = child is children[-1]
            yield before + marks[1 if is_last else 0], child
            yield from walk(child.address, before + marks[3 if is_last else 2])

    for root in below.get(None, []):
        yield "", root
        yield from walk(root.address, "")


def _row(member: Member, ids: Mapping[str, str]) -> list[str]:
    view = member.view
    return [
        _name(member, ids),
        view.agent,
        _state(member),
        span(view.age),
        f"{view.steps:,}",
        f"{view.tokens:,}",
        f"${view.cost:.4f}" if view.cost else "",
        what(member),
    ]


def _state(member: Member) -> str:
    """What it does; of one that sleeps also how its last turn came out."""
    outcome = member.view.outcome if member.state == "asleep" else None
    return f"{member.state}: {outcome}" if outcome else member.state


def _name(member: Member, ids: Mapping[str, str]) -> str:
    """The first actor of a session by the session, a peer by its own id, others by their name."""
    view = member.view
    if not member.fronts or view.actor_id == view.session_id:
        return ids.get(view.actor_id, view.actor_id)
    return f"{ids[view.session_id]}/{view.actor_id}"


def what(member: Member) -> str:
    """What an actor is for, and what it does at the moment."""
    view = member.view
    about = view.description or (member.title if member.fronts else "")
    now = member.wants or view.doing or view.summary or ""
    unheard = f"({view.queued} unread)" if view.queued and view.status != "running" else ""
    return " ".join(filter(None, [": ".join(filter(None, [about, now])), unheard]))


def span(seconds: float) -> str:
    """How long something took, roughly."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"

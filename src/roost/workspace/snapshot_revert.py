"""Taking back what changed between snapshots: what becomes of each file is decided here.

Pure: from what a file was before and after each change, and what it is now, to what it shall be.
What differs from the state after the last change was changed by somebody else, and stays.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from roost.workspace.merge import merged
from roost.workspace.snapshot_models import Action
from roost.workspace.snapshot_states import Content, Unknown, Version
from roost.workspace.textfile import is_binary

ACTING: Final[frozenset[Action]] = frozenset({"restored", "created", "deleted", "merged"})
"""The actions that change the file."""

Change = tuple[Version, Version]
"""A file before and after."""


class Undoing(NamedTuple):
    """What shall become of a file."""

    action: Action
    target: Content | None = None
    """What it shall be, for `ACTING`; None deletes it."""
    reason: str = ""


class TimedChange(NamedTuple):
    """A file before and after something that took from `began` to `ended`."""

    before: Version
    after: Version
    began: int = 0
    ended: int = 0


def in_order(changes: Sequence[TimedChange]) -> list[Change]:
    """The changes one after the other; those that went on side by side as one.

    Two commands that ran at once both saw what the other did, so neither of them can be taken back
    alone: what was there before the first began is what was there before both.
    """
    found: list[TimedChange] = []
    for change in changes:
        last = found[-1] if found else None
        if last is None or not _overlap(last, change):
            found.append(change)
            continue
        first = min(last, change, key=lambda one: one.began)
        final = max(last, change, key=lambda one: one.ended)
        found[-1] = TimedChange(first.before, final.after, first.began, final.ended)
    return [(one.before, one.after) for one in found]


def _overlap(one: TimedChange, other: TimedChange) -> bool:
    return one.began < other.ended and other.began < one.ended


def undoing(changes: Sequence[Change], current: Version, undos: Sequence[Change] = ()) -> Undoing:
    """How to take back `changes`, the oldest first, of a file that is `current` now.

    `undos` came after them, and each of them may have been done or not: a revert that was killed
    had come to some files and not to others. So none of them is joined with what it took back.
    """
    version = current
    mixed = False
    for before, after in reversed([*_joined(changes), *undos]):
        if before == after or version == before:
            continue
        if isinstance(before, Unknown) or isinstance(after, Unknown):
            unknown = before if isinstance(before, Unknown) else after
            assert isinstance(unknown, Unknown)
            return Undoing("left", reason=unknown.reason)
        if isinstance(version, Unknown):
            return Undoing("conflict", reason=version.reason)
        if version == after:
            version = before
            continue
        mixed = True
        if before is None or after is None or version is None:
            return Undoing("conflict", reason=_why(before, after, version))
        joined = _merge(before, after, version)
        if joined is None:
            return Undoing("conflict", reason="the same lines were changed since")
        version = joined
    return _result(current, version, mixed)


def _joined(changes: Sequence[Change]) -> list[Change]:
    """Changes of which each begins where the last ended, as one: less can be in the way."""
    found: list[Change] = []
    for before, after in changes:
        if found and found[-1][1] == before and not isinstance(before, Unknown):
            found[-1] = (found[-1][0], after)
        else:
            found.append((before, after))
    return found


def _result(current: Version, version: Version, mixed: bool) -> Undoing:
    if version == current or isinstance(version, Unknown):
        return Undoing("unchanged")
    if version is None:
        return Undoing("deleted")
    if current is None:
        return Undoing("created", version)
    return Undoing("merged" if mixed else "restored", version)


def _why(before: Version, after: Version, version: Version) -> str:
    if version is None:
        return "it was deleted since"
    if after is None:
        return "it was deleted, and somebody made another since"
    assert before is None
    return "it was made, and somebody changed it since"


def _merge(before: Content, after: Content, version: Content) -> Content | None:
    """`version` with the way from `after` to `before` applied to it; None if that is not clean."""
    data = version.data
    if before.data != after.data or before.is_link != after.is_link:
        sides = (before, after, version)
        if any(one.is_link or is_binary(one.data) for one in sides):
            return None
        joined = merged(after.data, version.data, before.data)
        if joined is None:
            return None
        data = joined
    elif version.is_link != after.is_link:
        return None
    # Who has set another mode since wants that one.
    return Content(before.mode if version.mode == after.mode else version.mode, data)

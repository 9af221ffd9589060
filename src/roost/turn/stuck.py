"""Finds that an actor works and gets nowhere, though no two of its steps need be alike in a row: an
edit that goes back and forth, a command that fails the same way whatever stands between, steps that
bring nothing new. Pure; what repeats itself step by step is `loops`'.

A miss is acceptable, a false alarm is not: a test that fails in another way is progress, and who
waits for something is patient.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from roost.core.text import clean, cut
from roost.sessions.models import Message
from roost.turn.efforts import Edit, Effort, efforts
from roost.turn.loops import rounds

APPLIED: Final = 3
"""Times that nearly the same edit was made, and taken back in between."""
FAILED: Final = 4
"""Times in a row that a command failed the same way, and nothing else was done than looking."""
FAILED_CHANGING: Final = 6
"""The same, where files were edited or other commands ran well in between."""
STALE: Final = 10
"""Steps in a row of which none brought anything new."""
PATIENT_SECONDS: Final = 5.0
"""Who takes so long from one try to the next, and changes nothing, waits for something."""
PATIENT: Final = 20
"""Times that such a one may see the same."""
_WORDS: Final = 300
_NOTES: Final = "<bash_metadata>"
"""Behind it stands what the shell tool says of the command itself."""
Reason = Literal["edit_repeat", "bash_retry", "action_streak"]


class Stuck(Struct, frozen=True, kw_only=True):
    """How an actor gets nowhere."""

    reason: Reason
    what: str
    """In words, for people and for the model."""
    count: int
    path: str = ""
    command: str = ""
    error: str = ""
    """The end of what came of it last."""


class _Judged(Struct, frozen=True):
    """What was found of a conversation with that last message and so many in all."""

    last: Message
    count: int
    found: Stuck | None


_KEPT: Final = 64
_judged: Final[dict[int, _Judged]] = {}


def find(messages: Sequence[Message]) -> Stuck | None:
    """How the newest step shows that the actor is stuck; None: it does not.

    A step is judged several times, before and after it is stored; it is looked at once.
    """
    last = messages[-1] if messages else None
    if last is None:
        return None
    known = _judged.get(id(last))
    if known is not None and known.last is last and known.count == len(messages):
        return known.found
    if len(_judged) >= _KEPT:
        _judged.clear()
    found = _find(messages)
    _judged[id(last)] = _Judged(last, len(messages), found)
    return found


def _find(messages: Sequence[Message]) -> Stuck | None:
    walk = efforts(messages)
    newest = next(walk, None)
    if not newest:
        return None
    steps = [newest, *walk]
    found = _edited(steps) or _failing(steps) or _stale(steps)
    return found if found is not None and rounds(messages) is None else None


# Edits


def _edited(steps: Sequence[Sequence[Effort]]) -> Stuck | None:
    newest = [edit for effort in steps[0] for edit in effort.edits]
    earlier = [edit for step in steps[1:] for effort in reversed(step) for edit in effort.edits]
    for edit in newest:
        if (count := _applied(edit, earlier)) >= APPLIED:
            what = f"nearly the same edit of {edit.path}, made {count} times and taken back between"
            return Stuck(
                reason="edit_repeat",
                what=what,
                count=count,
                path=edit.path,
                error=_sample(edit),
            )
    return None


def _applied(edit: Edit, earlier: Sequence[Edit]) -> int:
    """How often `edit` was made, each time but the last with its opposite behind it."""
    count, undone = 1, False
    for other in earlier:
        if edit.undoes(other):
            undone = True
        elif undone and edit.repeats(other):
            count, undone = count + 1, False
    return count


def _sample(edit: Edit) -> str:
    lines = [f"-{line}" for line in sorted(edit.removed)] + [f"+{x}" for x in sorted(edit.added)]
    return cut(clean("\n".join(lines)), _WORDS)


# Commands


class _Failures(Struct, frozen=True):
    """A command that failed in the same way again and again."""

    runs: tuple[Effort, ...]
    """One a step, the newest first."""
    edited: bool
    """Files were edited in between."""
    acted: bool
    """The same, or another command ran well, which may have changed something."""

    @property
    def are_enough(self) -> bool:
        """Whether that goes nowhere."""
        count = len(self.runs)
        if not self.edited and _waits(self.runs):
            return count >= PATIENT
        return count >= (FAILED_CHANGING if self.acted else FAILED)


def _failing(steps: Sequence[Sequence[Effort]]) -> Stuck | None:
    for effort in steps[0]:
        if effort.is_command and effort.failed:
            failures = _failures(effort, steps)
            if failures.are_enough:
                return _failed(effort, failures)
    return None


def _failures(newest: Effort, steps: Sequence[Sequence[Effort]]) -> _Failures:
    runs: list[Effort] = []
    edited = acted = False
    between: list[Effort] = []
    for effort in (one for step in steps for one in reversed(step)):
        if not effort.asks_as(newest):
            between.append(effort)
            continue
        if not effort.is_as(newest):
            break
        if runs and effort.step == runs[-1].step:
            continue
        if runs:  # what came before the first run and behind the last one does not count
            edited = edited or any(one.diff for one in between)
            acted = acted or edited or any(one.is_command and not one.failed for one in between)
        between = []
        runs.append(effort)
    return _Failures(tuple(runs), edited, acted)


def _waits(tries: Sequence[Effort]) -> bool:
    """Whether so much time passes from one of `tries`, the newest first, to the next that it is for
    waiting.
    """
    passed = tries[0].began - tries[-1].began
    took = sum(one.ended - one.began for one in tries[1:])
    return max(passed, took) >= 1000 * PATIENT_SECONDS * (len(tries) - 1)


def _failed(effort: Effort, failures: _Failures) -> Stuck:
    command = cut(clean(" ".join(str(effort.given.get("command", "")).split())), _WORDS)
    between = "edits" if failures.edited else "other steps"
    return Stuck(
        reason="bash_retry",
        what=f"`{command}` failed {len(failures.runs)} times with the same output, with {between}"
        " in between",
        count=len(failures.runs),
        command=command,
        error=_end(effort.result),
    )


def _end(text: str) -> str:
    text = clean(text).partition(_NOTES)[0].strip()
    return text if len(text) <= _WORDS else f"…{text[-_WORDS:]}"


# Steps that bring nothing


def _stale(steps: Sequence[Sequence[Effort]]) -> Stuck | None:
    streak = 0
    while streak < len(steps) and _brings_nothing(steps, streak):
        streak += 1
    if streak < STALE:
        return None
    if streak < PATIENT and _waits([step[-1] for step in steps[:streak]]):
        return None
    what = f"{streak} steps in a row brought nothing that was not known before"
    return Stuck(reason="action_streak", what=what, count=streak, error=_end(steps[0][-1].result))


def _brings_nothing(steps: Sequence[Sequence[Effort]], at: int) -> bool:
    """Whether each call of a step is an edit that was made or taken back before, or was made before
    with the same result.
    """
    return bool(steps[at]) and all(_is_known(effort, steps, at) for effort in steps[at])


def _is_known(effort: Effort, steps: Sequence[Sequence[Effort]], at: int) -> bool:
    earlier = (one for step in steps[at + 1 :] for one in step)
    if effort.edits:
        known = [edit for one in earlier for edit in one.edits]
        return all(any(e.repeats(k) or e.undoes(k) for k in known) for e in effort.edits)
    return any(effort.is_as(one) for one in earlier)

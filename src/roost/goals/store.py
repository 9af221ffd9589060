"""The SQL of goals and verdicts. Every change emits `session.goal` and shows in the session's
info.
"""

import sqlite3
from collections.abc import Collection
from functools import reduce
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.clock import now_ms
from roost.core.errors import UsageError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.goals.models import CONDITION_LIMIT, OPEN, Goal, Ruling, Verdict
from roost.sessions import store as sessions
from roost.sessions.parts import Tokens
from roost.sessions.unreadable import FAULTS

VERDICTS: Final = 1_000
"""Verdicts of one goal that are read, the newest."""
_REPLACED: Final = "another goal took its place"


def find(db: Reader, session_id: str) -> Goal | None:
    """The goal that a session was given last, in whatever state; None if it never had one."""
    row = db.one(
        "SELECT * FROM goal WHERE session_id = ? ORDER BY number DESC LIMIT 1", (session_id,)
    )
    return _goal_from(row) if row else None


def active(db: Reader, session_id: str) -> Goal | None:
    """The goal by which the turns of a session are judged, or None."""
    goal = find(db, session_id)
    return goal if goal is not None and goal.state == "active" else None


def verdicts(db: Reader, goal_id: str, limit: int = VERDICTS) -> list[Verdict]:
    """What was said of a goal, oldest first; at most the newest `limit`."""
    rows = db.all(
        "SELECT * FROM goal_verdict WHERE goal_id = ? ORDER BY number DESC LIMIT ?",
        (goal_id, limit),
    )
    return [_verdict_from(row) for row in reversed(rows)]


def check_condition(condition: str) -> str:
    """`condition` as it is stored. Raises `UsageError` for one that is blank or too long."""
    words = clean(condition).strip()
    if not words:
        raise UsageError("a goal needs a condition", hint="Say what is to be true at the end.")
    if len(words) > CONDITION_LIMIT:
        raise UsageError(
            f"a goal has at most {CONDITION_LIMIT:,} characters, this one {len(words):,}",
            hint="Put the details into the prompt or into a file, and name that.",
        )
    return words


def set_goal(tx: Transaction, session_id: str, condition: str) -> Goal:
    """Give a session a goal in place of the one it has. Raises `UsageError`."""
    words = check_condition(condition)
    before = find(tx, session_id)
    if before is not None and before.state in OPEN:
        _store(tx, msgspec.structs.replace(before, state="cleared", cause=None, reason=_REPLACED))
    now = now_ms()
    goal = Goal(new_id("goal"), session_id, words, "active", now, now)
    failpoint("goal.replaced")
    tx.run(
        "INSERT INTO goal (id, session_id, number, condition, state, created, updated)"
        " SELECT ?, ?, coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM goal WHERE session_id = ?",
        (goal.id, session_id, words, goal.state, now, now, session_id),
    )
    _tell(tx, goal)
    return goal


def clear(tx: Transaction, session_id: str) -> Goal | None:
    """Give up the goal of a session; it as it is then, or None if there is none to give up."""
    goal = find(tx, session_id)
    if goal is None or goal.state == "cleared":
        return None
    cleared = _store(tx, msgspec.structs.replace(goal, state="cleared", cause=None))
    _tell(tx, cleared)
    return cleared


def begin_anew(tx: Transaction, session_id: str) -> None:
    """A person has spoken: count re-entries from nothing, and go on with a goal that is paused."""
    goal = find(tx, session_id)
    if goal is None or goal.state not in OPEN:
        return
    if goal.state == "active" and not goal.reentries:
        return
    anew = msgspec.structs.replace(goal, state="active", cause=None, reentries=0)
    _tell(tx, _store(tx, anew))


def rule(tx: Transaction, session_id: str, ruling: Ruling, *, overtaken: bool) -> bool:
    """Store what was decided of a goal, with the verdict; whether it holds.

    It does not when the verdict was dropped, when the goal is no longer the active one, or when it
    was `overtaken` by what a person said: then the verdict is kept as one that was dropped.
    """
    goal = active(tx, session_id)
    verdict = ruling.verdict
    stale = goal is None or goal.id != ruling.goal_id or overtaken
    if stale and verdict is not None and verdict.result != "dropped":
        reason = f"out of date when it came: {verdict.result}: {verdict.reason}"
        verdict = msgspec.structs.replace(verdict, result="dropped", reason=reason)
    if verdict is not None:
        _insert(tx, verdict)
        failpoint("goal.verdict")
    if stale or goal is None or (verdict is not None and verdict.result == "dropped"):
        now = find(tx, session_id)
        if now is not None and verdict is not None:
            _tell(tx, now, verdict)
        return False
    sent_on = ruling.state == "active"
    changed = msgspec.structs.replace(
        goal,
        state=ruling.state,
        reason=ruling.reason,
        cause=ruling.cause,
        reentries=goal.reentries + sent_on,
        most=ruling.most,
    )
    _tell(tx, _store(tx, changed), verdict)
    failpoint("goal.ruled")
    return True


class Judged(Struct, frozen=True):
    """What the judges of sessions used."""

    tokens: Tokens
    cost: float
    """US dollars."""


def judged_since(db: Reader, session_ids: Collection[str], moment: int) -> Judged:
    """What verdicts since `moment` (milliseconds since the epoch) took."""
    places = ", ".join("?" for _ in session_ids)
    rows = db.all(
        "SELECT v.tokens, v.cost FROM goal_verdict v JOIN goal g ON g.id = v.goal_id"
        f" WHERE v.created >= ? AND g.session_id IN ({places})",
        (moment, *session_ids),
    )
    tokens = reduce(Tokens.plus, (_tokens_of(row) for row in rows), Tokens())
    return Judged(tokens, sum(row["cost"] for row in rows))


def _insert(tx: Transaction, verdict: Verdict) -> None:
    encoded = msgspec.json.encode(verdict.tokens).decode()
    tx.run(
        "INSERT INTO goal_verdict (id, goal_id, number, result, reason, model, turn_id,"
        " message_id, tokens, cost, seconds, created)"
        " SELECT ?, ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?"
        " FROM goal_verdict WHERE goal_id = ?",
        (
            *(verdict.id, verdict.goal_id, verdict.result, verdict.reason, verdict.model),
            *(verdict.turn_id, verdict.message_id, encoded, verdict.cost),
            *(verdict.seconds, verdict.created, verdict.goal_id),
        ),
    )


def _store(tx: Transaction, goal: Goal) -> Goal:
    goal = msgspec.structs.replace(goal, updated=now_ms())
    tx.run(
        "UPDATE goal SET state = ?, cause = ?, reason = ?, reentries = ?, most = ?, updated = ?"
        " WHERE id = ?",
        (
            *(goal.state, goal.cause, goal.reason, goal.reentries, goal.most),
            *(goal.updated, goal.id),
        ),
    )
    return goal


def _tell(tx: Transaction, goal: Goal, verdict: Verdict | None = None) -> None:
    about = {"sessionID": goal.session_id, "goal": goal, "verdict": verdict}
    tx.emit(Event("session.goal", about, session_id=goal.session_id))
    shown = None if goal.state == "cleared" else msgspec.to_builtins(goal)
    sessions.set_goal(tx, goal.session_id, shown)


def _goal_from(row: sqlite3.Row) -> Goal:
    return Goal(
        id=row["id"],
        session_id=row["session_id"],
        condition=row["condition"],
        state=row["state"],
        created=row["created"],
        updated=row["updated"],
        reentries=row["reentries"],
        most=row["most"],
        reason=row["reason"],
        cause=row["cause"],
    )


def _verdict_from(row: sqlite3.Row) -> Verdict:
    return Verdict(
        id=row["id"],
        goal_id=row["goal_id"],
        result=row["result"],
        reason=row["reason"],
        model=row["model"],
        turn_id=row["turn_id"],
        message_id=row["message_id"],
        created=row["created"],
        seconds=row["seconds"],
        tokens=_tokens_of(row),
        cost=row["cost"],
    )


def _tokens_of(row: sqlite3.Row) -> Tokens:
    """What a verdict used; nothing where that cannot be read any more."""
    try:
        return msgspec.json.decode(row["tokens"], type=Tokens)
    except FAULTS:
        return Tokens()

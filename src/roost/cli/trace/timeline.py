"""From the rows of a turn to its timeline: entries in the order in which they began. Pure."""

from collections.abc import Iterable, Mapping
from typing import assert_never

import msgspec
from msgspec import Struct

from roost.actors.traces import Decided, HookAsked, Proposed, Retried, Trace
from roost.cli.run.essence import Place
from roost.cli.trace.entries import (
    Called,
    Child,
    Damaged,
    Decision,
    End,
    Entry,
    Head,
    Heard,
    Hooked,
    Judged,
    Proposals,
    Question,
    Ran,
    Retry,
)
from roost.cli.trace.mail import heard, sent
from roost.cli.trace.reading import Rows
from roost.cli.trace.steps import NOTHING, Before, called, model_of, ran, spent_of
from roost.core.clock import moment_of
from roost.permissions.asked import Asked
from roost.sessions.models import AssistantInfo, UserInfo
from roost.sessions.unreadable import is_stand_in


class Timeline(Struct, frozen=True):
    """A turn as it stands."""

    head: Head
    entries: list[Entry]
    before: Before
    """What all its steps have used, for a later look at the same turn."""


def timeline(rows: Rows, *, alive: bool, now: int, before: Before = NOTHING) -> Timeline:
    """What `rows` tell. `alive`: the process that runs the turn is there; `before`: what earlier
    looks have seen of the steps that are not among the rows.
    """
    place = Place(rows.session.directory)
    own = {trace.fact.budget for trace in rows.traces if isinstance(trace.fact, Decided)}
    found: list[Entry] = []
    for placed in rows.messages:
        message = placed.message
        if isinstance(message.info, UserInfo):
            found += heard(rows, message, own)
        else:
            before = before.plus(message)
            moment = now if alive else None
            found += [
                called(message, before.steps, moment),
                *ran(message, before.steps, place, now),
            ]
    found += _of_traces(rows.traces)
    found += [_judged(rows, at) for at in range(len(rows.judged))]
    found += [_question(one) for one in rows.asked]
    found += [one for mail in rows.said if (one := sent(rows, mail)) is not None]
    found += [_child(rows, at) for at in range(len(rows.children))]
    if rows.turn.outcome is not None or not rows.stored:
        found.append(_end(rows, before))
    places = {placed.message.info.id: at for at, placed in enumerate(rows.messages)}
    ordered = sorted(_timed(found), key=lambda entry: (entry.at, _rank(entry, places)))
    return Timeline(_head(rows, before, alive=alive, now=now), ordered, before)


def _rank(entry: Entry, places: Mapping[str, int]) -> tuple[int, int]:
    """What comes first of what began in the same moment: a step, its retries, its tools, what was
    decided of it, then the next message.
    """
    match entry:
        case Heard() | Called():
            return places.get(entry.message_id, -1), 0
        case Retry():
            return places.get(entry.message_id, -1), 1
        case Ran():
            return places.get(entry.message_id, -1), 2
        case Decision():
            return places.get(entry.message_id, -1), 3
        case End():
            return len(places), 1
        case _:
            return len(places), 0


def _timed(entries: list[Entry]) -> Iterable[Entry]:
    """The entries with a moment for those of which the row has lost it: that of the one before."""
    last = next((entry.at for entry in entries if entry.at), 0)
    for entry in entries:
        last = entry.at or last
        yield entry if entry.at else msgspec.structs.replace(entry, at=last)


def _head(rows: Rows, before: Before, *, alive: bool, now: int) -> Head:
    turn, actor = rows.turn, rows.actor
    models = dict.fromkeys(
        model_of(one.message.info)
        for one in rows.messages
        if isinstance(one.message.info, AssistantInfo) and not is_stand_in(one.message.info)
    )
    state = turn.outcome or (turn.phase if turn.phase != "ended" else "without an outcome")
    parent = actor.parent if actor is not None else None
    limits = turn.budgets.limits
    return Head(
        at=turn.started,
        session_id=turn.session_id,
        actor_id=turn.actor_id,
        turn_id=turn.id,
        number=turn.number,
        count=rows.count,
        title=rows.session.title,
        directory=rows.session.directory,
        agent=_agent(rows),
        models=tuple(models),
        reason=turn.reason if rows.stored else "",
        parent=f"{parent.session_id}/{parent.actor_id}" if parent is not None else "",
        description=actor.description if actor is not None else "",
        state=state if turn.outcome or alive or rows.is_over else "lost",
        seconds=((turn.ended or now) - turn.started) / 1000,
        steps=max(turn.steps, before.steps),
        tokens=before.tokens,
        cost=max(turn.cost, before.cost),
        budgets={
            name: (used, limits.get(name)) for name, used in turn.budgets.used.items() if used
        },
        damage=rows.damage or rows.session.damage,
    )


def _agent(rows: Rows) -> str:
    """As which agent the actor ran: the one of its newest step, else the one of its row."""
    infos = [one.message.info for one in rows.messages]
    ran = [one.agent for one in infos if isinstance(one, AssistantInfo) and one.agent]
    return ran[-1] if ran else rows.actor.agent if rows.actor is not None else ""


def _of_traces(traces: list[Trace]) -> list[Entry]:
    return [_of_trace(trace) for trace in traces]


def _of_trace(trace: Trace) -> Entry:
    at, fact = trace.at, trace.fact
    match fact:
        case None:
            return Damaged(at=at, text="a decision or a retry that cannot be read")
        case Decided():
            return Decision(
                at=at,
                message_id=fact.message_id,
                policy=fact.policy,
                action=fact.action,
                budget=fact.budget,
                used=fact.used,
                limit=fact.limit,
                text=fact.words,
                outcome=fact.outcome or "",
                hidden=fact.hidden,
                seconds=max(0, fact.until - at) / 1000 if fact.until is not None else None,
            )
        case Retried():
            return Retry(
                at=at,
                message_id=fact.message_id,
                attempt=fact.attempt,
                tries=fact.tries,
                kind=fact.kind,
                text=fact.words,
                wait=fact.wait,
            )
        case HookAsked(on=on, name=name, seconds=seconds):
            return Hooked(
                at=at - round(seconds * 1000),
                on=on,
                name=name,
                seconds=seconds,
                answer=fact.answer,
                text=fact.words,
                failed=fact.failed,
            )
        case Proposed():
            return Proposals(
                at=at - round(fact.seconds * 1000),
                message_id=fact.message_id,
                candidates=fact.candidates,
                taken=fact.taken,
                by=fact.by,
                model=fact.model,
                text=fact.words,
                seconds=fact.seconds,
                tokens=fact.tokens,
                cost=fact.cost,
            )
        case _:
            assert_never(fact)


def _judged(rows: Rows, at: int) -> Entry:
    one = rows.judged[at]
    return Judged(
        at=one.created - round(one.seconds * 1000),
        result=one.result,
        text=one.reason,
        model=one.model,
        seconds=one.seconds,
        tokens=spent_of(one.tokens),
        cost=one.cost,
    )


def _question(asked: Asked) -> Entry:
    ask = asked.ask
    request, answer = ask.request, ask.answer or {}
    if ask.kind == "permission":
        about = " ".join([str(request.get("permission", "")), *request.get("patterns", ())])
    else:
        about = "; ".join(str(one.get("question", "")) for one in request.get("questions", ()))
    state = "rejected" if answer.get("rejected") else str(answer.get("reply") or ask.state)
    answers = [" + ".join(one) for one in answer.get("answers", ())]
    created = moment_of(ask.created)
    waited = None if asked.answered is None else (asked.answered - created) / 1000
    return Question(
        at=created,
        kind=ask.kind,
        about=about or asked.damage,
        state=state,
        seconds=waited,
        text=str(answer.get("message") or "; ".join(answers)),
    )


def _child(rows: Rows, at: int) -> Entry:
    child = rows.children[at]
    turn = child.turn
    return Child(
        at=turn.started,
        session_id=turn.session_id,
        actor_id=turn.actor_id,
        turn_id=turn.id,
        number=turn.number,
        agent=child.agent,
        description=child.description,
        state=turn.outcome or turn.phase,
        seconds=None if turn.ended is None else (turn.ended - turn.started) / 1000,
        steps=turn.steps,
        tokens=turn.tokens,
        cost=turn.cost,
    )


def _end(rows: Rows, before: Before) -> Entry:
    turn = rows.turn
    infos = [one.message.info for one in rows.messages]
    last = next((one for one in reversed(infos) if isinstance(one, AssistantInfo)), None)
    ended = turn.ended or max([turn.started, *(one.time.created for one in infos)])
    return End(
        at=ended,
        outcome=turn.outcome or "without an answer",
        seconds=(ended - turn.started) / 1000,
        error=turn.error.message if turn.error is not None else "",
        degraded=last.degraded if last is not None else "",
        status=turn.reported_status or "",
        summary=turn.summary or "",
        steps=max(turn.steps, before.steps),
        tokens=before.tokens,
        cost=max(turn.cost, before.cost),
    )

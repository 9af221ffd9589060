"""What is kept of verdicts, so that people can read later why a turn went as it did. Pure.

Most verdicts follow from the step by themselves: tools ran, so the model is called; it answered, so
the turn ends. Of those nothing is kept.
"""

from typing import Final, assert_never

import msgspec

from roost.actors.traces import Decided
from roost.goals.models import Ruling
from roost.turn.models import Action, Facts, Inject, Sample, Shorten, Stop, Wait
from roost.turn.policies import capacity, goal
from roost.turn.policy import Policy
from roost.turn.verdict import POLICIES

_CAUSES: Final = {
    "size": "the conversation fills the model's window (attempt {})",
    "asked": "a person asked for it",
    "provider": "the provider refused the request as too long (attempt {})",
}


def decided(facts: Facts, action: Action) -> Decided | None:
    """What is to be kept of `action`, the verdict on `facts`; None: nothing."""
    if _is_usual(action):
        return None
    policy = _who_decided(facts, action)
    kept = _of_action(action)
    name = policy.name if policy is not None else ""
    message_id = facts.step.info.id if facts.step is not None else ""
    kept = msgspec.structs.replace(kept, policy=name, message_id=message_id)
    return _with_budget(kept, facts, policy) if kept.budget else kept


def _who_decided(facts: Facts, action: Action) -> Policy | None:
    if isinstance(action, Shorten):
        return capacity.POLICY
    return next((one for one in POLICIES if one.judge(facts) is not None), None)


def _is_usual(action: Action) -> bool:
    match action:
        case Sample():
            return action.spend is None and not action.closing
        case Stop():
            good = action.outcome == "success" and not action.degraded
            return good and action.ruling is None and action.error is None
        case Inject() | Wait() | Shorten():
            return False
        case _:
            assert_never(action)


def _of_action(action: Action) -> Decided:
    match action:
        case Sample(spend=spend, words=words):
            return Decided(policy="", action="sample", budget=spend or "", words=words)
        case Inject(policy=budget, words=words, hide=hide):
            return Decided(policy="", action="inject", budget=budget, words=words, hidden=len(hide))
        case Wait(until=until):
            return Decided(policy="", action="wait", until=until)
        case Shorten(cause=cause, attempt=attempt):
            return Decided(policy="", action="shorten", words=_CAUSES[cause].format(attempt))
        case Stop(outcome=outcome):
            return Decided(policy="", action="stop", outcome=outcome, words=_why(action))
        case _:
            assert_never(action)


def _why(stop: Stop) -> str:
    if stop.error is not None:
        return stop.error.message
    return stop.degraded or (_of_goal(stop.ruling) if stop.ruling is not None else "")


def _of_goal(ruling: Ruling) -> str:
    return f"the goal is {ruling.state}: {ruling.reason}" if ruling.reason else ruling.state


def _with_budget(kept: Decided, facts: Facts, policy: Policy | None) -> Decided:
    """How much of its budget a decision leaves."""
    allowances = policy.allowances if policy is not None else ()
    usual = next((one.limit for one in allowances if one.name == kept.budget), None)
    used = facts.budgets.used.get(kept.budget, 0)
    if kept.budget == goal.BUDGET and facts.review is not None and facts.review.goal is not None:
        used = facts.review.goal.reentries
    limit = facts.budgets.limits.get(kept.budget, usual)
    return msgspec.structs.replace(kept, used=used + 1, limit=limit)

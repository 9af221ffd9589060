"""Whether a failed model call is tried again, and when. Pure; who calls waits.

Every class of error has tries, a total time and a backoff that are written down here and may be
set in config. What cannot get better by waiting is given up at once; what needs another request
(overflow, media, reasoning) is given up here too, since recovery from it lies elsewhere.
"""

from typing import Final, assert_never

from msgspec import Struct

from roost.llm.models import ErrorKind, ModelError

JITTER: Final = 0.1
"""A wait varies by this share of itself in both directions."""


class Budget(Struct, frozen=True):
    """How often and how long one class of errors is tried again. All times in seconds."""

    base: float
    """The wait after the first failure; it doubles with each further one."""
    longest: float
    """The wait grows no further than this."""
    tries: int
    """Retries, not counting the first call."""
    total: float
    """No retry starts later than this after the first failure."""
    first: float | None = None
    """The wait after the first failure, where it differs from `base`."""


class RetryPolicy(Struct, frozen=True):
    """Budgets by class of error; a config may set each field."""

    rate_limit: Budget = Budget(base=2.0, longest=300.0, tries=30, total=3_600.0)
    server: Budget = Budget(base=2.0, longest=30.0, tries=30, total=1_800.0)
    network: Budget = Budget(base=5.0, longest=60.0, tries=60, total=3_600.0, first=0.5)
    unreached: Budget = Budget(base=1.0, longest=8.0, tries=5, total=25.0, first=0.5)
    """For an endpoint that has not answered once in this process: its address is wrong, or it does
    not run. 15 seconds in all where a connection is refused."""
    unreadable: Budget = Budget(base=1.0, longest=60.0, tries=8, total=900.0)
    """For answers that cannot be read."""
    longest_retry_after: float = 600.0
    """A provider that asks for more is not waited for: the user is told at once."""


class Retry(Struct, frozen=True):
    """Try again after `delay` seconds."""

    delay: float


class GiveUp(Struct, frozen=True):
    """Do not try again; `reason` is for people."""

    reason: str


Decision = Retry | GiveUp


def decide(
    error: ModelError, attempt: int, elapsed: float, policy: RetryPolicy, jitter: float
) -> Decision:
    """What to do after the `attempt`-th failure in a row (from 1).

    `elapsed` counts seconds since the first of these failures, `jitter` lies in [0, 1).
    """
    budget = budget_of(error, policy)
    if budget is None:
        return GiveUp(reason_for(error.kind))
    asked = error.retry_after or 0.0
    if asked > policy.longest_retry_after:
        return GiveUp(f"the provider asks to wait {spoken(asked)}")
    if attempt > budget.tries:
        return GiveUp(f"gave up after {attempt} tries")
    delay = max(asked, backoff(budget, attempt) * (1 - JITTER + 2 * JITTER * jitter))
    if elapsed + delay > budget.total:
        return GiveUp(f"gave up after {spoken(elapsed)}")
    return Retry(delay)


def backoff(budget: Budget, attempt: int) -> float:
    """Seconds to wait after the `attempt`-th failure, before jitter."""
    if budget.first is not None:
        if attempt == 1:
            return budget.first
        attempt -= 1
    return min(budget.longest, budget.base * 2.0 ** min(attempt - 1, 60))


def budget_of(error: ModelError, policy: RetryPolicy) -> Budget | None:
    """The budget for errors like `error`; None for those that waiting does not mend."""
    if error.never_answered:
        return policy.unreached
    match error.kind:
        case "rate_limit":
            return policy.rate_limit
        case "server":
            return policy.server
        case "network":
            return policy.network
        case "invalid_stream":
            return policy.unreadable
        case (
            "auth" | "quota" | "bad_request" | "content_filter" | "overflow" | "media" | "reasoning"
        ):
            return None
        case _:
            assert_never(error.kind)


_REASONS: Final[dict[ErrorKind, str]] = {
    "auth": "the key was refused",
    "quota": "the account has nothing left to spend",
    "bad_request": "the provider refuses this request",
    "content_filter": "the provider's policy refuses this content",
    "overflow": "the conversation is longer than the model's context window",
    "media": "the provider refuses an image or document",
    "reasoning": "the provider refuses earlier reasoning",
}


def reason_for(kind: ErrorKind) -> str:
    """Why an error of `kind` is not tried again as it is."""
    return _REASONS.get(kind, "the call failed")


def spoken(seconds: float) -> str:
    """`seconds` for people: `45 s`, `12 min`, `3.5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"

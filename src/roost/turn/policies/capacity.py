"""A conversation that no longer fits the model's window is shortened, and the turn goes on."""

from itertools import takewhile
from typing import Final

from roost.sessions.effective import mark_of
from roost.sessions.models import AssistantInfo, MessageError
from roost.turn.asked import is_asked, wants_answer
from roost.turn.models import Action, Facts, Overflow, Shorten, Stop
from roost.turn.policy import Policy

ATTEMPTS: Final = 2
"""Times in a row that a conversation is shortened without a step in between that fitted."""
TOO_LONG: Final = (
    "The conversation does not fit the model's window, though it was shortened {times}: {why}. Go"
    " on with a model that takes more, or begin a new session."
)
SWITCHED_OFF: Final = (
    "{why}. Conversations are not shortened here, since `compaction.auto` is off; go on with a"
    " model that takes more, or begin a new session."
)
_TIMES: Final = {1: "once", 2: "twice"}


def judge(facts: Facts) -> Action | None:
    """Shorten after the provider refused a request as too long; stop when that is of no use."""
    if facts.outcome is None:
        return _as_asked(facts)
    if not isinstance(facts.outcome, Overflow):
        return None
    why = facts.outcome.error.message.partition("\n")[0].rstrip(".")
    if not facts.window.auto:
        return _stop(SWITCHED_OFF.format(why=why), facts.outcome)
    attempt = _attempt(facts, 0)  # what the provider has accepted did fit, however it was counted
    if attempt > ATTEMPTS:
        times = _TIMES.get(attempt - 1, f"{attempt - 1} times")
        return _stop(TOO_LONG.format(times=times, why=why), facts.outcome)
    return Shorten("provider", attempt)


def _as_asked(facts: Facts) -> Action | None:
    """Shorten once; a turn that began for nothing else ends then.

    One that begins with other words behind the wish does not heed it: the turn for it was stopped.
    """
    newest = reversed(facts.messages)
    heard = list(takewhile(lambda one: not isinstance(one.info, AssistantInfo), newest))
    behind = list(takewhile(lambda one: not is_asked(one), heard))
    if len(behind) == len(heard) or (not facts.steps and any(map(wants_answer, behind))):
        return None
    if len(facts.messages) - facts.settled > len(heard):  # there are answers to shorten
        return Shorten("asked")
    return None if facts.steps or any(map(wants_answer, heard)) else Stop("success")


def before_a_call(facts: Facts) -> Action | None:
    """Shorten rather than call the model with a request that fills its window.

    When that was of no use the request is made all the same: the provider knows its size better.
    """
    window = facts.window
    if not window.auto or not 0 < window.usable <= facts.used:
        return None
    attempt = _attempt(facts, window.usable)
    return Shorten("size", attempt) if attempt <= ATTEMPTS else None


def _attempt(facts: Facts, usable: int) -> int:
    """Which one in a row it would be, without a step in between that fitted `usable` tokens (0: any
    number).
    """
    mark = mark_of(facts.messages[0]) if facts.settled else None
    fresh = facts.messages[facts.settled :]
    if mark is None or any(_fitted(one.info, usable) for one in fresh):
        return 1
    return mark.attempt + 1


def _fitted(info: object, usable: int) -> bool:
    """Whether a step was taken, and filled less of the window than what is to be shortened."""
    if not isinstance(info, AssistantInfo) or info.error is not None or info.hidden:
        return False
    return not 0 < usable <= (info.context or info.tokens.total)


def _stop(words: str, outcome: Overflow) -> Stop:
    data = {**outcome.error.data, "message": words}
    return Stop("failure", MessageError("ContextOverflowError", data))


POLICY: Final = Policy(
    name="capacity",
    looks_at="the model is to be called and the conversation fills its window; a request that the"
    " provider refused as too long; a person who asks for it",
    answers="put words in the place of its beginning, and go on",
    judge=judge,
    spent="make the call all the same; after a refusal stop with ContextOverflowError",
)
"""Its limit is `ATTEMPTS`, counted by the marks in the conversation itself."""

"""An answer in a format is given by a call; without it the model is asked again, a bounded number
of times, and then the turn has failed. What the model wrote stays.

The format of a prompt holds until the next prompt, also for what the actor hears meanwhile.
"""

from typing import Final

from roost.sessions.models import Message, MessageError
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart
from roost.tools.answer_format import RETRIES, is_structured, retries_of
from roost.tools.structured_output import NAME
from roost.turn.models import Action, Facts, Inject, Repeat, Sample, Stop
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "structured"
LIMIT: Final = RETRIES
WORDS: Final = (
    f"Your answer has to be given with the tool `{NAME}`; what you wrote as text does not count as "
    "one. Call it now. If you cannot do what was asked, say so in the fields that it has."
)


def judge(facts: Facts) -> Action | None:
    """Ask for the call after a step that gave no answer that fits."""
    step = facts.step
    if step is None or isinstance(facts.outcome, Repeat):
        return None
    if not wants_format(facts) or is_given(step):
        return None
    if _failed_calls(step):
        if facts.outcome is None:
            return None  # the call that this step led to is counted already
        return Sample(spend=BUDGET) if _left(facts) > 0 else _failure(facts, step)
    if facts.kind in {"continue", "filtered", "failed"}:
        return None
    if _left(facts) > 0:
        return Inject(BUDGET, WORDS, hide=(step.info.id,) if facts.kind == "text-tool-call" else ())
    return _failure(facts, step)


def accept(facts: Facts) -> Action | None:
    """Stop once the answer is given."""
    given = facts.step is not None and wants_format(facts) and is_given(facts.step)
    return Stop("success") if given else None


def wants_format(facts: Facts) -> bool:
    """Whether the answer has to fit a schema."""
    return facts.prompt is not None and is_structured(facts.prompt.format)


def is_given(step: Message) -> bool:
    """Whether the step gave an answer that fits."""
    return any(isinstance(part.state, ToolCompleted) for part in _calls(step))


def _calls(step: Message) -> list[ToolPart]:
    return [part for part in step.parts if isinstance(part, ToolPart) and part.tool == NAME]


def _failed_calls(step: Message) -> list[ToolFailed]:
    states = [part.state for part in _calls(step) if isinstance(part.state, ToolFailed)]
    return [one for one in states if not (one.metadata or {}).get("interrupted")]


def _left(facts: Facts) -> float:
    """Times that may still be asked; the number of the prompt comes before any other."""
    retries = retries_of(facts.prompt.format) if facts.prompt else None
    if retries is None:
        return facts.budgets.left(BUDGET, LIMIT)
    return retries - facts.budgets.used.get(BUDGET, 0)


def _failure(facts: Facts, step: Message) -> Stop:
    asked = int(facts.budgets.used.get(BUDGET, 0))
    again = f", also after it was asked {asked} more times" if asked else ""
    if wrong := _failed_calls(step):
        words = f"The model's answer does not fit the format{again}. {wrong[-1].error}"
    else:
        words = f"The model gave no answer in the format that was asked for{again}"
    return Stop(
        "failure", MessageError("StructuredOutputError", {"message": words, "retries": asked})
    )


ASK: Final = Policy(
    name="structured: ask",
    looks_at="an answer in a format is wanted, and the step gave none that fits",
    answers="ask for the call that gives it; after a call that did not fit, let the model see why",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT),),
    spent="stop with StructuredOutputError; `retryCount` of the prompt comes before any limit",
    words=(WORDS,),
)
ACCEPT: Final = Policy(
    name="structured: accept",
    looks_at="an answer in a format is wanted and given",
    answers="stop",
    judge=accept,
)

"""How a run ended, in the terms of a shell and of the `result` line. Pure."""

from typing import Any, Final, assert_never

import msgspec
from msgspec import Struct

from roost.actors.models import Outcome, Turn
from roost.actors.spending import Spent
from roost.cli.run.follow import Followed
from roost.cli.run.goal_lines import code_of, unmet_words, way_on
from roost.cli.run.stopping import EXIT_CODES, Cause
from roost.cli.run.stuck_lines import ways_on
from roost.core.errors import LimitError, RoostError
from roost.goals.models import Goal, Verdict
from roost.sessions.models import MAIN, AssistantInfo, Message, MessageError
from roost.sessions.parts import StepFinishPart, TextPart, Tokens


class Ended(Struct, frozen=True):
    """The end of a run."""

    code: int
    outcome: Outcome
    error: dict[str, Any] | None = None
    """`{name, data: {message}}`."""
    hint: str = ""


_TAKEN_OVER: Final = (
    "the process that ran the turn died or was silent for too long, and another one took over"
)
_WAYS_OUT: Final = {
    "LimitError": "Raise the limit, and go on with -c.",
    "HookError": "`roost config` shows the hooks of your configuration; plugins can bring more.",
}


def ended(followed: Followed, cause: Cause | None) -> Ended:
    """The end that `followed` tells; `cause` is why the run was asked to stop, if it was."""
    turn = followed.result.turn if followed.result else None
    if followed.cut and cause is not None:
        return _stopped(cause, left=False)
    if turn is not None and turn.outcome in {"success", "failure"} and cause != "broken pipe":
        return _of_turn(turn, followed.goal)
    if followed.failure is not None:
        return of_error(followed.failure)
    if cause is not None:
        return _stopped(cause, left=followed.left)
    if turn is None:
        return Ended(1, "cancelled", _error("the prompt was taken back before it was read"))
    if turn.outcome == "interrupted":  # and not by this process, which would know of a cause
        return Ended(1, "interrupted", _error(_TAKEN_OVER))
    error = turn.error or _unknown("the turn was stopped from elsewhere")
    return Ended(EXIT_CODES["interrupt"], turn.outcome or "interrupted", _shown(error))


def _of_turn(turn: Turn, goal: Goal | None) -> Ended:
    if turn.outcome == "success":
        if goal is None or (code := code_of(goal)) == 0:
            return Ended(0, "success")
        return Ended(code, "failure", _error(unmet_words(goal), "GoalError"), way_on(goal))
    error = turn.error or _unknown("the turn failed")
    code = LimitError.exit_code if error.name == "LimitError" else 1
    hint = _WAYS_OUT.get(error.name, "") or ways_on(error, turn.session_id)
    return Ended(code, "failure", _shown(error), hint)


def _stopped(cause: Cause, *, left: bool) -> Ended:
    error = _error(_words(cause), "MessageAbortedError")
    hint = "It goes on in the other process that runs this session." if left else ""
    return Ended(EXIT_CODES[cause], "cancelled", error, hint)


def _words(cause: Cause) -> str:
    match cause:
        case "interrupt":
            return "interrupted (Ctrl-C)"
        case "terminate":
            return "terminated (SIGTERM)"
        case "hangup":
            return "the terminal went away"
        case "time limit":
            return "the time limit is reached"
        case "broken pipe":
            return "nobody reads the output any more"
        case _:
            assert_never(cause)


def of_error(error: RoostError) -> Ended:
    """The end of a run that could not begin or go on."""
    name = type(error).__name__
    return Ended(error.exit_code, "failure", _error(error.message, name), error.hint)


def _unknown(message: str) -> MessageError:
    return MessageError("UnknownError", {"message": message})


def _shown(error: MessageError) -> dict[str, Any]:
    return msgspec.to_builtins(error)


def _error(message: str, name: str = "UnknownError") -> dict[str, Any]:
    return {"name": name, "data": {"message": message}}


def error_words(error: dict[str, Any]) -> str:
    """What an error says to people."""
    return str(error.get("data", {}).get("message") or error.get("name") or "unknown error")


def degraded(followed: Followed) -> str:
    """Why the answer is less than it should be; empty: it is a good one, or there is none."""
    info = followed.result.message.info if followed.result and followed.result.message else None
    return info.degraded if isinstance(info, AssistantInfo) else ""


def last_text(message: Message | None) -> str:
    """What the model said in its last message."""
    parts = message.parts if message else ()
    return "\n\n".join(p.text for p in parts if isinstance(p, TextPart) and p.text.strip())


class Usage(Struct, frozen=True):
    """What a run has used."""

    steps: int = 0
    tokens: Tokens = Tokens()
    cost: float = 0.0
    """US dollars."""

    def plus(self, part: StepFinishPart) -> "Usage":
        """With one more step."""
        return Usage(self.steps + 1, self.tokens.plus(part.tokens), self.cost + part.cost)

    def judged(self, verdict: Verdict) -> "Usage":
        """With a call of a judge, which is no step."""
        return Usage(self.steps, self.tokens.plus(verdict.tokens), self.cost + verdict.cost)


def result_fields(
    session_id: str | None, followed: Followed, end: Ended, usage: Usage, total: Spent | None
) -> dict[str, Any]:
    """What the last line of `--format json` says.

    `usage` and `cost` are those of the actor that was prompted, `total` those of it and of all
    below it together since the prompt; null where that could not be read any more.
    """
    result = followed.result
    return {
        "session": session_id,
        "actor": result.turn.actor_id if result else MAIN,
        "turn": result.turn.id if result else None,
        "outcome": end.outcome,
        "text": last_text(result.message if result else None),
        "structured": result.structured if result else None,
        "degraded": degraded(followed) or None,
        "usage": {"steps": usage.steps, "tokens": msgspec.to_builtins(usage.tokens)},
        "cost": usage.cost,
        "total": None if total is None else msgspec.to_builtins(total),
        "goal": None if followed.goal is None else msgspec.to_builtins(followed.goal),
        "error": end.error,
        "exit": end.code,
    }

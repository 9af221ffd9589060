"""Logs what turns do: when they begin and end, their steps, their retries, at last their tools.

Nothing that was said or read stands in these lines, only ids, names, numbers and kinds of errors.
"""

import logging

from roost.actors.models import Claim
from roost.core.clock import now_ms
from roost.runtime.turn_watch import RetrySeen, StepSeen, TurnSeen
from roost.sessions import timing
from roost.sessions.models import AssistantInfo
from roost.sessions.parts import ToolCompleted, ToolFailed, ToolPart

logger = logging.getLogger(__name__)


class TurnLog:
    """An `Observer` that logs."""

    def began(self, claim: Claim) -> None:
        """Log that a turn begins."""
        fields = {"agent": claim.actor.agent, "number": claim.turn.number}
        _info("turn begins", claim, reason=claim.turn.reason, **fields)

    def step(self, seen: StepSeen) -> None:
        """Log a step, and its tools in detail."""
        info = seen.message.info
        assert isinstance(info, AssistantInfo)
        began, cache = info.time.created, info.tokens.cache
        _info(
            "step ended",
            seen.claim,
            step=info.id,
            number=seen.number,
            model=f"{info.provider_id}/{info.model_id}",
            ms=(info.time.completed or began) - began,
            first_ms=_since(began, timing.first_content(seen.message)),
            model_ms=_since(began, timing.answered(seen.message)),
            sent=info.tokens.input + cache.read + cache.write,
            cached=cache.read,
            output=info.tokens.output + info.tokens.reasoning,
            cost=round(info.cost, 6),
            finish=info.finish,
            error=info.error.name if info.error is not None else None,
        )
        if logger.isEnabledFor(logging.DEBUG):
            for part in seen.message.parts:
                if isinstance(part, ToolPart):
                    _debug_tool(seen, part)

    def retry(self, seen: RetrySeen) -> None:
        """Log that a call is tried again."""
        status = seen.status
        wait = max(0, status.next - now_ms())
        _info(
            "model is called again",
            seen.claim,
            step=seen.message_id,
            attempt=status.attempt,
            wait_ms=wait,
        )

    def ended(self, seen: TurnSeen) -> None:
        """Log how a turn came out."""
        turn = seen.turn
        if turn is None or turn.outcome is None:
            _info("turn goes on elsewhere", seen.claim)
            return
        _info(
            "turn ended",
            seen.claim,
            outcome=turn.outcome,
            steps=turn.steps,
            tokens=turn.tokens,
            cost=round(turn.cost, 6),
            ms=(turn.ended or now_ms()) - turn.started,
            error=turn.error.name if turn.error is not None else None,
        )

    async def close(self) -> None:
        """Nothing: each line is written at once."""


def _since(began: int, moment: int | None) -> int | None:
    return None if moment is None else max(0, moment - began)


def _fields(claim: Claim, values: dict[str, object]) -> dict[str, dict[str, object]]:
    address = claim.address
    ids = {"session": address.session_id, "actor": address.actor_id, "turn": claim.turn.id}
    told = {name: value for name, value in values.items() if value is not None}
    return {"fields": {**ids, **told}}


def _info(words: str, claim: Claim, **values: object) -> None:
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", words, extra=_fields(claim, values))


def _debug_tool(seen: StepSeen, part: ToolPart) -> None:
    state = part.state
    if not isinstance(state, ToolCompleted | ToolFailed):
        return
    fields = _fields(
        seen.claim,
        {
            "step": seen.message.info.id,
            "tool": part.tool,
            "ms": state.time.end - state.time.start,
            "state": "error" if isinstance(state, ToolFailed) else "completed",
        },
    )
    logger.debug("tool ended", extra=fields)

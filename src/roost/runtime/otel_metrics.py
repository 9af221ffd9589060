"""What turns use, added up: tokens, money, steps, time."""

from collections.abc import Callable
from typing import Final

from opentelemetry.sdk.metrics import MeterProvider

from roost import __version__
from roost.runtime.turn_watch import StepSeen, TurnSeen
from roost.sessions import timing
from roost.sessions.models import AssistantInfo

_TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
"""Bounds of the buckets, mostly those that the conventions for generative AI advise."""


class Metrics:
    """Adds up what is seen."""

    def __init__(self, provider: MeterProvider, hide: Callable[[str], str]) -> None:
        self._hide = hide
        meter = provider.get_meter("roost", __version__)
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of calls of models",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Time that calls of models take",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._first = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            unit="s",
            description="Time until models begin to answer",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._cost = meter.create_counter(
            "roost.cost", unit="USD", description="Price of calls of models"
        )
        self._steps = meter.create_counter(
            "roost.steps", unit="{step}", description="Steps that were taken"
        )
        self._turns = meter.create_counter(
            "roost.turns", unit="{turn}", description="Turns that ended"
        )

    def step(self, seen: StepSeen) -> None:
        """Add a step."""
        info = seen.message.info
        assert isinstance(info, AssistantInfo)
        about: dict[str, str] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._hide(info.provider_id),
            "gen_ai.request.model": self._hide(info.model_id),
        }
        if info.error is not None:
            about["error.type"] = info.error.name
        began, tokens = info.time.created, info.tokens
        sent = tokens.input + tokens.cache.read + tokens.cache.write
        self._tokens.record(sent, {**about, "gen_ai.token.type": "input"})
        output = tokens.output + tokens.reasoning
        self._tokens.record(output, {**about, "gen_ai.token.type": "output"})
        if (answered := timing.answered(seen.message)) is not None:
            self._duration.record(max(0, answered - began) / 1000, about)
        if (first := timing.first_content(seen.message)) is not None:
            self._first.record(max(0, first - began) / 1000, about)
        self._cost.add(info.cost, about)
        self._steps.add(1, about)

    def turn(self, seen: TurnSeen) -> None:
        """Add a turn."""
        turn = seen.turn
        if turn is not None and turn.outcome is not None:
            agent = self._hide(seen.claim.actor.agent)
            about = {"gen_ai.agent.name": agent, "roost.turn.outcome": turn.outcome}
            self._turns.add(1, about)

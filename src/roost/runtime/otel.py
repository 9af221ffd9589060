"""Makes spans and metrics of what is seen of turns, by the SDK of OpenTelemetry, and sends them.

Imported by the thread of `telemetry` alone. Names are those of OpenTelemetry's conventions for
generative AI; what has none there is called `roost.*`. A turn, its steps and its tools get ids that
follow from Roost's own, so that every process gives the same one the same id.
"""

import logging
import os
import re
from collections.abc import Callable
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from roost import __version__
from roost.core.text import cut
from roost.runtime.otel_metrics import Metrics
from roost.runtime.otel_spans import Spans, TurnIds
from roost.runtime.telemetry import StepTold, Target
from roost.runtime.turn_watch import TurnSeen

SERVICE: Final = "roost"
_WORDS: Final = 200
"""Characters of what the SDK says of a failure."""
_SYSTEM: Final = re.compile(r"\[Errno -?\d+\] ([\w ]+)")
_NAMED: Final = re.compile(r"Pool\(host='([^']+)', port=(\d+)\)")
_ANSWER: Final = re.compile(r"code: (\d+), reason: ([^\n]{1,100})")
Doubt = Callable[[str], None]
Fail = Callable[[], None]


class _Listener(logging.Handler):
    """Hears what the SDK logs, which goes nowhere else, since it says the same again and again:
    warnings of tries that did not succeed, errors of what is given up.
    """

    def __init__(self, receiver: str, doubt: Doubt, fail: Fail) -> None:
        super().__init__(logging.WARNING)
        self._receiver = receiver
        self._doubt = doubt
        self._fail = fail

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        named = _NAMED.search(said)
        if named and f"{named[1]}:{named[2]}" != self._receiver and ":" in self._receiver:
            return  # of another exporter in this process, which is still about to end
        self._doubt(_plain(said))
        if record.levelno >= logging.ERROR:
            self._fail()


def _plain(words: str) -> str:
    """What the SDK logs, without the names of its classes where they hide what happened."""
    if found := _SYSTEM.search(words):
        return found[1]
    if found := _ANSWER.search(words):
        return f"it answers {found[1]} {found[2]}"
    return cut(" ".join(words.split()), _WORDS)


class Exporter:
    """Sends what it is given until it is closed."""

    def __init__(
        self, target: Target, hide: Callable[[str], str], *, doubt: Doubt, fail: Fail
    ) -> None:
        self._heard = logging.getLogger("opentelemetry")
        self._listener = _Listener(target.name, doubt, fail)
        self._heard.addHandler(self._listener)
        self._heard.propagate = False
        resource = _resource()
        self._traces: TracerProvider | None = None
        self._meters: MeterProvider | None = None
        self._spans: Spans | None = None
        self._metrics: Metrics | None = None
        if "traces" in target.signals:
            ids = TurnIds()
            self._traces = TracerProvider(
                resource=resource, id_generator=ids, shutdown_on_exit=False
            )
            spans = OTLPSpanExporter(_address(target, "traces"), headers=dict(target.headers))
            self._traces.add_span_processor(BatchSpanProcessor(spans))
            self._spans = Spans(self._traces, ids, hide)
        if "metrics" in target.signals:
            numbers = OTLPMetricExporter(_address(target, "metrics"), headers=dict(target.headers))
            self._meters = MeterProvider(
                [PeriodicExportingMetricReader(numbers)], resource, shutdown_on_exit=False
            )
            self._metrics = Metrics(self._meters, hide)

    def count(self, seen: StepTold | TurnSeen) -> None:
        """Make spans of it and add it up; both are sent later, in the background."""
        if isinstance(seen, StepTold):
            if self._spans is not None:
                self._spans.step(seen.seen, seen.retries)
            if self._metrics is not None:
                self._metrics.step(seen.seen)
            return
        if self._spans is not None:
            self._spans.turn(seen)
        if self._metrics is not None:
            self._metrics.turn(seen)

    def close(self) -> None:
        """Send what is left, for as long as that takes."""
        if self._traces is not None:
            self._traces.shutdown()
        if self._meters is not None:
            self._meters.shutdown()
        self._heard.removeHandler(self._listener)


def _address(target: Target, signal: str) -> str | None:
    return None if target.endpoint is None else f"{target.endpoint.rstrip('/')}/v1/{signal}"


def _resource() -> Resource:
    """Who sends. The variables may call it otherwise; nothing tells of the machine or the user."""
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    own = {} if named else {"service.name": SERVICE}
    return Resource.create({**own, "service.version": __version__})

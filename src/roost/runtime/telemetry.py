"""Numbers about turns for a receiver of OpenTelemetry: off unless asked for, and never in the way.

What is seen goes into a bounded queue; a thread of its own imports the SDK when the first step has
ended, makes spans and metrics, and sends them. A receiver that fails is told of once.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from roost.actors.models import Claim
from roost.config.models import OtlpConfig, TelemetryConfig
from roost.runtime.turn_watch import RetrySeen, StepSeen, TurnSeen

logger = logging.getLogger(__name__)
WAITING: Final = 10_000
"""Things seen that wait to be made spans of; more are not counted."""
LAST_SECONDS: Final = 2.0
"""How long the end of the process may wait until all is sent."""
DOUBTED_SECONDS: Final = 0.3
"""The same where a try to send has failed."""
POLL_SECONDS: Final = 0.02
SIGNALS: Final = ("traces", "metrics")
_NEEDED: Final = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
_INSTALL: Final = "pip install 'roost[otel]'"
Tell = Callable[[str], None]


class Target(Struct, frozen=True):
    """Where what is sent."""

    endpoint: str | None
    """Its address without a path of a signal; None: as the variables of OpenTelemetry say."""
    headers: Mapping[str, str]
    signals: frozenset[str]
    """Which of `SIGNALS`."""
    by_config: bool
    """Roost's configuration asks for it, and not only variables that may mean other programs."""
    name: str
    """Where that is, for people: no path, no user, no password."""


def target_of(config: TelemetryConfig, environ: Mapping[str, str]) -> Target | None:
    """Where telemetry is to be sent; None: nowhere."""
    otlp = config.otlp
    if otlp is False or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    given = otlp if isinstance(otlp, OtlpConfig) else OtlpConfig()
    wanted = frozenset(
        signal
        for signal in SIGNALS
        if _exports(signal, environ) and (otlp is not None or _address(signal, environ))
    )
    if not wanted:
        return None
    shown = given.endpoint or next((_address(one, environ) for one in sorted(wanted)), "")
    return Target(given.endpoint, given.headers, wanted, otlp is not None, _host(shown))


def _exports(signal: str, environ: Mapping[str, str]) -> bool:
    """Whether variables leave it to OTLP to export a signal, as they do unless they say else."""
    said = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower()
    return not said or "otlp" in {one.strip() for one in said.split(",")}


def _address(signal: str, environ: Mapping[str, str]) -> str:
    """The address in variables, for one signal or for all."""
    own = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "").strip()
    return own or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()


def _host(address: str) -> str:
    try:
        parts = urlsplit(address or "http://localhost:4318")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "its address"
    return f"{parts.hostname or 'localhost'}{port}"


def speaks_grpc(environ: Mapping[str, str]) -> bool:
    """Whether variables ask for OTLP over gRPC, which Roost does not speak."""
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    said = next((environ[name] for name in names if environ.get(name)), "")
    return said.strip().lower() == "grpc"


def missing() -> bool:
    """Whether the extra is not installed."""
    import importlib.util  # seldom asked

    with suppress(ImportError, AttributeError, ValueError):  # where half of it is there
        return any(importlib.util.find_spec(name) is None for name in _NEEDED)
    return True


def telemetry_of(
    config: TelemetryConfig,
    environ: Mapping[str, str],
    *,
    hide: Callable[[str], str],
    tell: Tell,
) -> "Telemetry | None":
    """What sends telemetry if that is wanted and can be done; why it cannot is told to `tell`.

    `hide` takes known secrets out of every text that is sent. `tell` is called at most once, from
    any thread.
    """
    target = target_of(config, environ)
    if target is None:
        return None
    if target.endpoint is not None and not target.endpoint.startswith(("http://", "https://")):
        tell("no telemetry is sent: `telemetry.otlp.endpoint` is no address that begins with http")
        return None
    if missing():
        if target.by_config:
            tell(f"no telemetry is sent: `telemetry.otlp` needs an extra: {_INSTALL}")
        return None
    if target.endpoint is None and speaks_grpc(environ):
        tell(
            "no telemetry is sent: OTEL_EXPORTER_OTLP_PROTOCOL asks for gRPC, and Roost speaks"
            " http/protobuf; name a receiver of that in `telemetry.otlp.endpoint`"
        )
        return None
    return Telemetry(target, hide=hide, tell=tell)


class StepTold(Struct, frozen=True):
    """A step, and how often its call was tried again."""

    seen: StepSeen
    retries: tuple[RetrySeen, ...]


class Telemetry:
    """An `Observer` that hands what it sees to a thread."""

    def __init__(self, target: Target, *, hide: Callable[[str], str], tell: Tell) -> None:
        self._target = target
        self._hide = hide
        self._tell = tell
        self._queue: queue.Queue[StepTold | TurnSeen | None] = queue.Queue(WAITING)
        self._retries: dict[str, list[RetrySeen]] = {}
        """Of the steps that are at work, by the turn."""
        self._thread: threading.Thread | None = None
        self._sent = threading.Event()
        self._telling = threading.Lock()
        self._told = False
        self._doubt = ""
        """Why the first try to send did not succeed; empty: none has failed."""

    def began(self, claim: Claim) -> None:
        """Nothing: a turn is told when it ends."""

    def retry(self, seen: RetrySeen) -> None:
        """Keep it until its step is told."""
        self._retries.setdefault(seen.claim.turn.id, []).append(seen)

    def step(self, seen: StepSeen) -> None:
        """A step is to be sent."""
        retries = self._retries.pop(seen.claim.turn.id, ())
        self._put(StepTold(seen, tuple(retries)))

    def ended(self, seen: TurnSeen) -> None:
        """A turn is to be sent."""
        self._retries.pop(seen.claim.turn.id, None)
        self._put(seen)

    def _put(self, seen: StepTold | TurnSeen) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="telemetry", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait(seen)
        except queue.Full:
            self._trouble("more happens than can be sent")

    def _work(self) -> None:
        """The thread. Whatever goes wrong in it ends nothing else."""
        try:
            # Imported here: it takes longer than the whole start of Roost.
            from roost.runtime.otel import Exporter

            exporter = Exporter(self._target, self._hide, doubt=self._wonder, fail=self._fail)
            while (seen := self._queue.get()) is not None:
                exporter.count(seen)
            exporter.close()
        except Exception as error:
            logger.exception("telemetry failed")
            self._trouble(type(error).__name__)
        finally:
            self._sent.set()

    def _wonder(self, why: str) -> None:
        """A try to send did not succeed; the first says most of why, the last only that."""
        self._doubt = self._doubt or why

    def _fail(self) -> None:
        """Something will not be sent."""
        self._trouble(self._doubt or "it is not accepted")

    def _trouble(self, why: str) -> None:
        """Tell once that something is not sent."""
        with self._telling:
            first, self._told = not self._told, True
        if first:
            words = f"telemetry cannot be sent to {self._target.name}: {self._hide(why)}"
            logger.warning("%s", words)
            self._tell(words)

    async def close(self) -> None:
        """Send what is left; a receiver that is slow or gone is not waited for for long."""
        if self._thread is None:
            return
        with suppress(queue.Full):
            self._queue.put_nowait(None)
        began = time.monotonic()
        while not self._sent.is_set():
            await asyncio.sleep(POLL_SECONDS)
            waited = time.monotonic() - began
            if waited > (DOUBTED_SECONDS if self._doubt or self._told else LAST_SECONDS):
                self._trouble(self._doubt or "it takes too long")
                return

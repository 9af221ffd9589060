"""Takes one step: calls the model, tries again where that is safe, runs the tools it asked for."""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors.models import RetryState
from roost.actors.store import set_retry
from roost.actors.traces import Retried, keep
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.core.log_fields import now_about
from roost.db.transaction import Transaction
from roost.llm.models import (
    FinishReason,
    Model,
    ModelError,
    ModelRequest,
    Usage,
)
from roost.llm.retry import GiveUp, budget_of, decide
from roost.sessions.models import Message, MessageError
from roost.sessions.parts import CacheTokens, StepFinishPart, Tokens
from roost.turn.memory import Memory
from roost.turn.models import Blocked, Completed, Failed, Overflow, Repeat, StepOutcome
from roost.turn.prepare import Plan, suitable
from roost.turn.recorder import Recorder
from roost.turn.reducer import StreamState, reduce
from roost.turn.toolcalls import CallsResult, run_calls
from roost.turn.watching import StreamWatch
from roost.turn.world import World

Store = Callable[[Transaction], None]
_jitter: Final = random.SystemRandom()


class Step(Struct, frozen=True):
    """A step that was taken, and what must still be stored of it."""

    outcome: StepOutcome
    store: Store
    cost: float
    """US dollars, failed attempts included; not what its message had cost when it began."""
    tokens: int
    invalid_calls: int
    """Calls that could not be read."""
    wait_until: int | None = None
    """It asked to wait for mail until then (milliseconds since the epoch)."""


class _LoopedError(Exception):
    """The stream repeats `unit` to no end."""

    def __init__(self, unit: str) -> None:
        super().__init__(unit)
        self.unit = unit


class _Attempts:
    """What all attempts of one step have used."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.began = time.monotonic()
        self.count = 0
        self.state = StreamState()
        self.tokens = Tokens()
        self.cost = 0.0

    def begin(self) -> None:
        self.count += 1
        self.state = StreamState()

    def charge(self) -> None:
        """Add the usage of the attempt that just ended, whether it succeeded or not."""
        usage = self.state.usage
        self.tokens = self.tokens.plus(tokens_of(usage))
        self.cost += price(self.model, usage)
        self.state = msgspec.structs.replace(self.state, usage=Usage())


def price(model: Model, usage: Usage) -> float:
    """US dollars for `usage`."""
    rates = model.price
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    total = (
        usage.input * rates.input
        + (usage.output + usage.reasoning) * rates.output
        + usage.cache_read * read
        + usage.cache_write * write
    )
    return total / 1_000_000


def tokens_of(usage: Usage) -> Tokens:
    """What a provider counted, as it is stored."""
    cache = CacheTokens(usage.cache_read, usage.cache_write)
    return Tokens(usage.input, usage.output, usage.reasoning, cache)


async def sample(world: World, memory: Memory, plan: Plan) -> Step:
    """Take the step that `plan` describes. Cancellation closes the request and stops its tools."""
    recorder = Recorder(world.database, world.bus, memory.claim, plan.info)
    memory.recorder = recorder
    now_about(step=plan.info.id)
    memory.wait_until = None  # what an earlier step asked for is over, granted or not
    await recorder.begin(world.undo.last)
    attempts = _Attempts(plan.request.model)
    try:
        return await _taken(world, memory, plan, recorder, attempts)
    except ModelError as error:
        return _failed(recorder, attempts, error)
    except _LoopedError as loop:
        return _repeated(recorder, attempts, loop.unit)
    except asyncio.CancelledError:
        _charge_cut(memory, recorder, attempts)
        raise


async def _taken(
    world: World, memory: Memory, plan: Plan, recorder: Recorder, attempts: _Attempts
) -> Step:
    await _stream(world, memory, plan, recorder, attempts)
    recorder.close_open()
    finish = attempts.state.finish or "other"
    if finish == "length":
        recorder.doubt_last_call()
    calls = await run_calls(world, memory, plan, recorder)
    if plan.answer is not None and plan.answer.answer is not None:
        recorder.info = msgspec.structs.replace(recorder.info, structured=plan.answer.answer.value)
    step = _completed(recorder, attempts, finish, calls)
    return msgspec.structs.replace(step, wait_until=memory.wait_until)


async def _stream(
    world: World, memory: Memory, plan: Plan, recorder: Recorder, attempts: _Attempts
) -> None:
    """Stream one answer to its end, trying again as the retry rules allow.

    Nothing of an answer is run before its stream has ended, so trying again repeats no effect.
    """
    request = plan.request
    while True:
        attempts.begin()
        try:
            await _attempt(world, memory, request, recorder, attempts)
        except ModelError as error:
            if _mend(memory, error):
                await recorder.drop_attempt()
            else:
                await _wait(world, memory, recorder, attempts, error)
            messages = suitable(memory, request.messages)
            request = msgspec.structs.replace(request, messages=messages)
        else:
            return
        finally:
            attempts.charge()


async def _attempt(
    world: World, memory: Memory, request: ModelRequest, recorder: Recorder, attempts: _Attempts
) -> None:
    watch = StreamWatch()
    async with asyncio.TaskGroup() as group:
        saving = group.create_task(recorder.save_regularly())
        failure: ModelError | _LoopedError | None = None
        try:
            async with aclosing(world.models.stream(request, memory.encoded)) as stream:
                async for event in stream:
                    if (unit := watch.see(event)) is not None:
                        raise _LoopedError(unit)
                    attempts.state, writes = reduce(attempts.state, event)
                    if writes:
                        await recorder.write(writes)
        except (ModelError, _LoopedError) as error:
            failure = error  # raised below: a task group would wrap it
        saving.cancel()
    if failure is not None:
        raise failure


def _mend(memory: Memory, error: ModelError) -> bool:
    """Whether leaving a kind of content out is worth one more try; at most once a kind."""
    if error.kind == "media" and not memory.without_media:
        memory.without_media = True
        memory.continuity.declare("images are left out")
        return True
    if error.kind == "reasoning" and not memory.without_reasoning:
        memory.without_reasoning = True
        memory.continuity.declare("reasoning is left out")
        return True
    return False


async def _wait(
    world: World, memory: Memory, recorder: Recorder, attempts: _Attempts, error: ModelError
) -> None:
    """Drop the attempt and sleep until the next try is due, visibly.

    Raises `error` when there is to be none; what was said until then stays.
    """
    elapsed = time.monotonic() - attempts.began
    decision = decide(error, attempts.count, elapsed, world.retry, _jitter.random())
    budget = budget_of(error, world.retry)
    if isinstance(decision, GiveUp):
        # Where waiting can help the user must hear why it does not go on.
        raise error if budget is None else error.because(decision.reason)
    await recorder.drop_attempt()
    due = now_ms() + int(decision.delay * 1000)
    shown = RetryState(attempts.count, error.message, due, budget.tries if budget else None)
    kept = Retried(
        message_id=recorder.info.id,
        attempt=attempts.count,
        kind=error.kind,
        words=error.words,
        wait=decision.delay,
        tries=shown.tries,
    )

    def begin(tx: Transaction) -> None:
        set_retry(tx, memory.claim, shown)
        keep(tx, memory.claim.turn.id, (kept,))

    await world.database.write(begin)
    await asyncio.sleep(decision.delay)
    await world.database.write(lambda tx: set_retry(tx, memory.claim, None))


def _end(
    recorder: Recorder,
    attempts: _Attempts,
    finish: FinishReason,
    error: MessageError | None = None,
) -> tuple[Message, Store]:
    info = msgspec.structs.replace(
        recorder.info,
        time=msgspec.structs.replace(recorder.info.time, completed=now_ms()),
        finish=finish,
        cost=recorder.info.cost + attempts.cost,
        tokens=attempts.tokens,
        error=error,
    )
    part = StepFinishPart(
        *(new_id("part"), info.session_id, info.id),
        *(finish, info.cost, info.tokens, recorder.snapshot),
    )
    return recorder.finish(info, (part,))


def _completed(
    recorder: Recorder, attempts: _Attempts, finish: FinishReason, calls: CallsResult
) -> Step:
    message, store = _end(recorder, attempts, finish)
    outcome = Blocked(message) if calls.blocked else Completed(message)
    return Step(outcome, store, attempts.cost, attempts.tokens.total, calls.invalid)


def _charge_cut(memory: Memory, recorder: Recorder, attempts: _Attempts) -> None:
    """Count a step that was stopped in its middle: its calls of the model were made and cost."""
    memory.progress = memory.progress.plus(attempts.tokens.total, attempts.cost)
    info = recorder.info
    recorder.put_later(
        StepFinishPart(
            *(new_id("part"), info.session_id, info.id),
            *("other", info.cost + attempts.cost, attempts.tokens, recorder.snapshot),
        )
    )


def _failed(recorder: Recorder, attempts: _Attempts, error: ModelError) -> Step:
    shown = describe(error, attempts.model)
    recorder.calls.clear()
    if error.kind == "overflow":  # nothing was said, and what follows may well go on
        recorder.info = msgspec.structs.replace(recorder.info, hidden=True)
        message, store = _end(recorder, attempts, "other")
        return Step(Overflow(message, shown), store, attempts.cost, attempts.tokens.total, 0)
    message, store = _end(recorder, attempts, "error", shown)
    return Step(Failed(message, shown), store, attempts.cost, attempts.tokens.total, 0)


def _repeated(recorder: Recorder, attempts: _Attempts, unit: str) -> Step:
    message, store = _end(recorder, attempts, "other")
    shown = " ".join(_from_its_start(unit).split())[:80]
    finding = f"the same {len(unit)} characters over and over (“{shown}”)"
    return Step(Repeat(message, finding), store, attempts.cost, attempts.tokens.total, 0)


def _from_its_start(unit: str) -> str:
    """What repeats itself, turned so that it begins with a sentence, or with a word."""
    ends = (unit.find(mark) + len(mark) for mark in (". ", "。", "\n", " ") if mark in unit)
    start = next(ends, 0)
    return unit[start:] + unit[:start]


def describe(error: ModelError, model: Model) -> MessageError:
    """A failed call as the error of its message, in OpenCode's names."""
    if error.kind == "auth":
        data = {"providerID": model.provider, "message": error.words}
        return MessageError("ProviderAuthError", data)
    if error.kind == "overflow":
        words = f"The conversation does not fit {model.ref}: {error.message}"
        data = {"message": words, "responseBody": error.body}
        return MessageError("ContextOverflowError", data)
    if error.kind == "content_filter":
        return MessageError("ContentFilterError", {"message": error.words})
    data: dict[str, Any] = {
        "message": error.words,
        "isRetryable": error.kind in {"rate_limit", "server", "network"},
        "responseBody": error.body,
        "responseHeaders": error.headers,
    }
    if error.status is not None:
        data["statusCode"] = error.status
    return MessageError("APIError", data)

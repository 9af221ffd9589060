"""From the chunks of an answer to its events, with a bound on every silence."""

import time
from collections.abc import AsyncGenerator
from typing import Final

from roost.llm.models import Finish, Model, ModelError, StreamEvent
from roost.llm.providers.wire import Decoder, cut_off
from roost.llm.sse import MAX_EVENT_BYTES, EventParser, EventTooLargeError
from roost.llm.transport import Answer

TAIL_TIMEOUT: Final = 5.0
"""Seconds for what may follow once the model has said why it stopped: usage, the end mark."""
DRAIN_TIMEOUT: Final = 0.3
"""Seconds for the end of the bytes, so that the connection can be used again."""
PING_PATIENCE: Final = 2.0
"""A server that only sends signs of life is given up after this many idle timeouts."""


async def events_of(
    answer: Answer, decoder: Decoder, model: Model, first_byte: float
) -> AsyncGenerator[StreamEvent]:
    """The events of `answer`; the last is a `Finish`. Raises ModelError.

    `first_byte`: seconds that the first chunk may take.
    """
    if answer.media_type in {"application/json", "text/html"}:
        for event in await _in_one_piece(answer, decoder, model):
            yield event
        return
    parser = EventParser()
    wait, heard = first_byte, time.monotonic()
    while True:
        try:
            chunk = await answer.chunk(wait)
        except ModelError:
            if decoder.finished:  # a connection lost after that is just its end
                break
            raise
        if chunk is None:
            break
        events = _events(parser, decoder, chunk, model)
        for event in events:
            yield event
        now = time.monotonic()
        if events:
            heard = now
            if type(events[-1]) is Finish:
                await _drain(answer)
                return
        elif now - heard > PING_PATIENCE * model.idle_timeout:
            raise ModelError("network", f"{model.provider} sends nothing but signs of life")
        wait = TAIL_TIMEOUT if decoder.finished else model.idle_timeout
    for event in _last(parser, decoder, model):
        yield event


def _events(parser: EventParser, decoder: Decoder, chunk: bytes, model: Model) -> list[StreamEvent]:
    try:
        items = parser.feed(chunk)
    except EventTooLargeError:
        raise _unreadable(model, f"sent a piece of more than {MAX_EVENT_BYTES} bytes") from None
    if len(items) == 1:
        return _fed(decoder, items[0].data)
    return [event for item in items for event in _fed(decoder, item.data)]


def _fed(decoder: Decoder, data: bytes) -> list[StreamEvent]:
    """What `data` says. Once the model has said why it stopped, an error is just the end."""
    try:
        return decoder.feed(data)
    except ModelError:
        if not decoder.finished:
            raise
        events = decoder.end()
        if any(isinstance(event, Finish) and event.reason == "error" for event in events):
            raise
        return events


def _last(parser: EventParser, decoder: Decoder, model: Model) -> list[StreamEvent]:
    """What the end of the bytes brings; an event cut off there is no unreadable one."""
    try:
        events = [event for item in parser.close() for event in _fed(decoder, item.data)]
    except ModelError as error:
        raise (cut_off(model) if error.kind == "invalid_stream" else error) from error
    return events + decoder.end()


async def _drain(answer: Answer) -> None:
    try:
        while await answer.chunk(DRAIN_TIMEOUT) is not None:
            pass
    except ModelError:
        return  # The answer is complete; the connection is closed instead of kept.


async def _in_one_piece(answer: Answer, decoder: Decoder, model: Model) -> list[StreamEvent]:
    """The answer of a server that does not stream, or an error with status 200."""
    if answer.media_type == "text/html":
        raise ModelError(
            "bad_request",
            f"{model.provider} answered with a web page. Is {model.base_url} the base of its API?",
        )
    data = await answer.rest(MAX_EVENT_BYTES, model.first_byte_timeout)
    events = decoder.feed(data)
    if not decoder.finished:
        raise _unreadable(model, "answered with JSON that is no stream")
    return events + decoder.end()


def _unreadable(model: Model, what: str) -> ModelError:
    return ModelError("invalid_stream", f"{model.provider} {what}")

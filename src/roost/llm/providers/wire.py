"""What every dialect shares: the request as it goes out, the decoder of what comes back, safe JSON.

Raises ModelError of kind `invalid_stream` for data that no reading can make sense of.
"""

from typing import Any, Final, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from roost.core.text import REPLACEMENT, clean
from roost.llm.models import Model, ModelError, StreamEvent

EMPTY_OUTPUT: Final = "(no output)"
"""Stands for the empty output of a tool: no API takes an empty result."""

T = TypeVar("T")


class WireRequest(Struct, frozen=True):
    """A request ready to be sent with POST."""

    path: str
    """Appended to the model's base URL."""
    headers: dict[str, str]
    body: bytes


class Decoder(Protocol):
    """Turns the data of server-sent events into stream events; one per call of a model."""

    @property
    def finished(self) -> bool:
        """The model has said why it stopped; only bookkeeping may follow."""
        ...

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events of one server-sent event. Raises ModelError."""
        ...

    def end(self) -> list[StreamEvent]:
        """The events that the end of the bytes completes, once.

        Raises ModelError of kind `network` when the model had not finished.
        """
        ...


def closed_body(head: bytes, name: bytes, items: list[bytes]) -> bytes:
    """`head`, an object without its brace, with the array `name` of `items` as its last field.

    Joins once: the body of a long history is most of what a step costs. `items` is used up.
    """
    items[0] = head + b',"' + name + b'":[' + items[0]
    items[-1] += b"]}"
    return b",".join(items)


def cut_off(model: Model) -> ModelError:
    """The error of a stream that ended without its terminal event."""
    return ModelError("network", f"{model.provider} closed the answer of {model.id} before its end")


def text_json(text: str) -> bytes:
    """`text` as a JSON string that is valid UTF-8 without NUL, whatever `text` holds."""
    return msgspec.json.encode(clean(text))


def to_json(value: object) -> bytes:
    """`value` as JSON that is valid UTF-8, also where strings inside hold lone surrogates."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(value))


def cleaned(value: object) -> object:
    """`value`, foreign JSON, with every string inside made valid UTF-8."""
    match value:
        case str():
            return clean(value)
        case list():
            return [cleaned(item) for item in cast("list[object]", value)]
        case dict():
            items = cast("dict[str, object]", value).items()
            return {clean(key): cleaned(item) for key, item in items}
        case _:
            return value


def object_json(arguments: str) -> str:
    """The arguments of a call as text that holds exactly one JSON object.

    An object is kept byte for byte, unless it holds what no API takes. Other JSON is wrapped as
    `{"value": …}`, text that is no JSON as `{"raw": …}`; nothing at all is `{}`.
    """
    if not arguments.strip():
        return "{}"
    if "\\u0000" in arguments:
        return _repaired(arguments)
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _repaired(arguments)
    return arguments if isinstance(value, dict) else to_json({"value": value}).decode()


def _repaired(arguments: str) -> str:
    import json  # msgspec refuses what has to be mended here

    try:
        value = cleaned(json.loads(arguments, parse_constant=str, strict=False))
    except (ValueError, RecursionError):
        return to_json({"raw": clean(arguments)}).decode()
    if not isinstance(value, dict):
        value = {"value": value}
    return to_json(cast("object", value)).decode()


def is_object(arguments: str) -> bool:
    """Whether `arguments` is one complete JSON object: a call cut off in its arguments is none.

    One that is nested deeper than any tool could want counts as complete: reading it will fail.
    """
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    except RecursionError:
        return True


def read(decoder: msgspec.json.Decoder[T], data: bytes, model: Model) -> T:
    """`data` as the decoder's type; bytes that are no valid UTF-8 become U+FFFD, not an error."""
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError:
        return _read_loosely(decoder.type, data, model)


def _read_loosely(kind: Any, data: bytes, model: Model) -> Any:
    import json  # msgspec refuses what has to be mended here

    try:
        value = cleaned(json.loads(data.decode(errors="replace"), strict=False))
        return msgspec.convert(value, kind)
    except (ValueError, msgspec.MsgspecError) as error:
        shown = data[:200].decode(errors="replace").replace("\x00", REPLACEMENT)
        raise ModelError(
            "invalid_stream",
            f"{model.provider} sent a piece of an answer that cannot be read: {error}",
            body=shown,
        ) from error


def merged(base: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """`base` with `extra` laid over it, objects inside objects merged."""
    result = dict(base)
    for key, value in extra.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merged(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            result[key] = value
    return result

"""What a provider's refusal means: its status, its words and its headers as one `ModelError`.

Providers tell the same thing in many ways, so their words are data here: see PHRASES and CODES.
Keys are taken out of everything that is kept.
"""

import re
import time
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from roost.core.text import clean, cut
from roost.llm.error_words import CODES, NO_MEDIA_OVERFLOW, PHRASES, TOO_LARGE_FOR_ANY_WAIT
from roost.llm.models import ErrorKind, Model, ModelError
from roost.llm.retry_after import retry_after

BODY_LIMIT: Final = 2_000
_MESSAGE_LIMIT: Final = 600
_HIDDEN: Final = "[key]"
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|AIza|ghp|gho|hf|pplx|nvapi|csk|tgp)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|\bAIza[A-Za-z0-9_\-]{20,}|(?<=Bearer )[^\s\"']{6,}"
)
_VERSION: Final = re.compile(r"/v\d")
"""What the path of a base URL nearly always holds."""
_KEPT_HEADERS: Final = re.compile(
    r"(?:x-|cf-|anthropic-|openai-)?(?:request-id|ray|retry-after(?:-ms)?|should-retry"
    r"|ratelimit-[a-z0-9-]+|processing-ms|content-type)",
)


class Refusal(Struct, frozen=True):
    """What came instead of an answer."""

    model: Model
    body: str
    status: int | None = None
    """None when the refusal came inside a stream that had begun well."""
    headers: Mapping[str, str] = {}
    """Names in lower case."""
    with_media: bool = False
    """Whether the request held images or documents."""


def classify(refusal: Refusal, now: float) -> ModelError:
    """The error that `refusal` stands for. `now` (seconds since the epoch) is for dates in it."""
    details = _details(refusal.body)
    wait = retry_after(refusal.headers, refusal.body, now)
    kind = _kind(refusal, details, waits=wait is not None)
    return ModelError(
        kind,
        _message(refusal, details.message, kind),
        hint=_hint(refusal, kind),
        status=refusal.status,
        retry_after=wait,
        body=cut(redacted(refusal.body, refusal.model), BODY_LIMIT),
        headers={k: v for k, v in refusal.headers.items() if _KEPT_HEADERS.fullmatch(k)},
    )


def refused_in_stream(model: Model, data: bytes, error: Any) -> ModelError:
    """The error that a stream ended with: `data` is the whole event, `error` its error object."""
    status = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    known = status if isinstance(status, int) and 400 <= status <= 599 else None
    return classify(Refusal(model, data.decode(errors="replace"), known), time.time())


def redacted(text: str, model: Model) -> str:
    """`text` without the model's key and without anything that looks like a key."""
    if len(model.api_key) >= 6:
        text = text.replace(model.api_key, _HIDDEN)
    return _KEYS.sub(_HIDDEN, clean(text))


class _Details(Struct, frozen=True):
    message: str = ""
    codes: frozenset[str] = frozenset()
    """`type`, `code` and `status` of the error, in lower case."""


def _details(body: str) -> _Details:
    """Message and codes of an error body, whichever of the known shapes it has."""
    try:
        value: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        plain = "" if body.lstrip().startswith("<") else body.strip()
        return _Details(message=plain)
    while isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    if not isinstance(value, dict):
        return _Details(message=str(cast("object", value)))
    outer = cast("dict[str, Any]", value)
    inner: Any = outer.get("error") or outer.get("response") or outer
    if isinstance(inner, dict) and isinstance(cast("dict[str, Any]", inner).get("error"), dict):
        inner = cast("dict[str, Any]", inner)["error"]
    fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {"message": inner}
    return _Details(_words(fields, outer), _codes(fields) | _codes(outer))


def _words(*sources: dict[str, Any]) -> str:
    for source in sources:
        for key in ("message", "detail", "msg", "error_description", "error"):
            if value := source.get(key):
                return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ""


def _codes(fields: dict[str, Any]) -> frozenset[str]:
    nested = fields.get("details")
    found = [fields.get(key) for key in ("type", "code", "status", "error_code")]
    if isinstance(nested, dict):
        found.append(cast("dict[str, Any]", nested).get("error_code"))
    return frozenset(str(code).lower() for code in found if isinstance(code, str | int))


def _kind(refusal: Refusal, details: _Details, *, waits: bool) -> ErrorKind:
    status = refusal.status
    words = refusal.body.lower()
    if re.search(TOO_LARGE_FOR_ANY_WAIT, words):
        return "overflow"
    for code, kind in CODES.items():
        if code in details.codes and _plausible(kind, status):
            return kind
    for rule in PHRASES:
        if rule.applies(status, waits=waits) and re.search(rule.pattern, words):
            return rule.kind
    if status == 413:
        return "media" if refusal.with_media else NO_MEDIA_OVERFLOW
    return kind_of_status(status)


def _plausible(kind: ErrorKind, status: int | None) -> bool:
    """Codes such as `api_error` also stand on requests that no wait will mend."""
    if kind == "server":
        return kind_of_status(status) in {"server", "rate_limit"}
    return not (kind == "rate_limit" and status == 413)


def kind_of_status(status: int | None) -> ErrorKind:
    """What an HTTP status says by itself; None is an error inside a stream."""
    match status:
        case None | 408 | 409 | 425 | 498 | 529:
            return "server"
        case 401 | 403:
            return "auth"
        case 402:
            return "quota"
        case 429:
            return "rate_limit"
        case 501 | 505:
            return "bad_request"
        case _:
            return "server" if status >= 500 else "bad_request"


def _message(refusal: Refusal, words: str, kind: ErrorKind) -> str:
    model = refusal.model
    said = cut(redacted(words, model), _MESSAGE_LIMIT) or "no reason given"
    by = f"{model.provider} ({refusal.status})" if refusal.status else model.provider
    if kind == "auth":
        by = f"{by} refused {'access' if refusal.status == 403 else 'the key'}"
    return f"{by}: {said}"


def _about_key(model: Model) -> str:
    if model.key_place:
        return f"The key is that of {model.key_place}."
    named = f"the variable {model.env[0]}, or set " if model.env else ""
    return f"No key was sent: set {named}provider.{model.provider}.options.apiKey."


def _hint(refusal: Refusal, kind: ErrorKind) -> str:
    """What to do, one thing a line."""
    model = refusal.model
    if kind == "auth":
        return _about_key(model)
    if refusal.status != 404:
        return ""
    lines: list[str] = []
    if not _VERSION.search(urlsplit(model.base_url).path):
        place = f" ({model.base_url_place})" if model.base_url_place else ""
        lines.append(
            f"The baseURL {redacted(model.base_url, model)}{place} has no /v1 at its end,"
            " which most servers want."
        )
    listing = f"`roost models {model.provider} --refresh` lists what it has."
    return "\n".join([*lines, f"Is {model.id} a model of {model.provider}? {listing}"])

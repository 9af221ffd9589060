"""What is wrong with a request, and how each provider says so."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from scripted_model.picture import Dialect

Rule = Literal[
    "auth",  # no key, or a wrong one
    "json",  # bytes, repeated keys, surrogates, NaN, arguments that are no object
    "fields",  # unknown, missing or badly typed
    "pairing",  # calls and results
    "empty",  # blank text, messages without content
    "order",  # alternation, system first, who speaks last
    "ids",  # call ids
    "tools",  # names and schemas
    "reasoning",  # changed, foreign or missing thinking
    "media",  # images and documents
    "cache",  # breakpoints
    "size",  # larger than any provider reads
    "script",  # the scenario has no answer left
]


class Violation(Struct, frozen=True):
    """A rule that a request broke."""

    rule: Rule
    message: str
    """In the words of the provider."""
    param: str = ""
    """Where, as the dialect writes paths."""
    code: str = ""
    """OpenAI's `code`."""
    status: int = 400
    request: int = -1
    """Number of the request, from 0."""


_ANTHROPIC_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI_TYPES: Final = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_OPENAI_CODES: Final = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
_MESSAGES: Final = {
    400: "The request is not valid.",
    401: "The key is not valid.",
    402: "Your credit balance is too low.",
    403: "Your key may not use this resource.",
    404: "There is no such resource.",
    408: "The request took too long.",
    409: "The resource is being changed; try again.",
    413: "The request exceeds the maximum size.",
    422: "The request cannot be processed.",
    429: "You are sending requests too fast. Please slow down.",
    500: "The server had an error while processing your request.",
    502: "Bad gateway.",
    503: "The engine is currently overloaded, please try again later.",
    504: "The upstream server did not answer in time.",
    529: "Overloaded",
}


def anthropic_type(status: int) -> str:
    """Anthropic's word for the class of an HTTP status."""
    return _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def openai_type(status: int) -> str:
    """OpenAI's word for the class of an HTTP status."""
    return _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def error_body(
    dialect: Dialect,
    status: int,
    message: str = "",
    *,
    param: str = "",
    code: str = "",
    request_id: str = "",
) -> bytes:
    """The JSON body of an error answer, in the shape of the dialect."""
    said = message or _MESSAGES.get(status, "The request failed.")
    if dialect == "anthropic":
        kind = anthropic_type(status)
        error: Any = {"type": "error", "error": {"type": kind, "message": said}}
        return msgspec.json.encode({**error, "request_id": request_id or None})
    error = {
        "message": said,
        "type": openai_type(status),
        "param": param or None,
        "code": code or _OPENAI_CODES.get(status),
    }
    return msgspec.json.encode({"error": error})


def overflow_body(dialect: Dialect, tokens: int, context: int, request_id: str) -> bytes:
    """What a request larger than the context window is answered."""
    if dialect == "anthropic":
        message = f"prompt is too long: {tokens} tokens > {context} maximum"
    elif dialect == "chat":
        message = (
            f"This model's maximum context length is {context} tokens. However, your messages "
            f"resulted in {tokens} tokens. Please reduce the length of the messages."
        )
    else:
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again."
        )
    return error_body(
        dialect,
        400,
        message,
        param="input" if dialect == "responses" else "messages",
        code="context_length_exceeded",
        request_id=request_id,
    )

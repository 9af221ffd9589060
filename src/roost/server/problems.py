"""What a client is told when its request is not carried out: a status and OpenCode's error shape.

Every error becomes an answer here and nowhere else.
"""

from typing import Final

import msgspec
from msgspec import Struct

from roost.core.errors import (
    BusyError,
    ConfigError,
    ConflictError,
    DeniedError,
    LimitError,
    NotFoundError,
    RoostError,
    StaleFenceError,
    StorageError,
    TooLargeError,
    UsageError,
)
from roost.llm.models import ModelError


class ProblemData(Struct, frozen=True, omit_defaults=True):
    """What happened, and what to do."""

    message: str
    hint: str = ""


class Problem(Struct, frozen=True, omit_defaults=True):
    """The body of every answer that is no success.

    `name` and `data` are OpenCode's `NotFoundError`; a 400 also has the fields of its
    `BadRequestError`.
    """

    name: str
    data: ProblemData
    errors: list[ProblemData] | None = None
    success: bool | None = None


class RefusalError(RoostError):
    """A request that HTTP itself has a status for."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.headers = headers or {}


class TooManyError(LimitError):
    """A source asks too often; `retry_after` is the seconds until it may again."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message, hint=f"Try again in {retry_after} seconds. Nothing was stored.")
        self.retry_after = retry_after


REFUSALS: Final = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    408: "TimeoutError",
    409: "ConflictError",
    413: "BodyTooLargeError",
    415: "MediaTypeError",
    429: "LimitError",
    500: "UnknownError",
    501: "NotOfferedError",
    502: "TurnError",
    503: "UnavailableError",
}
"""The name of an answer that has no error class of its own."""

# In this order: a class stands before those it is derived from.
_STATUS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (NotFoundError, 404, "NotFoundError"),
    (ConfigError, 400, "ConfigError"),
    (TooLargeError, 413, "BodyTooLargeError"),
    (UsageError, 400, "BadRequestError"),
    (BusyError, 409, "BusyError"),
    (ConflictError, 409, "ConflictError"),
    (StaleFenceError, 409, "ConflictError"),
    (DeniedError, 403, "ForbiddenError"),
    (StorageError, 503, "StorageError"),
    (LimitError, 429, "LimitError"),
    (ModelError, 502, "ModelError"),
    (RoostError, 500, "UnknownError"),
)

EXPECTED: Final = (RoostError, ModelError)
"""Errors that are part of the contract; any other is a fault of Roost and goes to the log."""


class Answered(Struct, frozen=True):
    """A problem ready to be sent."""

    status: int
    body: bytes
    headers: dict[str, str] = {}


def answered(error: BaseException) -> Answered:
    """The answer for `error`. What is not `EXPECTED` is a 500 that tells no more than its kind."""
    if isinstance(error, RefusalError):
        return _problem(
            error.status, REFUSALS[error.status], error.message, error.hint, error.headers
        )
    if isinstance(error, TooManyError):
        headers = {"Retry-After": str(error.retry_after)}
        return _problem(429, "LimitError", error.message, error.hint, headers)
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            hint = error.hint if isinstance(error, RoostError) else ""
            return _problem(status, name, str(error), hint, {})
    return _problem(500, "UnknownError", f"Roost itself failed ({type(error).__name__})", "", {})


def _problem(status: int, name: str, message: str, hint: str, headers: dict[str, str]) -> Answered:
    data = ProblemData(message, hint)
    problem = Problem(name, data, [data], success=False) if status == 400 else Problem(name, data)
    return Answered(status, msgspec.json.encode(problem), headers)

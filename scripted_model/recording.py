"""What the server remembers of each request, and the log file of it."""

import time
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec
from msgspec import Struct

from scripted_model.picture import Dialect, Request
from scripted_model.player import Outcome
from scripted_model.violations import Violation

Ending = Outcome | Literal["playing", "rejected", "overflow", "unknown-model", "stopped", "crashed"]
_SECRET = frozenset({"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"})


class Record(Struct):
    """One request for an answer and what became of it."""

    number: int
    """From 0, in order of arrival."""
    dialect: Dialect
    at: float
    """Seconds since 1970 when it had arrived whole."""
    request: Request
    step: int = -1
    """Index of the scenario's step; -1 for the default, a script, or none."""
    conversation: int = -1
    """Number of the conversation; -1 for none."""
    outcome: Ending = "playing"
    status: int = 200
    ended: float | None = None
    violations: tuple[Violation, ...] = ()
    input_tokens: int = 0
    cached_tokens: int = 0
    sent: int = 0
    """Bytes of the response's body."""

    @property
    def closed_by_client(self) -> bool:
        """The client went away before the answer was over."""
        return self.outcome == "client-gone"

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.request.model


def hide_keys(headers: dict[str, str]) -> dict[str, str]:
    """`headers` without the values that are secret."""
    return {name: "***" if name in _SECRET else value for name, value in headers.items()}


class Log:
    """A file with one JSON object a line: `request` when it comes, `end` when it is over."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8")

    def begin(self, record: Record) -> None:
        """Write that a request came, with its body."""
        self._write(
            {
                "event": "request",
                "number": record.number,
                "at": record.at,
                "dialect": record.dialect,
                "model": record.model,
                "headers": record.request.headers,
                "body": _body(record.request.body),
            }
        )

    def end(self, record: Record) -> None:
        """Write what became of a request."""
        self._write(
            {
                "event": "end",
                "number": record.number,
                "at": record.ended or time.time(),
                "step": record.step,
                "conversation": record.conversation,
                "outcome": record.outcome,
                "status": record.status,
                "sent": record.sent,
                "input_tokens": record.input_tokens,
                "cached_tokens": record.cached_tokens,
                "violations": record.violations,
            }
        )

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(line).decode() + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _body(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", errors="replace")

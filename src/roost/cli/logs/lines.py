"""How a line of the log looks: a JSON object for programs, or words for people. Never a secret."""

import contextlib
import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

from roost.cli.secrets import redact
from roost.core import log_fields
from roost.core.text import clean, cut, terminal_safe, without_middle

Format = Literal["json", "text"]
FIELDS: Final = "fields"
"""The key of `extra` under which a record carries a dictionary of what belongs to it."""
LONGEST: Final = 8_000
"""Characters of a message."""
LONGEST_ERROR: Final = 24_000
"""Characters of a traceback."""
_LEVELS: Final = {"WARNING": "WARN", "CRITICAL": "ERROR"}


class LineFormatter(logging.Formatter):
    """Makes one line of a record, without the secrets that it knows of."""

    def __init__(self, shape: Format) -> None:
        super().__init__()
        self._shape = shape
        self._secrets: tuple[str, ...] = ()

    def hide(self, secrets: Iterable[str]) -> None:
        """Never show these values, nor the forms that they take in quotes, JSON and addresses."""
        known = {*self._secrets, *(form for value in secrets for form in forms_of(value))}
        self._secrets = tuple(sorted(known, key=lambda one: (-len(one), one)))

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        fields = self._fields(record)
        if self._shape == "json":
            return msgspec.json.encode(fields).decode()
        return as_text(fields)

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        given: Mapping[str, Any] = getattr(record, FIELDS, None) or {}
        fields: dict[str, Any] = {
            "time": _moment(record.created),
            "level": _LEVELS.get(record.levelname, record.levelname),
            "logger": record.name,
            "message": _words(record),
            "pid": record.process,
            **log_fields.current(),
            **{name: _plain(value) for name, value in given.items()},
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        safe = self._safe(fields)
        safe["message"] = cut(safe["message"], LONGEST)
        if "error" in safe:
            safe["error"] = without_middle(safe["error"], LONGEST_ERROR)
        return safe

    def _safe(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The texts without secrets and without what a terminal would obey."""
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        whole = "\n".join(texts.values())
        # Nearly always there is nothing to hide, and one look at all of it tells.
        if redact(whole, self._secrets) != whole:
            texts = {name: redact(value, self._secrets) for name, value in texts.items()}
        return {**fields, **{name: terminal_safe(clean(text)) for name, text in texts.items()}}


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def forms_of(secret: str) -> set[str]:
    """A value as it is, and as it stands in a `repr`, in one of that, in JSON and in an address."""
    as_json = msgspec.json.encode(clean(secret)).decode()[1:-1]
    once = repr(secret)[1:-1]
    in_address = quote(secret, safe="", errors="replace")
    return {secret, once, repr(once)[1:-1], as_json, in_address}


def _words(record: logging.LogRecord) -> str:
    """The message; a record whose arguments do not fit it is told as it was given."""
    with contextlib.suppress(Exception):  # arguments may be objects of foreign code
        return record.getMessage()
    return record.msg if isinstance(record.msg, str) else type(record.msg).__name__


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


_HEAD: Final = frozenset({"time", "level", "logger", "message", "pid", "error"})


def as_text(fields: Mapping[str, Any]) -> str:
    """A record in words: when, how important, what, and about what. Further lines are indented, so
    that none can pass for a record of its own.
    """
    rest = " ".join(f"{name}={fields[name]}" for name in fields if name not in _HEAD)
    head = f"{fields.get('time', '')} {fields.get('level', ''):<5} {fields.get('logger', '')}"
    words = str(fields.get("message", ""))
    lines = [f"{head}: {words}{f'  {rest}' if rest else ''}", str(fields.get("error", ""))]
    return "\n    ".join("\n".join(filter(None, lines)).split("\n"))

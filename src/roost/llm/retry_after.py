"""How long a provider asks to be left alone, from headers or words."""

import re
from collections.abc import Mapping
from typing import Final

LONGEST_HINT: Final = 300.0
"""Seconds; a longer wait that stands only in the words of an error is not believed."""

_WORDS: Final = (
    r"(?:try again|retry(?: after)?|retrydelay|wait)[\"':\s]+(?:in\s+)?"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|seconds?|secs?|minutes?|mins?|hours?|h|m|s)\s*)+)"
)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after(headers: Mapping[str, str], body: str, now: float) -> float | None:
    """Seconds to wait at least, or None when the provider does not say.

    `retry-after-ms` wins over `retry-after` (seconds or an HTTP date), headers win over words such
    as `try again in 6m0s`. `now` is seconds since the epoch.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after", "")
    seconds = _number(header)
    if seconds is None and header:
        seconds = _until(header, now)
    return seconds if seconds is not None else _hint(body)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # 10 ms that few errors need

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


def _hint(body: str) -> float | None:
    found = re.search(_WORDS, body.lower())
    if found is None:
        return None
    parts = _PART.findall(found.group(1))
    seconds = sum(float(amount) * _UNIT[unit] for amount, unit in parts)
    return min(seconds, LONGEST_HINT)

"""Moments as people write them: how long ago, or a day."""

import re
from datetime import datetime
from typing import Final

from roost.core.errors import UsageError

_UNITS: Final = {"min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(rf"(\d{{1,6}}) ?({'|'.join(_UNITS)})")


def moment(words: str, now: int) -> int:
    """The moment that `words` mean; milliseconds since the epoch, as `now` is.

    `30min`, `2h`, `3d` and `1w` count back from now; `2026-01-31` is where that day begins here,
    and `2026-01-31T12:00` a time of it. Raises `UsageError`.
    """
    if match := _AGO.fullmatch(words.strip()):
        return now - int(match[1]) * _UNITS[match[2]] * 1000
    try:
        return int(datetime.fromisoformat(words.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{words!r} is no moment", hint="Say for example 30min, 2h, 3d, 1w or 2026-01-31."
        ) from None

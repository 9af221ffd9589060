"""Wall-clock time in the unit that OpenCode's clients use: milliseconds since the epoch."""

import time


def now_ms() -> int:
    """Milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def moment_of(stored: object) -> int:
    """A moment as a row has it; 0 where it is damaged."""
    return stored if isinstance(stored, int) else 0

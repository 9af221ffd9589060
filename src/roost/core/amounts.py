"""Numbers for people: with their noun, and sums of money that never read as nothing."""

from math import floor, log10
from typing import Final

_DIGITS: Final = 2
"""Digits of a small sum that are shown at least."""


def counted(number: float, noun: str, plural: str = "") -> str:
    """`1 session`, `2 sessions`, `0.5 seconds`; `plural` where an s does not make it."""
    shown = int(number) if number == int(number) else number
    return f"{shown:,} {noun if number == 1 else plural or noun + 's'}"


def dollars(amount: float, places: int = 2) -> str:
    """`12.50`, `0.05`, and `0.0004` where `places` after the point would show next to nothing."""
    if not 0 < amount < 1:
        return f"{amount:,.{places}f}"
    needed = _DIGITS - 1 - floor(log10(amount))
    whole, _, rest = f"{amount:.{max(places, needed)}f}".partition(".")
    return f"{whole}.{rest[:places]}{rest[places:].rstrip('0')}"

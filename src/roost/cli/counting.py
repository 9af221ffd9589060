"""Numbers with their noun."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 session`, `2 sessions`; `plural` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"

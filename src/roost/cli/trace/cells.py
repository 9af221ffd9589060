"""Text in cells of a terminal, and numbers in as few of them as tell enough. Pure."""

from typing import Final

from wcwidth import wcwidth

from roost.cli.table import cut_to, one_line, width_of

_KILO: Final = 1_000
_MEGA: Final = 1_000_000


def left(text: str, size: int) -> str:
    """`text` in exactly `size` cells, at their left."""
    shown = cut_to(text, size) if size > 0 else ""
    return shown + " " * (size - width_of(shown))


def right(text: str, size: int) -> str:
    """The same at their right."""
    shown = cut_to(text, size) if size > 0 else ""
    return " " * (size - width_of(shown)) + shown


def wrapped(text: str, size: int, most: int, *, first: int | None = None) -> list[str]:
    """`text` in at most `most` lines of at most `size` cells, the first of them of at most `first`
    (None: the same); what is left out is marked.
    """
    words = one_line(text).split(" ")
    lines: list[str] = []
    while words and words != [""]:
        room = max(1, size if lines or first is None else first)
        if len(lines) == most - 1:
            return [*lines, cut_to(" ".join(words), room)]
        line, words = _filled(words, room)
        lines.append(line)
    return lines


def _filled(words: list[str], size: int) -> tuple[str, list[str]]:
    """A line of as many of `words` as fit, at least a piece of one, and the rest of them."""
    line = ""
    for at, word in enumerate(words):
        longer = f"{line} {word}" if at else word
        if width_of(longer) > size:
            if at:
                return line, words[at:]
            piece = _piece(word, size)
            return piece, [word[len(piece) :], *words[1:]]
        line = longer
    return line, []


def _piece(word: str, size: int) -> str:
    """The beginning of `word` that fits into `size` cells."""
    used = 0
    for at, character in enumerate(word):
        used += max(0, wcwidth(character))
        if used > size and at:
            return word[:at]
    return word


def offset(seconds: float) -> str:
    """A moment of a turn, in at most 7 cells: `3.2s`, `12:03.4`, `1:02:03`."""
    seconds = max(0.0, seconds)
    minutes = int(seconds // 60)
    if minutes == 0:
        return f"{int(seconds * 10) / 10:.1f}s"
    if minutes < 60:
        return f"{minutes}:{int(seconds % 60 * 10) / 10:04.1f}"
    return f"{minutes // 60}:{minutes % 60:02}:{int(seconds % 60):02}"


def span(seconds: float | None) -> str:
    """How long something took, in at most 6 cells: `230ms`, `3.2s`, `42s`, `12m03s`, `1h02m`."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3_600}h{whole % 3_600 // 60:02}m"


def amount(number: int, *, exact: bool = False) -> str:
    """How many, in at most 5 cells unless `exact`: `812`, `12.3k`, `1.2M`; none at all is empty."""
    if exact or number < _KILO:
        return f"{number:,}" if number else ""
    if number < 99_950:
        return f"{number / _KILO:.1f}k"
    return f"{number / _KILO:.0f}k" if number < 999_500 else f"{number / _MEGA:.1f}M"


def size(count: int | None) -> str:
    """How many bytes, in at most 6 cells: `812B`, `3.1kB`, `1.2MB`."""
    if count is None:
        return ""
    if count < _KILO:
        return f"{count}B"
    if count < 99_950:
        return f"{count / _KILO:.1f}kB"
    return f"{count / _KILO:.0f}kB" if count < 999_500 else f"{count / _MEGA:.1f}MB"


def money(dollars: float) -> str:
    """US dollars, in at most 7 cells below 100,000; nothing where nothing was paid."""
    if dollars <= 0:
        return ""
    return f"${dollars:.4f}" if dollars < 1 else f"${dollars:.2f}"


def share(part: int, whole: int) -> str:
    """How much of `whole` is `part`: `83%`."""
    return f"{part * 100 // whole}%" if part and whole else ""

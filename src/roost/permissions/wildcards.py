"""Texts of rules and requests in one spelling, and the matching of one against the other."""

import functools
import re
import unicodedata
from pathlib import Path
from typing import Final

PATH_PERMISSIONS: Final = {"read", "edit", "list", "glob", "external_directory", "lsp"}
"""Permissions whose patterns are paths."""

READ_ONLY: Final = "@read-only"
CHANGING: Final = "@changing"
OUTSIDE: Final = "@outside"


_MAX_PAIRS: Final = 100_000
"""Beyond this, comparing two patterns takes too long, and they are taken to overlap."""


@functools.lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression that takes linear time for each `*`, however many there are."""
    first, *rest = (re.escape(piece).replace(r"\?", ".") for piece in pattern.split("*"))
    # An atomic group keeps the first place where the piece fits: no backtracking into it.
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1] if piece)
    return re.compile(first + middle + (f".*{rest[-1]}" if rest else ""), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Whether `text` as a whole fits `pattern`, in which `*` is any text and `?` one character.

    A final ` *` may also be missing: `git *` means a bare `git` too.
    """
    if _compiled(pattern).fullmatch(text):
        return True
    return pattern.endswith(" *") and _compiled(pattern[:-2]).fullmatch(text) is not None


def may_overlap(one: str, other: str) -> bool:
    """Whether some text could fit both patterns; a `[…]` in `one` stands for anything."""
    left, right = re.sub(r"\[[^\]]*\]?", "*", one), other
    if len(left) * len(right) > _MAX_PAIRS:
        return True
    reach = {(0, 0)}
    seen = set(reach)
    while reach:
        i, j = reach.pop()
        if i == len(left) and j == len(right):
            return True
        for step in _overlap_steps(left, right, i, j) - seen:
            seen.add(step)
            reach.add(step)
    return False


def _overlap_steps(left: str, right: str, i: int, j: int) -> set[tuple[int, int]]:
    a, b = left[i : i + 1], right[j : j + 1]
    steps: set[tuple[int, int]] = set()
    if a == "*":
        steps |= {(i + 1, j)} | ({(i, j + 1)} if b else set())
    if b == "*":
        steps |= {(i, j + 1)} | ({(i + 1, j)} if a else set())
    if a and b and (a == b or "?" in {a, b}):
        steps.add((i + 1, j + 1))
    return steps


def literal_start(pattern: str) -> str:
    """`pattern` up to its first wildcard, without the blank or slash before it."""
    return re.split(r"[*?]", pattern, maxsplit=1)[0].rstrip(" /")


def plain_path(path: str) -> str:
    """A path as text in the one spelling: composed accents, no `./`, `//` or final slash."""
    spelled = unicodedata.normalize("NFC", path)
    spelled = re.sub(r"/(?:\.?/)+", "/", spelled)
    spelled = re.sub(r"^(?:\./)+(?=.)", "", spelled)
    return spelled.rstrip("/") or "/" if len(spelled) > 1 else spelled


def expand_home(text: str, home: Path) -> str:
    """`text` with `~` or `$HOME` at its start replaced; both also before a slash only."""
    for mark in ("~", "$HOME", "${HOME}"):
        rest = text.removeprefix(mark)
        if text.startswith(mark) and (not rest or rest[0] in "/*"):
            return str(home) + rest
    return text


def normal_pattern(permission: str, pattern: str, home: Path) -> str:
    """A pattern as it is written in a configuration, in the spelling that requests use."""
    if permission in PATH_PERMISSIONS:
        expanded = expand_home(pattern, home)
        # A final slash means what is in the folder.
        return plain_path(expanded + "*" if expanded.endswith("/") else expanded)
    if permission != "bash":
        return unicodedata.normalize("NFC", expand_home(pattern, home))
    words = unicodedata.normalize("NFC", pattern).split()
    return " ".join(expand_home(word, home) for word in words)

"""File patterns: `*`, `?`, `[…]`, `{a,b}` and `**`, with git's rule for where they apply."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from roost.core.errors import UsageError

_MAX_ALTERNATIVES: Final = 256
_BRACES: Final = re.compile(r"(?<!\\)\{([^{}]*)\}")
_TOKEN: Final = re.compile(r"\\(.)|(\*+)|(\?)|(\[[!^]?\]?[^\]]*\])|([^\\*?\[]+|.)")

Accept = Callable[[str], bool]
"""Tells whether a path, relative to the root of the search and with `/`, is wanted."""


def matcher(pattern: str) -> Accept:
    """The test for `pattern`.

    Without a slash it applies to the name at any depth, with one to the path from the root. What
    looks like a pattern but is the path itself, such as `app/[id]/page.tsx`, matches too. Raises
    `UsageError`.
    """
    plain = pattern.strip().removeprefix("./").lstrip("/")
    if not plain:
        raise UsageError("the file pattern is empty", hint="Use for example **/*.py.")
    forms = [*map(_expression, _expanded(plain)), re.escape(plain)]
    try:
        compiled = re.compile("|".join(f"(?:{form})" for form in forms), re.DOTALL)
    except re.error as error:
        raise UsageError(f"file pattern {pattern!r}: {error}", hint="Use * and **.") from error
    return partial(_matches, compiled)


def _matches(compiled: re.Pattern[str], path: str) -> bool:
    return compiled.fullmatch(path) is not None


def _expanded(pattern: str) -> list[str]:
    """`pattern` without braces: one for each combination of alternatives."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        current = waiting.pop()
        braces = next((m for m in _BRACES.finditer(current) if "," in m[1]), None)
        if braces is None:
            done.append(current)
        else:
            start, end = braces.span()
            waiting += [current[:start] + each + current[end:] for each in braces[1].split(",")]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise UsageError("the file pattern has too many alternatives", hint="Use a wider one.")
    return done


def _expression(pattern: str) -> str:
    anywhere = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    segments = pattern.split("/")
    pieces: list[str] = []
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment == "**":
            pieces.append(".*" if last else "(?:.*/)?")
        else:
            pieces.append(_segment(segment) + ("" if last else "/"))
    return anywhere + "".join(pieces)


def _segment(segment: str) -> str:
    pieces: list[str] = []
    for token in _TOKEN.finditer(segment):
        escaped, stars, question, choice, literal = token.groups()
        if stars:
            pieces.append("[^/]*")
        elif question:
            pieces.append("[^/]")
        elif choice:
            inner = choice[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            pieces.append(f"[^{inner[1:]}/]" if inner[:1] in {"!", "^"} else f"[{inner}]")
        else:
            pieces.append(re.escape(escaped or literal or ""))
    return "".join(pieces)

"""A Markdown file as sections: a heading with what stands below it, up to the next heading. Pure.

Sections are what is found, and what is changed: whoever changes one says which text they saw, by
its hash, so that nobody's words are lost to somebody who did not read them.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.text import cut, echo

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HASH: Final = 8
_SHOWN: Final = 4_000
"""Characters of a section that a conflict repeats."""


class Section(Struct, frozen=True):
    """A heading and the text below it."""

    heading: str
    """Without marks; empty for what stands before the first one."""
    level: int
    """From 1; 0 without a heading."""
    line: int
    """Of the heading, from 1."""
    text: str
    """Whole, with the line of the heading, and with the end of its last line."""

    @property
    def body(self) -> str:
        """What stands below the heading."""
        return self.text.partition("\n")[2] if self.level else self.text

    @property
    def hash(self) -> str:
        """Tells this text from any other."""
        return hashlib.sha256(self.text.strip().encode()).hexdigest()[:_HASH]


def sections(text: str) -> list[Section]:
    """The sections of `text` in order; together they are all of it. Headings in code are none."""
    found: list[Section] = []
    heading, level, first, fence = "", 0, 1, ""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        mark = _FENCE.match(line)
        fence = _fence_after(fence, mark[1] if mark else "")
        title = None if fence or mark else _HEADING.match(line.rstrip("\r\n"))
        if title is not None:
            found += _closed(heading, level, first, lines)
            heading, level, first, lines = title[2], len(title[1]), number, []
        lines.append(line)
    return [*found, *_closed(heading, level, first, lines)]


def _fence_after(fence: str, mark: str) -> str:
    """The fence that code stands in behind a line with `mark`."""
    if not mark:
        return fence
    if not fence:
        return mark
    return "" if mark.startswith(fence) else fence


def _closed(heading: str, level: int, line: int, lines: Sequence[str]) -> list[Section]:
    text = "".join(lines)
    return [Section(heading, level, line, text)] if level or text.strip() else []


def find(text: str, heading: str) -> Section | None:
    """The first section of that heading, whatever its case and marks."""
    wanted = _plain(heading)
    return next((one for one in sections(text) if _plain(one.heading) == wanted), None)


def _plain(heading: str) -> str:
    return " ".join(heading.strip().lstrip("#").casefold().split())


def with_entry(text: str, entry: str, heading: str = "") -> str:
    """`text` with `entry` at the end of the section `heading`, which is made at the end of the file
    if there is none; without a heading, at the end of the file.
    """
    if not heading.strip():
        return f"{_ended(text)}{_ended(entry)}"
    section = find(text, heading)
    if section is None:
        gap = "\n" if text.strip() and not text.endswith("\n\n") else ""
        title = " ".join(heading.strip().lstrip("#").split())
        return f"{_ended(text)}{gap}## {title}\n\n{_ended(entry)}"
    return _put(text, section, f"{_ended(section.text.rstrip())}{_ended(entry)}")


def with_section(text: str, heading: str, was: str, new: str) -> str:
    """`text` with `new` below `heading`, if that still reads as the hash `was` says. An empty `new`
    removes the section.

    Raises `NotFoundError` without such a section, `ConflictError` if it reads otherwise by now.
    """
    section = find(text, heading)
    if section is None:
        known = "; ".join(one.heading for one in sections(text) if one.level) or "none"
        raise NotFoundError(
            f"there is no section {echo(heading)!r}", hint=f"Headings there are: {cut(known, 400)}"
        )
    if was.strip().lstrip("#") != section.hash:
        raise ConflictError(
            f"the section {echo(heading)!r} reads otherwise than you saw it; nothing was changed",
            hint=f"Now it is #{section.hash}:\n{cut(section.text.strip(), _SHOWN)}",
        )
    if not new.strip():
        return _put(text, section, "")
    if (given := _HEADING.match(new.strip().splitlines()[0])) and _plain(given[2]) == _plain(
        heading
    ):
        new = new.strip().partition("\n")[2]
    if not section.level:
        return _put(text, section, f"{new.strip()}\n")
    first = section.text.partition("\n")[0].rstrip("\r")
    return _put(text, section, f"{first}\n\n{new.strip()}\n")


def _put(text: str, section: Section, new: str) -> str:
    """`text` with another text in the place of a section, and an empty line before the next one."""
    before, after = "", ""
    seen = False
    for one in sections(text):
        if one == section:
            seen = True
        elif seen:
            after += one.text
        else:
            before += one.text
    gap = "\n" if new and after and not new.endswith("\n\n") else ""
    return f"{before}{new}{gap}{after}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def entry_line(text: str, day: str, session_id: str) -> str:
    """`text` as an item of a list that says when and where it came from.

    Raises `UsageError` if it says nothing.
    """
    words = text.strip()
    if not words:
        raise UsageError("an entry needs text", hint="Say in one or two lines what is to be known.")
    words = words.removeprefix("- ").lstrip()
    first, *rest = words.splitlines()
    source = f"{day}, {session_id}" if session_id else day
    return "\n".join([f"- {first} ({source})", *(f"  {line}".rstrip() for line in rest)])

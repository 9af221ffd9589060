"""What a check finds, and how findings are shown."""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from roost.cli.terminal import Colour, Look
from roost.core.text import terminal_safe

Status = Literal["ok", "warn", "fail"]
_COLOURS: Final[dict[Status, Colour]] = {"ok": "green", "warn": "yellow", "fail": "red"}


class Finding(Struct, frozen=True):
    """One line of the report."""

    status: Status
    name: str
    detail: str
    mend: str = ""
    """What to do about it."""


def ok(name: str, detail: str) -> Finding:
    """All is well."""
    return Finding("ok", name, detail)


def warn(name: str, detail: str, mend: str = "") -> Finding:
    """Something works less well than it could."""
    return Finding("warn", name, detail, mend)


def fail(name: str, detail: str, mend: str = "") -> Finding:
    """Something does not work."""
    return Finding("fail", name, detail, mend)


def lines_of(findings: Iterable[Finding], look: Look) -> list[str]:
    """The report."""
    lines: list[str] = []
    for one in findings:
        status = look.paint(f"{one.status:<5}", _COLOURS[one.status])
        lines.append(f"{status} {one.name:<12} {terminal_safe(one.detail)}")
        if one.mend:
            indent = " " * 19
            lines.append(indent + terminal_safe(one.mend).replace("\n", f"\n{indent}"))
    return lines

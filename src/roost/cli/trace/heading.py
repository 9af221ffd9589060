"""What stands above and below the rows of a turn. Pure."""

import time
from typing import Final

from roost.cli.table import one_line
from roost.cli.terminal import Look
from roost.cli.trace.cells import amount, money, share, span, wrapped
from roost.cli.trace.entries import Head
from roost.cli.trace.wording import OUTCOMES

_QUIET: Final = frozenset({"tokens", "cost", "steps", "seconds"})
"""Budgets whose use is told by the sums."""


def heading(head: Head, width: int, look: Look) -> list[str]:
    """Which turn it is, and what it came to so far."""
    lines = [
        *(look.paint(line, "bold") for line in wrapped(head.title, width, 1)),
        *(look.paint(line, "dim") for line in wrapped(_name(head), width, 2)),
        *(look.paint(line, "dim") for line in wrapped(_circumstances(head), width, 2)),
        *sums_line(head, width, look),
    ]
    if budgets := _budgets(head):
        lines += [look.paint(line, "dim") for line in wrapped(f"used {budgets}", width, 2)]
    if head.damage:
        lines += [look.paint(line, "red") for line in wrapped(f"damaged: {head.damage}", width, 2)]
    return lines


def sums_line(head: Head, width: int, look: Look) -> list[str]:
    """How it came out, or what it does, and what it used."""
    first, *more = wrapped(f"{head.state} {_sums(head)}", width, 2) or [""]
    state = look.paint(head.state, OUTCOMES.get(head.state, "blue"), "bold")
    return [f"{state}{first.removeprefix(head.state)}", *more]


def _name(head: Head) -> str:
    number = f"turn {head.number}" + (f" of {head.count}" if head.count > 1 else "")
    where = f"{head.session_id}/{head.actor_id}"
    return " · ".join([where, number, head.turn_id or "outside of turns: imported"])


def _circumstances(head: Head) -> str:
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(head.at / 1000))
    parent = f"started by {head.parent}" if head.parent else ""
    about = f'"{head.description}"' if head.description else ""
    parts = [head.agent, ", ".join(head.models), about, parent, clock, f"in {head.directory}"]
    return " · ".join(one_line(part) for part in parts if part)


def _sums(head: Head) -> str:
    tokens = head.tokens
    cached = f", {share(tokens.cached, tokens.input)} cached" if tokens.cached else ""
    steps = f"{head.steps:,} step{'' if head.steps == 1 else 's'}"
    parts = [
        f"{'after' if head.state in OUTCOMES else 'for'} {span(head.seconds)}",
        steps,
        f"{amount(tokens.input) or '0'} tokens in{cached}",
        f"{amount(tokens.output) or '0'} out",
        money(head.cost),
    ]
    return " · ".join(filter(None, parts))


def _budgets(head: Head) -> str:
    used = [
        f"{name} {used:g}" + (f" of {limit:g}" if limit is not None else "")
        for name, (used, limit) in sorted(head.budgets.items())
        if name not in _QUIET
    ]
    return ", ".join(used)

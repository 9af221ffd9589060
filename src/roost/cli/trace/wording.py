"""What is said of each entry of a timeline, in words. Pure."""

from typing import Final, assert_never

from msgspec import Struct

from roost.cli.terminal import Colour
from roost.cli.trace.cells import amount, money, span
from roost.cli.trace.entries import (
    Called,
    Child,
    Damaged,
    Decision,
    End,
    Entry,
    Heard,
    Hooked,
    Judged,
    Proposals,
    Question,
    Ran,
    Retry,
    Sent,
    Spent,
)

Mark = tuple[str, str]
"""A sign, and what stands for it where only ASCII can be shown."""
_MAIL: Final = ("✉", "=")
_STEP: Final = ("▸", ">")
_TOOL: Final = ("·", "-")
_FAILED: Final = ("✗", "x")
_RETRY: Final = ("↻", "r")
_DECISION: Final = ("◆", "*")
_HOOK: Final = ("◇", "h")
_ASK: Final = ("?", "?")
_SENT: Final = ("↗", "^")
_CHILD: Final = ("•", "+")
_DAMAGED: Final = ("!", "!")
_END: Final = ("■", "#")
_KINDS: Final = {
    "prompt": "prompt",
    "brief": "brief",
    "message": "message",
    "notice": "notice",
    "permission": "request",
    "system": "reminder",
}
_ACTIONS: Final = {
    "sample": "call the model again",
    "inject": "go on, told",
    "shorten": "shorten the conversation",
    "wait": "wait for mail",
    "stop": "stop",
}
OUTCOMES: Final[dict[str, Colour]] = {
    "success": "green",
    "failure": "red",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "lost": "yellow",
}


class Below(Struct, frozen=True):
    """What stands below a row."""

    text: str
    colour: Colour | None = None
    most: int = 2
    """Lines that it may take."""


class Words(Struct, frozen=True, kw_only=True):
    """An entry in words."""

    mark: Mark
    label: str
    """What it is; painted."""
    colour: Colour | None = None
    text: str = ""
    most: int = 1
    """Lines that the text may take."""
    took: float | None = None
    below: tuple[Below, ...] = ()


def words_of(entry: Entry) -> Words:
    """How `entry` is told."""
    match entry:
        case Heard():
            return _heard(entry)
        case Called():
            return _called(entry)
        case Ran():
            return _ran(entry)
        case Retry():
            return _retry(entry)
        case Decision():
            return _decision(entry)
        case Hooked():
            return _hooked(entry)
        case Judged():
            return _judged(entry)
        case Proposals():
            return _proposals(entry)
        case Question():
            return _question(entry)
        case Sent():
            kind = _KINDS.get(entry.kind, entry.kind)
            return Words(
                mark=_SENT, label=f"{kind} to {entry.to}", colour="green", text=entry.text, most=2
            )
        case Child():
            return _child(entry)
        case Damaged():
            return Words(mark=_DAMAGED, label="damaged", colour="red", text=entry.text)
        case End():
            return _end(entry)
        case _:
            assert_never(entry)


def _heard(entry: Heard) -> Words:
    kind = _KINDS.get(entry.kind, entry.kind)
    by = f" of {entry.sender}" if entry.sender not in {"", "you", "roost"} else ""
    notes = [f"{entry.attached} attached"] if entry.attached else []
    notes += [f"waited {span(entry.waited)}"] if entry.waited >= 1 else []
    aside = f"({', '.join(notes)}) " if notes else ""
    return Words(
        mark=_DAMAGED if entry.damage else _MAIL,
        label=f"{kind}{by}",
        colour="red" if entry.damage else "green",
        text=f"{aside}{entry.text}",
        most=2,
    )


def _called(entry: Called) -> Words:
    below: list[Below] = []
    if entry.said:
        below.append(Below(entry.said))
    if entry.degraded:
        below.append(Below(entry.degraded, "yellow"))
    if entry.error:
        below.append(Below(entry.error, "red", 4))
    return Words(
        mark=_FAILED if entry.error else _STEP,
        label=f"step {entry.number}",
        colour="red" if entry.error else "cyan",
        took=entry.answered if entry.elapsed is None else entry.elapsed,
        below=tuple(below),
    )


def _ran(entry: Ran) -> Words:
    failed = entry.state in {"error", "denied", "interrupted"}
    bad = failed or bool(entry.exit)
    return Words(
        mark=_FAILED if failed else _TOOL,
        label=entry.tool,
        colour="red" if bad else None,
        text=entry.about,
        took=entry.seconds,
        below=(Below(entry.error, "red", 3),) if entry.error else (),
    )


def _retry(entry: Retry) -> Words:
    most = f" of {entry.tries + 1}" if entry.tries is not None else ""
    kind = f"{entry.kind.replace('_', ' ')}: " if entry.kind else ""
    return Words(
        mark=_RETRY,
        label=f"attempt {entry.attempt}{most} failed",
        colour="yellow",
        text=f"{kind}{entry.text}",
        most=3,
        took=entry.wait,
    )


def _decision(entry: Decision) -> Words:
    counted = ""
    if entry.budget:
        limit = f" of {entry.limit:g}" if entry.limit is not None else ""
        counted = f" {entry.used:g}{limit}"
    did = _ACTIONS.get(entry.action, entry.action)
    if entry.outcome:
        did = f"{did}, {entry.outcome}"
    if entry.hidden:
        did += f", {entry.hidden} step{'s' if entry.hidden > 1 else ''} out of view"
    return Words(
        mark=_DECISION,
        label=f"{entry.policy or 'policy'}{counted}",
        colour="yellow",
        text=f"{did}: {entry.text}" if entry.text else did,
        most=3,
        took=entry.seconds,
    )


def _hooked(entry: Hooked) -> Words:
    wants = {"continue": "go on", "cancel": "do not begin"}.get(entry.answer, "")
    state = "no answer" if entry.failed else wants or "nothing to say"
    return Words(
        mark=_FAILED if entry.failed else _HOOK,
        label=f"hook {entry.name}",
        colour="red" if entry.failed else "magenta",
        text=": ".join(filter(None, [f"{entry.on}, {state}", entry.text])),
        most=3,
        took=entry.seconds,
    )


def _judged(entry: Judged) -> Words:
    return Words(
        mark=_DECISION,
        label=f"judge: {entry.result}",
        colour="magenta",
        text=f"{entry.text} ({_sums(entry.model, entry.tokens, entry.cost)})",
        most=3,
        took=entry.seconds,
    )


def _proposals(entry: Proposals) -> Words:
    count = len(entry.candidates)
    if not count:
        return Words(
            mark=_DECISION, label="one candidate", colour="magenta", text=entry.text, most=2
        )
    used = _sums(entry.model, Spent(input=entry.tokens), entry.cost)
    said = f"{entry.text} ({used})" if entry.text else f"({used})"
    taken = "none taken" if entry.taken is None else f"{entry.taken} taken, by {entry.by}"
    bad = [(at, one) for at, one in enumerate(entry.candidates, 1) if one != "usable"]
    return Words(
        mark=_DECISION,
        label=f"{count} candidates, {taken}",
        colour="magenta",
        text=said,
        most=3,
        took=entry.seconds,
        below=tuple(Below(f"{at}: {one}", "yellow", 1) for at, one in bad),
    )


def _sums(first: str, tokens: Spent, cost: float) -> str:
    counted = f"{amount(tokens.input + tokens.output) or '0'} tokens"
    return " · ".join(filter(None, [first, counted, money(cost)]))


def _question(entry: Question) -> Words:
    answer = "waits for an answer" if entry.state == "open" else entry.state
    said = f": {entry.text}" if entry.text else ""
    return Words(
        mark=_ASK,
        label=entry.kind,
        colour="yellow" if entry.state == "open" else "blue",
        text=f"{entry.about} → {answer}{said}",
        most=2,
        took=entry.seconds,
    )


def _child(entry: Child) -> Words:
    about = f'"{entry.description}"' if entry.description else ""
    steps = f"{entry.steps:,} step{'' if entry.steps == 1 else 's'}"
    used = [steps, f"{amount(entry.tokens) or '0'} tokens", money(entry.cost)]
    state = f"{entry.state}, {' · '.join(filter(None, used))}"
    return Words(
        mark=_CHILD,
        label=entry.actor_id,
        colour="blue",
        text=" ".join(filter(None, [about, state])),
        most=2,
        took=entry.seconds,
        below=(Below(f"roost trace {entry.turn_id}", "dim", 1),),
    )


def _end(entry: End) -> Words:
    below: list[Below] = []
    if entry.error:
        below.append(Below(entry.error, "red", 4))
    if entry.degraded:
        below.append(Below(entry.degraded, "yellow"))
    status = f", reported {entry.status}" if entry.status else ""
    return Words(
        mark=_END,
        label=f"{entry.outcome}{status}",
        colour=OUTCOMES.get(entry.outcome),
        text=entry.summary,
        most=2,
        took=entry.seconds,
        below=tuple(below),
    )

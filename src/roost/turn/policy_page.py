"""Writes `docs/policies.md` from the code: `python -m roost.turn.policy_page`."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from roost.llm.retry import Budget, RetryPolicy, spoken
from roost.turn import cycling, looping, loops
from roost.turn.classes import TABLE, Row
from roost.turn.policies import limits
from roost.turn.policy import Allowance, Policy
from roost.turn.text_calls import FORMS
from roost.turn.verdict import POLICIES

_HEAD: Final = """# What happens after a step

Made from the code by `python -m roost.turn.policy_page`; a test fails when it is stale.

Every step is judged by the same rules, whether it was just taken or is found at the start of one:
first it gets a class, then the policies are asked in order, and the first that answers decides.
What is used of a budget is stored. It survives a restart: a turn that goes on with work whose
process died begins with what was used, until a person speaks.
"""
_LOOPS: Final = f"""## What is a loop

| where | what | how many |
| --- | --- | --- |
| over steps | rounds of 1 to {loops.LONGEST_PERIOD} steps with the same calls and results | \
{loops.STREAK} |
| over steps | the same calls with other results each time | {loops.CHANGING} |
| over steps | the same calls and results, where a round takes {loops.PATIENT_SECONDS:.0f} s or \
longer | {loops.PATIENT} |
| over steps | who waits that long and sees something else each time, or waits for mail | never |
| over steps | an answer that was given before | never |
| in a step | calls that only repeat others of it; they are not run | {loops.CROWD} |
| in a stream | the same {" / ".join(str(most) for most, _ in looping.COPIES)} / more characters \
back to back | {" / ".join(str(copies) for _, copies in looping.COPIES)} / {looping.LONG_COPIES} |
| in a stream | the same where the text is code or looks like data, from \
{looping.DENSE_PERIOD} characters on | {looping.DENSE_COPIES} |
| in a stream | sentences of prose in any order, {cycling.DISTINCT} different ones at most | \
{cycling.WINDOW} |
| in a stream | nothing but copies, whatever it is, arguments of a call too | \
{looping.ENDLESS:,} characters |

Of equal calls in one step the first is run, and again only after a new call that may change
something. A loop over steps ends where a person or another actor speaks. How seldom an honest text
is taken for a loop is told in [decision 013](decisions/013-false-alarms.md).
"""


def page() -> str:
    """The whole document."""
    tables = (_classes(TABLE), _order(POLICIES), _words(POLICIES), _LOOPS, _forms(), _retries())
    return "\n".join((_HEAD, *tables))


def _classes(rows: Sequence[Row]) -> str:
    lines = [
        "## Classes",
        "",
        "The first row that fits. `·`: as it likes.",
        "",
        "| class | what | result of a call | error | finish | call as text | words | thoughts |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        finish = (
            "·"
            if row.finish is None
            else ", ".join(f"`{one}`" for one in sorted(row.finish, key=str))
        )
        marks = (row.observed, row.error, finish, row.text_call, row.text, row.reasoning)
        shown = " | ".join(one if isinstance(one, str) else _mark(one) for one in marks)
        what = f"{row.what}; degraded" if row.degraded else row.what
        lines.append(f"| `{row.kind}` | {what} | {shown} |")
    return "\n".join(lines) + "\n"


def _mark(wanted: bool | None) -> str:
    return "·" if wanted is None else "yes" if wanted else "no"


def _order(policies: Sequence[Policy]) -> str:
    lines = [
        "## Policies, in order",
        "",
        "| | policy | looks at | answers | budget: limit | stored with | begins anew | used up |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for number, one in enumerate(policies, 1):
        cells = (
            one.name,
            one.looks_at,
            one.answers,
            _joined(_budget(each) for each in one.allowances),
            _joined(each.kept for each in one.allowances),
            _joined(_renewal(each) for each in one.allowances),
            one.spent or "–",
        )
        lines.append(f"| {number} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "Limits with a `*` are `limits.nudges` of the configuration, where that is given. Limits",
        f"of a turn are {', '.join(f'`{name}`' for name in limits.NAMES)}.",
    ]
    return "\n".join(lines) + "\n"


def _joined(cells: Iterable[str]) -> str:
    return "; ".join(cells) or "–"


def _budget(allowance: Allowance) -> str:
    return f"`{allowance.name}`: {allowance.limit:g}{'*' if allowance.nudge else ''}"


def _renewal(allowance: Allowance) -> str:
    return "when a person speaks" if allowance.refilled else "with the next turn"


def _words(policies: Sequence[Policy]) -> str:
    lines = ["## What the model is told", "", "`{…}` is filled in.", ""]
    for one in policies:
        lines += [f"- **{one.name}**: {' / '.join(map(_quoted, one.words))}"] if one.words else []
    return "\n".join(lines) + "\n"


def _quoted(words: str) -> str:
    return f"“{' '.join(words.split())}”"


def _forms() -> str:
    forms = ", ".join(f"`{one}`" if "<" in one or "[" in one else one for one in FORMS)
    return (
        "## Calls that are written as text\n\n"
        f"Forms: {forms}, each also in a block of code that ends a short text.\n"
        "What is quoted in an explanation is none; JSON and Python only with an argument that the\n"
        "tool takes.\n"
    )


def _retries() -> str:
    policy = RetryPolicy()
    lines = [
        "## Calls of the model that fail",
        "",
        "These retries lie within a step and before any policy; nothing of an answer is run before",
        "its stream has ended, so trying again repeats no effect. What waiting cannot mend (key,",
        "quota, a bad request, a refused content, a conversation too long) is not tried again.",
        "",
        "| class | tries | in all | first wait | longest wait |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ("rate_limit", "server", "network", "unreached", "unreadable"):
        budget: Budget = getattr(policy, name)
        first = budget.base if budget.first is None else budget.first
        cells = (str(budget.tries), spoken(budget.total), f"{first:g} s", f"{budget.longest:g} s")
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    asked = spoken(policy.longest_retry_after)
    lines += ["", f"A provider that asks for a longer wait than {asked} is not waited for."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())

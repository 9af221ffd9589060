"""The floor below an actor that plans, and below everyone it starts: whatever rules, grants and
people say, nothing is changed but one file. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from roost.permissions.models import Layer, Rule
from roost.permissions.wildcards import CHANGING, OUTSIDE, READ_ONLY

NAME: Final = "plan mode"
_HARMLESS: Final = (
    *("read", "glob", "grep", "list", "lsp", "external_directory"),
    *("webfetch", "websearch", "codesearch", "question", "todo", "doom_loop"),
    *("actor", "session", "team", "skill", "plan_exit"),
)
"""What changes no file. Whoever is started or directed stands on the same floor."""
_KINDS: Final = {"*", READ_ONLY, CHANGING}


def floor(plan: str, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Rights that narrow those of a planning actor to reading, and to writing `plan`.

    `layers` are its own. Of them only a command counts that the user's configuration of the agent
    allows by name: a wildcard for everything, a question and a grant lift nothing here.
    """
    rules = (
        Rule("*", "*", "deny"),
        *(Rule(name, "*", "allow") for name in _HARMLESS),
        Rule("bash", READ_ONLY, "allow"),
        *_vouched(layers),
        Rule("edit", plan, "allow"),
        Rule("edit", OUTSIDE, "deny"),
    )
    return (Layer(NAME, "agent", rules),)


def _vouched(layers: Sequence[Layer]) -> Iterable[Rule]:
    """Commands of which the user says that they may run while the agent plans."""
    own = (rule for one in layers if one.rank == "agent" for rule in one.rules)
    return (
        rule
        for rule in own
        if rule.permission == "bash" and rule.action == "allow" and rule.pattern not in _KINDS
    )


def way_out(plan: str, *, below: bool) -> str:
    """What to do instead of what the floor refuses; `below`: for one whom a planning actor
    started.
    """
    rule = "While a plan is made, only commands that are known to read are run, and no file but"
    if below:
        return f"{rule} {plan} is written. Say in your report what would have to be done."
    return (
        f"{rule} {plan} is written. Look with the tools that read; what has to be changed or tried"
        " becomes a step of the plan. The work begins when the user switches to another agent, or"
        " agrees to `plan_exit`."
    )

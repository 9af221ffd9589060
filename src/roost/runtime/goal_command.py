"""`/goal`: what a person says of the goal of a session, whatever surface they say it on. Pure."""

import re
from typing import Final

import msgspec
from msgspec import Struct

from roost.core.text import cut
from roost.goals.models import Goal
from roost.runtime.models import PromptInput, PromptInputPart, TextInput

NAME: Final = "goal"
DESCRIPTION: Final = "work until this is true, as an independent judge sees it; `clear` ends that"
TEMPLATE: Final = "$ARGUMENTS"
_COMMAND: Final = re.compile(rf"\s*/{NAME}(?:\s+(?P<arguments>.*))?\s*\Z", re.DOTALL)
_CLEAR: Final = frozenset({"", "clear", "reset"})
_RESUME: Final = "resume"
_SHOW: Final = frozenset({"show", "status"})
_SHOWN: Final = 600
"""Characters of a condition that are repeated."""


class SetGoal(Struct, frozen=True):
    """Work until the condition holds; it is the prompt, too."""

    condition: str


class ClearGoal(Struct, frozen=True):
    """Judge no more."""


class ResumeGoal(Struct, frozen=True):
    """Go on with the goal there is."""


class ShowGoal(Struct, frozen=True):
    """Tell the goal and how it stands."""


GoalCommand = SetGoal | ClearGoal | ResumeGoal | ShowGoal


def goal_command(text: str) -> GoalCommand | None:
    """What a line that begins with `/goal` asks for; None for any other words."""
    found = _COMMAND.match(text)
    return None if found is None else read_arguments(found["arguments"] or "")


def read_arguments(arguments: str) -> GoalCommand:
    """What the words behind `/goal` ask for."""
    words = arguments.strip()
    if words.lower() in _CLEAR:
        return ClearGoal()
    if words.lower() in _SHOW:
        return ShowGoal()
    return ResumeGoal() if words.lower() == _RESUME else SetGoal(words)


def how_it_stands(goal: Goal | None) -> str:
    """What a person is told who asks for the goal."""
    if goal is None or goal.state == "cleared":
        return "This session has no goal."
    reason = f"\nWhat was said of it last: {goal.reason}" if goal.reason else ""
    sent_on = f", sent on {goal.reentries} of {goal.most} times" if goal.reentries else ""
    return f"The goal is {goal.state}{sent_on}: {goal.condition}{reason}"


def going_on(goal: Goal) -> str:
    """The prompt with which a person lets a session go on with its goal."""
    missing = f"\n\nWhat was missing last: {goal.reason}" if goal.reason else ""
    return f"Go on with the goal of this session: {cut(goal.condition, _SHOWN)}{missing}"


_NOTE: Final = """\
<system-reminder>
{goal}
When you are about to end your turn, an independent judge looks at the results of your work, not \
at what you say of them, and sends you on if the goal is not reached. So let a command or a file \
show that it is, after your last change. If it cannot be reached, or needs a decision of the user, \
say so and end.
</system-reminder>"""
_SAID_ABOVE: Final = "What is said above is the goal of this session from now on."
_SAID_HERE: Final = "This session has a goal from now on: {condition}"


def with_note(given: PromptInput) -> PromptInput:
    """A prompt that gives a goal, with what the model is to know of that."""
    if given.goal is None:
        return given
    said = any(isinstance(p, TextInput) and p.text.strip() == given.goal for p in given.parts)
    condition = cut(given.goal, _SHOWN).replace("<", "&lt;")
    words = _NOTE.format(goal=_SAID_ABOVE if said else _SAID_HERE.format(condition=condition))
    parts: tuple[PromptInputPart, ...] = (*given.parts, TextInput(words, synthetic=True))
    return msgspec.structs.replace(given, parts=parts)

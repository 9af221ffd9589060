"""The shape of `hook`: programs that are run at certain points of an actor's work."""

import re
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta, Struct

HookPoint = Literal[
    "actor.pre_stop", "actor.post_stop", "session.pre", "session.post", "step.pre", "step.post"
]
HOOK_POINTS: Final[tuple[HookPoint, ...]] = get_args(HookPoint)
HOOK_SECONDS: Final = 60.0
"""What one run of a hook may take unless it says otherwise."""

Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class Matcher(Struct, frozen=True, forbid_unknown_fields=True):
    """Which actors a hook is for; what is not given leaves the choice open.

    Raises ValueError for a pattern that is not understood, and for choices that contradict.
    """

    agent: str | tuple[str, ...] | None = None
    """A regular expression for the whole name of the agent, or a list of names. An expression
    finds a built-in agent only where one of its alternatives is that very name."""
    exclude: tuple[str, ...] = ()
    """Names that are taken out of what `agent` finds, or of all agents that are not built in."""
    exclude_only: tuple[str, ...] | None = None
    """Every agent but these, the built-in ones included."""
    mode: Literal["subagent", "peer"] | None = None

    def __post_init__(self) -> None:
        if self.exclude_only is not None and (self.agent is not None or self.exclude):
            raise ValueError("exclude_only stands alone: it goes with neither agent nor exclude")
        if isinstance(self.agent, str):
            # Imported here: most configurations hold no pattern.
            from roost.config.pattern import PatternError, name_pattern

            try:
                name_pattern(self.agent)
            except PatternError as error:
                raise ValueError(f"the pattern {self.agent!r} {error}") from error


class HookConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `hook`: a program that is told of something and may answer."""

    on: HookPoint
    command: str | tuple[str, ...]
    """A line for the shell, or a program with its arguments."""
    matcher: Matcher | None = None
    """None: every agent; at `actor.*` every agent that is not built in."""
    timeout: Seconds = HOOK_SECONDS
    """Seconds; then the program and all that it started are killed."""
    env: dict[str, str] = {}
    """Variables on top of what programs of tools see."""

    def __post_init__(self) -> None:
        if not self.command or not self.command[0].strip():
            raise ValueError("the command is empty")
        words = (self.command,) if isinstance(self.command, str) else self.command
        if not all(map(_can_be_given, (*words, *self.env, *self.env.values()))):
            raise ValueError("a NUL or half a character can be given to no program")
        if any(not name or "=" in name for name in self.env):
            raise ValueError("a variable in env has a name that none can have")


def _can_be_given(text: str) -> bool:
    return "\x00" not in text and re.search("[\ud800-\udfff]", text) is None

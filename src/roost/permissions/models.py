"""Permission rules, what is asked for, and the answer. Data only."""

from typing import Any, Literal

from msgspec import Struct

from roost.config.models import Action

Rank = Literal["defaults", "user", "project", "agent", "session"]
"""Who gives a layer its authority, from the product to the single session."""
Reply = Literal["once", "always", "reject"]
"""What a person may answer."""


class Rule(Struct, frozen=True):
    """What to do about requests whose permission and pattern match; `*` and `?` are wildcards."""

    permission: str
    pattern: str
    """`@read-only` matches shell commands that are proved to change nothing, `@changing` those that
    are not, `@outside` paths that are not in the project."""
    action: Action


class Layer(Struct, frozen=True):
    """The rules of one authority in written order: the last one that matches is its opinion."""

    name: str
    """Where it comes from, for people: a file, an agent, `defaults`."""
    rank: Rank
    rules: tuple[Rule, ...]
    tighten_only: bool = False
    """An untrusted repository: it may say ask or deny and never moves a verdict the other way."""

    @property
    def binding(self) -> bool:
        """Whether a deny of this layer is final. What ships with Roost may be overruled."""
        return self.rank != "defaults"


class Traits(Struct, frozen=True):
    """What is known about one pattern of a request beside its text."""

    same: tuple[str, ...] = ()
    """Other spellings of exactly the same thing; any rule matches them too."""
    covers: tuple[str, ...] = ()
    """Things that happen along with it, or a name it goes by: only a deny matches them."""
    read_only: bool = False
    """Proved to change nothing."""
    opaque: bool = False
    """Its meaning cannot be told from its text: no allow but one of everything (`*`) matches."""
    stem: str | None = None
    """The known beginning, where the rest of the text is only known when it runs."""
    glob: bool = False
    """The text is a pattern of file names: an ask or deny matches if it could be about one."""
    outside: bool = False
    """It lies outside the project."""


class PermissionRequest(Struct, frozen=True):
    """One thing an actor wants to do, in the terms of rules. All patterns must be allowed."""

    permission: str
    patterns: tuple[str, ...]
    always: tuple[str, ...] = ()
    """What a grant would cover if the person says "always"; empty: it cannot be granted."""
    metadata: dict[str, Any] = {}
    title: str = ""
    forced: bool = False
    """A person must agree each time: no grant counts, and of the rules only one of the user's own
    that names this very permission allows it."""
    needs_person: bool = False
    """Not even "yes to all" of a run without a person allows it."""
    also: tuple[str, ...] = ()
    """Further permissions whose denies count, so that one question is enough."""
    traits: tuple[Traits, ...] = ()
    """One for each pattern, or none at all."""


class Decision(Struct, frozen=True):
    """What was decided about one pattern, and by which rule."""

    pattern: str
    action: Action
    rule: Rule | None
    """None: no rule matched, or the absence of a person decided."""
    layer: str


class Verdict(Struct, frozen=True):
    """The answer to a request: the strictest of the decisions about its patterns."""

    action: Action
    decisions: tuple[Decision, ...]
    reason: str
    """Plain words for the model and the person; empty for allow."""

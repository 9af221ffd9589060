"""Rules from configuration, and the verdict of all layers about a request. Pure.

A later layer overrides asks and allows of an earlier one. It never lifts a deny: the user's own
deny holds against the repository, the agent and the session, theirs against what follows them, and
no remembered grant counts against any. Only the defaults that ship with Roost bind nobody.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from roost.config.models import Action, PermissionMap
from roost.permissions.models import (
    Decision,
    Layer,
    PermissionRequest,
    Rule,
    Traits,
    Verdict,
)
from roost.permissions.wildcards import (
    CHANGING,
    OUTSIDE,
    READ_ONLY,
    literal_start,
    matches,
    may_overlap,
    normal_pattern,
)
from roost.permissions.words import in_words

_EDITING: Final = {"write", "edit", "multiedit", "patch", "apply_patch", "notebook_edit"}
STRICTNESS: Final[dict[Action, int]] = {"allow": 0, "ask": 1, "deny": 2}
"""How much an action forbids."""
_NOTHING: Final = Traits()
_KINDS: Final = {"*", READ_ONLY, CHANGING, OUTSIDE}
"""Patterns that are about no text."""


def permission_of(tool: str) -> str:
    """The permission that a tool asks for: every editing tool is `edit`, `task` of OpenCode (which
    starts a subagent) is `actor`, all others have their own name."""
    if tool in _EDITING:
        return "edit"
    return "actor" if tool == "task" else tool


def rules_of(permission: PermissionMap | None, home: Path) -> tuple[Rule, ...]:
    """The `permission` of a configuration as rules, in written order.

    `"ask"` means everything; `{key: action}` and `{key: {pattern: action}}` may be mixed.
    """
    if permission is None:
        return ()
    if isinstance(permission, str):
        return (Rule("*", "*", permission),)
    rules: list[Rule] = []
    for key, value in permission.items():
        name = permission_of(key)
        entries: dict[str, Action] = {"*": value} if isinstance(value, str) else value
        for pattern, action in entries.items():
            rules.append(Rule(name, normal_pattern(name, pattern, home), action))
    return tuple(rules)


def rules_of_tools(tools: dict[str, bool]) -> tuple[Rule, ...]:
    """The deprecated `tools` switches as rules for all patterns."""
    return tuple(
        Rule(permission_of(tool), "*", "allow" if on else "deny") for tool, on in tools.items()
    )


def evaluate(
    request: PermissionRequest, layers: Sequence[Layer], grants: Iterable[Rule] = ()
) -> Verdict:
    """The verdict of `layers`, lowest authority first, and of what the person granted before."""
    granted = tuple(grants)
    traits = request.traits or (_NOTHING,) * len(request.patterns)
    decisions = tuple(
        _decide(request, pattern, trait, layers, granted)
        for pattern, trait in zip(request.patterns, traits, strict=True)
    )
    # A request about nothing asks: it was built wrongly, and silence is no consent.
    strictest = max(decisions, key=lambda one: STRICTNESS[one.action], default=None)
    action: Action = strictest.action if strictest else "ask"
    return Verdict(action, decisions, _reason(request, strictest))


def _reason(request: PermissionRequest, strictest: Decision | None) -> str:
    if strictest is None or strictest.action == "allow":
        return ""
    what = in_words(request.permission, strictest.pattern)
    if strictest.action == "ask":
        return f"{what} needs approval"
    rule = strictest.rule
    shown = f"{rule.permission}: {rule.pattern}" if rule else "no rule"
    return f"{what} is denied by {strictest.layer} ({shown})"


def _decide(
    request: PermissionRequest,
    pattern: str,
    traits: Traits,
    layers: Sequence[Layer],
    grants: tuple[Rule, ...],
) -> Decision:
    current = Decision(pattern, "ask", None, "")
    for layer in layers:
        if denied := _denied_otherwise(request, pattern, traits, layer):
            return denied
        rule = _last_match(layer.rules, request.permission, pattern, traits)
        if rule is None:
            continue
        opinion = Decision(pattern, _weight(rule, layer, request), rule, layer.name)
        if opinion.action == "deny" and layer.binding:
            return opinion
        loosens = STRICTNESS[opinion.action] < STRICTNESS[current.action]
        undecided = current.rule is None
        if not layer.tighten_only or undecided or not loosens:
            current = opinion
    if current.action == "allow":
        return _unless_denied_in_part(current, request, traits, layers)
    if current.action == "ask" and not request.forced and not traits.opaque:
        return _granted(current, request, pattern, traits, grants)
    return current


def _denied_otherwise(
    request: PermissionRequest, pattern: str, traits: Traits, layer: Layer
) -> Decision | None:
    """The deny of `layer` under another permission that the request is also about."""
    for permission in request.also if layer.binding else ():
        rule = _last_match(layer.rules, permission, pattern, traits)
        if rule is not None and rule.action == "deny":
            return Decision(pattern, "deny", rule, layer.name)
    return None


def _weight(rule: Rule, layer: Layer, request: PermissionRequest) -> Action:
    """The action of a matching rule; a forced request turns most allows into asks."""
    if rule.action != "allow":
        return rule.action
    if layer.tighten_only:
        return "ask"
    named = layer.rank == "user" and rule.permission == request.permission
    return "ask" if request.forced and not named else "allow"


def _last_match(
    rules: tuple[Rule, ...], permission: str, pattern: str, traits: Traits
) -> Rule | None:
    for rule in reversed(rules):
        if matches(rule.permission, permission) and _fits(rule, pattern, traits):
            return rule
    return None


def _fits(rule: Rule, pattern: str, traits: Traits) -> bool:
    if rule.pattern == "*":
        return True
    if rule.pattern == READ_ONLY:
        return traits.read_only
    if rule.pattern == CHANGING:
        return not traits.read_only
    if rule.pattern == OUTSIDE:
        return traits.outside
    if traits.opaque and rule.action == "allow":
        return False
    if any(matches(rule.pattern, one) for one in (pattern, *traits.same)):
        return True
    if traits.glob and rule.action != "allow":
        return any(may_overlap(one, rule.pattern) for one in (pattern, *traits.same))
    return rule.action == "deny" and any(matches(rule.pattern, one) for one in traits.covers)


def _unless_denied_in_part(
    allowed: Decision, request: PermissionRequest, traits: Traits, layers: Sequence[Layer]
) -> Decision:
    """Ask where the part that is only known later could turn out to be denied."""
    if traits.stem is None:
        return allowed
    for layer in layers:
        for rule in layer.rules:
            about = rule.action == "deny" and matches(rule.permission, request.permission)
            if about and rule.pattern not in _KINDS and _may_become(traits.stem, rule):
                return Decision(allowed.pattern, "ask", rule, layer.name)
    return allowed


def _may_become(stem: str, rule: Rule) -> bool:
    start = literal_start(rule.pattern)
    return stem.startswith(start) or start.startswith(stem)


def _granted(
    asked: Decision,
    request: PermissionRequest,
    pattern: str,
    traits: Traits,
    grants: tuple[Rule, ...],
) -> Decision:
    for grant in grants:
        about = grant.action == "allow" and matches(grant.permission, request.permission)
        if about and any(matches(grant.pattern, one) for one in (pattern, *traits.same)):
            return Decision(pattern, "allow", grant, "granted")
    return asked


def settle_alone(request: PermissionRequest, verdict: Verdict, *, yes: bool) -> Verdict:
    """The final answer where no person can be asked.

    Without `yes` an ask is a deny. `yes` lifts asks, but never a deny, and nothing that needs a
    person: deletes outside the project and kills by name stay denied.
    """
    if verdict.action != "ask":
        return verdict
    if yes and not request.needs_person:
        return Verdict("allow", verdict.decisions, "")
    why = (
        "a person has to agree to this each time, and there is nobody to ask"
        if request.needs_person
        else "there is nobody to ask"
    )
    return Verdict("deny", verdict.decisions, f"{verdict.reason}, and {why}")


def is_hidden(permission: str, layers: Sequence[Layer]) -> bool:
    """Whether every request for `permission` would be denied, so that its tool need not be shown.

    `permission` is that of a tool, see `permission_of`.
    """
    for layer in layers:
        about = [rule for rule in layer.rules if matches(rule.permission, permission)]
        if about and layer.binding and about[-1].action == "deny" and about[-1].pattern == "*":
            return True
    return False

"""What an actor may do that was started by another one: never more than those above it. Pure."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from roost.permissions.models import Layer, PermissionRequest, Rule, Verdict
from roost.permissions.rules import STRICTNESS, evaluate

Rights = Sequence[Layer]
"""All layers that hold for one actor, lowest authority first."""


def narrowed(parent: Verdict, child: Verdict) -> Verdict:
    """What holds for a child: the stricter of the two verdicts about one request.

    Where both are equally strict the child's own stands, since its reason is nearer.
    """
    if STRICTNESS[child.action] >= STRICTNESS[parent.action]:
        return child
    return replace(parent, reason=f"{parent.reason}, which holds for those it starts too")


def evaluate_lineage(
    request: PermissionRequest, lineage: Sequence[Rights], grants: Iterable[Rule] = ()
) -> Verdict:
    """The verdict for the first of `lineage`, narrowed by every actor above it: its parent next,
    the root last. `grants` is what the person allowed before, to whomever.

    Raises `ValueError` for a lineage without anybody.
    """
    if not lineage:
        raise ValueError("a request is somebody's")
    granted = tuple(grants)
    verdict, *above = (evaluate(request, layers, granted) for layers in lineage)
    for one in above:
        verdict = narrowed(one, verdict)
    return verdict

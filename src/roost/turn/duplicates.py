"""Which calls of one step only repeat another one of it. Pure.

Of equal calls the first is run. It is run again only after a new call that may change something:
tests, an edit, the same tests are three calls, and forty times the same two commands are two.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from roost.tools.arguments import ArgumentsError, parse_call
from roost.tools.contract import Tool
from roost.turn.loops import call_signature
from roost.turn.recorder import CallDraft

NOT_REPEATED = (
    "Not run again: the same call stands before this one in the same step, and its result holds "
    "for both."
)


class _Known(Struct, frozen=True):
    """A call that is run."""

    id: str
    at: int


def duplicates(drafts: Sequence[CallDraft], tools: Mapping[str, Tool[Any]]) -> dict[str, str]:
    """Of each call that is not to be run, by the id of its part: the id of the call it repeats."""
    known: dict[bytes, _Known] = {}
    found: dict[str, str] = {}
    last_change = -1
    for at, draft in enumerate(drafts if len(drafts) > 1 else ()):
        try:
            parsed = parse_call(tools, draft.part.tool, draft.arguments, complete=draft.complete)
        except ArgumentsError:
            continue
        signature = call_signature(parsed.tool.name, parsed.input)
        before = known.get(signature)
        if before is not None and last_change <= before.at and not parsed.tool.repeats:
            found[draft.part.id] = before.id
            continue
        known[signature] = _Known(draft.part.call_id, at)
        if before is None and parsed.tool.effects_of(parsed.arguments) == "writes":
            last_change = at
    return found

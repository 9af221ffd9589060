"""What is said of a request once it is answered."""

from typing import Literal

from roost.cli.requests.words import answer_of, what
from roost.cli.table import as_json
from roost.core.text import cut, terminal_safe
from roost.permissions.asks import Ask

_SHOWN = 200
"""Characters of what was asked for that are repeated."""


def tell_of(ask: Ask, format_: Literal["text", "json"], *, is_new: bool) -> None:
    """Print what has become of `ask`; not `is_new`: it had been answered so before."""
    if format_ == "json":
        shown = {"id": ask.id, "sessionID": ask.session_id, "kind": ask.kind}
        print(as_json({**shown, "state": ask.state, "answer": ask.answer, "new": is_new}))
        return
    said = cut(" ".join(what(ask).split()), _SHOWN)
    before = "" if is_new else " before"
    print(terminal_safe(f"{ask.id}: {answer_of(ask)}{before} ({said})"))

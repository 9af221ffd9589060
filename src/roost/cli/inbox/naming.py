"""Which message a command means: an id, or the beginning of one."""

from typing import Final

from roost.core.errors import NotFoundError, UsageError
from roost.core.text import echo, terminal_safe
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.listing import beginning_with
from roost.inbox.models import InboxRow

PREFIX: Final = "inb_"
SHORTEST: Final = 4
"""Characters after `inb_` that the beginning of an id needs: fewer name a message by accident."""
_SHOWN: Final = 5


def named_message(db: Reader, word: str) -> InboxRow:
    """The message whose id is `word`, or the only one whose id begins so (`inb_` may be left out).

    Of several the only one that nobody has heard yet is meant. Raises `NotFoundError` when there
    is none, and `UsageError` when there are several.
    """
    if (row := inbox.find(db, word)) is not None:
        return row
    start = word if word.startswith(PREFIX) else PREFIX + word
    is_enough = len(start) >= len(PREFIX) + SHORTEST
    found = beginning_with(db, start, _SHOWN + 1) if is_enough else []
    waiting = [row for row in found if row.state == "queued"]
    if len(waiting) == 1 or len(found) == 1:
        return (waiting or found)[0]
    if not found:
        raise NotFoundError(
            f"there is no message {echo(word)} in any inbox",
            hint="`roost inbox list` shows the ids of those in a session.",
        )
    listed = [f"{row.id}  {row.state}" for row in found[:_SHOWN]]
    hint = terminal_safe("\n".join(["Give more of the id:", *listed]))
    raise UsageError(f"several messages begin with {echo(word)}", hint=hint)

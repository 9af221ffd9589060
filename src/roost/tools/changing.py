"""Planned changes of files on their way: shown for approval, carried out, told to clients."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.core.text import clean
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.tools.contract import ToolContext
from roost.tools.paths import permit_reading
from roost.workspace.changes import FileChange, commit
from roost.workspace.diff import FileDiff
from roost.workspace.guard import Located

_HUNK: Final = re.compile(r"^@@ -(\d+),\d+ \+(\d+),\d+ @@$", re.MULTILINE)
T = TypeVar("T")


async def permit_seeing(context: ToolContext, places: Sequence[Located]) -> None:
    """Return when the actor may know what `places` hold: refusals of edits quote from there."""
    unknown = [
        place for place in places if place.real.is_file() and not context.ledger.knows(place.real)
    ]
    if unknown:
        await permit_reading(context, unknown)


async def carry_out(context: ToolContext, changes: Sequence[FileChange]) -> None:
    """Make all of `changes`, or none, and tell clients. A cancellation waits for the end of it."""
    async with context.record.writing(changes):
        await to_completion(lambda: commit(changes, context.ledger))
    for change in changes:
        context.touched(change.real)
    session = context.actor.session_id

    def tell(tx: Transaction) -> None:
        for change in changes:
            path = {"file": clean(str(change.real))}
            tx.emit(Event("file.edited", path, session_id=session))

    await context.database.write(tell)


async def to_completion(work: Callable[[], T]) -> T:
    """The result of `work` in a thread; whoever is cancelled meanwhile is so when it has ended."""
    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        running.exception()  # nobody is left who could use it
        raise


def change_metadata(change: FileChange) -> dict[str, Any]:
    """What OpenCode's clients know of one changed file."""
    patch = valid_patch(change.diff)
    return {
        "diff": patch,
        "filediff": {
            "file": clean(str(change.real)),
            "patch": patch,
            "additions": change.diff.additions,
            "deletions": change.diff.deletions,
        },
        "diagnostics": {},
    }


def counts(diff: FileDiff) -> str:
    """How many lines came and went."""
    return f"+{diff.additions} -{diff.deletions} lines"


def looseness(change: FileChange) -> str:
    """What to say where a quoted place was found although it was not quoted exactly."""
    loose = sorted({step for step in change.steps if step != "exact"})
    if not loose:
        return ""
    return (
        f"\nThe quoted text differs from the file ({', '.join(loose)}), but fits only one place."
        f" What was changed:\n{clean(change.diff.text)}"
    )


def valid_patch(diff: FileDiff) -> str:
    """The difference as a unified diff that programs accept, also where it was cut."""
    text = clean(diff.text)
    if not diff.cut:
        return text
    body = text[: text.rindex("\n", 0, -1) + 1]
    headers = list(_HUNK.finditer(body))
    if not headers:
        return ""
    last = headers[-1]
    lines = body[last.end() + 1 :].splitlines()
    old = sum(line[:1] in {" ", "-"} for line in lines)
    new = sum(line[:1] in {" ", "+"} for line in lines)
    return f"{body[: last.start()]}@@ -{last[1]},{old} +{last[2]},{new} @@{body[last.end() :]}"


def whole_size(real: Path) -> int:
    """Bytes of the file at `real`; 0 if there is none."""
    try:
        return real.stat().st_size
    except OSError:
        return 0

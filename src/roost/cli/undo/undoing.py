"""`roost undo`: takes back the end of a session, or shows what that would do."""

import os
import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell as remark
from roost.cli.storage import run_at_home
from roost.cli.table import as_json
from roost.cli.terminal import columns_of, look_of
from roost.cli.undo.words import listed
from roost.cli.undo.work import Said, in_runtime, tell
from roost.runtime.runtime import Runtime
from roost.runtime.undo_facts import last_prompt


class UndoOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost undo`."""

    session: str | None = None
    to: str | None = None
    list: bool = False
    preview: bool = False
    keep_files: bool = False
    format: Literal["text", "json"] = "text"
    dir: str | None = None


def execute(given: dict[str, Any]) -> int:
    """Take back. Raises `NotFoundError`, `UsageError`, and `BusyError` for a session at work."""
    options = msgspec.convert(given, UndoOptions)

    async def work(runtime: Runtime, said: Said) -> int:
        return _list(said, options) if options.list else await _undo(runtime, said, options)

    return run_at_home(given, lambda home: in_runtime(home, options.session, options.dir, work))


def _list(said: Said, options: UndoOptions) -> int:
    if options.format == "json":
        cut = said.cut
        shown = [
            {
                "messageID": one.message_id,
                "text": one.text,
                "takenBack": cut is not None and one.seq >= cut,
            }
            for one in reversed(said.prompts)
        ]
        print(as_json(shown))
        return 0
    look = look_of(sys.stdout, os.environ)
    told = listed(said.prompts, said.cut, look, columns_of(sys.stdout))
    print("\n".join(told or ["nobody has said anything in it yet"]))
    return 0


async def _undo(runtime: Runtime, said: Said, options: UndoOptions) -> int:
    session_id = said.session.id
    if options.to is not None:
        target = said.named(options.to)
    elif said.begun is not None:
        target = said.begun
    else:
        target = await runtime.database.read(lambda db: last_prompt(db, session_id))
    act = runtime.undo.preview if options.preview else runtime.undo.revert
    done = await act(session_id, target.message_id, files=not options.keep_files)
    already = None if options.to is not None or said.begun else said.cut
    gone = [
        one.text
        for one in said.prompts
        if one.seq >= target.seq and (already is None or one.seq < already)
    ]
    code = tell(done, gone, "back", options.format, preview=options.preview)
    if options.format == "text" and not options.preview:
        remark("`roost redo` brings it back, until the next prompt.\n")
    return code

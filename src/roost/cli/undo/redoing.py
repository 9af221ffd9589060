"""`roost redo`: brings back what was taken back last, or all of it."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.storage import run_at_home
from roost.cli.undo.work import Said, in_runtime, tell
from roost.core.errors import NotFoundError
from roost.runtime.runtime import Runtime


class RedoOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost redo`."""

    session: str | None = None
    all: bool = False
    preview: bool = False
    format: Literal["text", "json"] = "text"
    dir: str | None = None


def execute(given: dict[str, Any]) -> int:
    """Bring back. Raises `NotFoundError`, `UsageError`, and `BusyError` for a session at work."""
    options = msgspec.convert(given, RedoOptions)

    async def work(runtime: Runtime, said: Said) -> int:
        return await _redo(runtime, said, options)

    return run_at_home(given, lambda home: in_runtime(home, options.session, options.dir, work))


async def _redo(runtime: Runtime, said: Said, options: RedoOptions) -> int:
    session_id, cut, state = said.session.id, said.cut, said.state
    if cut is None or state is None:
        raise NotFoundError(
            f"nothing of session {session_id} is taken back",
            hint="What `roost undo` takes back can be brought back until the next prompt.",
        )
    gone = [one for one in said.prompts if one.seq >= cut]
    if options.all or len(gone) <= 1:
        act = runtime.undo.preview_return if options.preview else runtime.undo.unrevert
        done = await act(session_id)
        back = [one.text for one in gone]
    else:
        again = runtime.undo.preview if options.preview else runtime.undo.revert
        done = await again(session_id, gone[1].message_id, files=state.files)
        back = [gone[0].text]
    return tell(done, back, "forth", options.format, preview=options.preview)

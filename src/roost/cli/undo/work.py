"""What undo and redo share: the session that is meant, in a runtime that runs no actors."""

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from roost.actors import store as actors
from roost.cli.sessions.naming import chosen
from roost.cli.storage import Home, tell_notes
from roost.cli.table import as_json
from roost.cli.terminal import look_of
from roost.cli.undo.words import Way, lines
from roost.core.errors import NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime
from roost.runtime.undo_change import Undone
from roost.sessions import undo_store
from roost.sessions.models import Session
from roost.sessions.undo_store import Prompt, UndoState

SHORTEST: Final = 4
"""Characters of an id that name a message."""
_CHOICES: Final = 5
_PREFIX: Final = "msg_"


class Said(Struct, frozen=True):
    """The prompts of a session, the oldest first, and what of it is taken back."""

    session: Session
    prompts: list[Prompt]
    state: UndoState | None

    @property
    def cut(self) -> int | None:
        """From which place on it is taken back."""
        return self.state.cut.seq if self.state else None

    @property
    def begun(self) -> Prompt | None:
        """What an undo that was killed was about to take back."""
        if self.state is None or self.state.phase != "reverting":
            return None
        return next((one for one in self.prompts if one.seq >= self.state.cut.seq), None)

    def named(self, word: str) -> Prompt:
        """The prompt of that id, or the only one whose id ends or begins so. Raises `UsageError`
        and `NotFoundError`.
        """
        found = [one for one in self.prompts if _fits(one.message_id, word)]
        if len(found) == 1:
            return found[0]
        choices = found or self.prompts
        hint = "\n".join(
            ["There are:", *(f"{one.message_id}  {one.text[:60]}" for one in choices[-_CHOICES:])]
        )
        if found:
            raise UsageError(f"several prompts fit {word}", hint=hint)
        raise NotFoundError(f"there is no prompt {word} in session {self.session.id}", hint=hint)


def _fits(message_id: str, word: str) -> bool:
    if message_id == word:
        return True
    bare = word.removeprefix(_PREFIX)
    if len(bare) < SHORTEST:
        return False
    return message_id.endswith(bare) or message_id.removeprefix(_PREFIX).startswith(bare)


async def in_runtime(
    home: Home,
    session: str | None,
    folder: str | None,
    work: Callable[[Runtime, Said], Awaitable[int]],
) -> int:
    """Do `work` with the session that is meant. Raises `NotFoundError` and `UsageError`."""
    settings = Settings(
        environment=home.environ, interactive=False, make_titles=False, runs_actors=False
    )
    async with Runtime.open(settings) as runtime:
        tell_notes(runtime.database)
        said = await runtime.database.read(lambda db: read_said(db, session, folder))
        if said.state is not None and said.state.phase == "returning":
            # A redo was killed: what it began is done before anything else is.
            await runtime.undo.finish(said.session.id)
            said = await runtime.database.read(lambda db: read_said(db, session, folder))
        return await work(runtime, said)


def read_said(db: Reader, word: str | None, folder: str | None) -> Said:
    """The session that is meant, with what persons said in it."""
    session = chosen(db, word, folder)
    front = actors.front(db, session.id)
    prompts = undo_store.prompts(db, session.id, front.actor_id)
    return Said(session, prompts, undo_store.find(db, session.id))


def tell(
    done: Undone, said: Sequence[str], way: Way, form: Literal["text", "json"], *, preview: bool
) -> int:
    """Print what was done, or would be, and give the exit code."""
    if form == "json":
        print(as_json(_document(done, said, preview=preview)))
    else:
        look = look_of(sys.stdout, os.environ)
        print("\n".join(lines(done, said, way, look, preview=preview)))
    return 1 if done.left else 0


def _document(done: Undone, said: Sequence[str], *, preview: bool) -> dict[str, Any]:
    return {
        "sessionID": done.session.id,
        "preview": preview,
        "messageID": done.cut.message_id if done.cut else None,
        "prompts": list(said),
        "files": [
            {"path": one.path, "action": one.action, "reason": one.reason} for one in done.files
        ],
        "complete": not done.left,
        "notes": list(done.notes),
    }

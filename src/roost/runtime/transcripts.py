"""What was said in a session, as it is now: what is stored, and the text that streams here."""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from roost.actors import store as actors
from roost.actors.models import Turn
from roost.actors.turn_store import find_turn, get_turn
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.inbox import store as inbox
from roost.inbox.conversation import (
    Page,
    as_it_streams,
    find_message,
    find_row,
    read_answer,
    read_page,
)
from roost.inbox.models import Address
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import Message

_LOOKS: Final = 3
"""How often messages are read again because a step ended while they were read."""
T = TypeVar("T")


class Transcripts:
    """Reads messages for people and clients. Methods raise `NotFoundError` or `StorageError`."""

    def __init__(self, database: Database, texts: Callable[[str], dict[str, str]]) -> None:
        """`texts` gives what streams in a session in this process, by part id."""
        self._database = database
        self._texts = texts

    async def page(
        self,
        session_id: str,
        actor_id: str | None = None,
        *,
        everybody: bool = False,
        limit: int | None = None,
        before: str | None = None,
    ) -> Page:
        """The messages of an actor, oldest first; queued prompts come last.

        Of the one that fronts the session where none is named; with `everybody` of all.

        With `limit` only the newest so many; with `before`, a message id, only older ones. Text
        that streams in this process is there to its last letter when this returns.
        """

        def read(db: Reader) -> Page:
            sessions.get(db, session_id)
            whose = None
            if not everybody:
                whose = actor_id or actors.front(db, session_id).actor_id
            return read_page(db, session_id, whose, limit=limit, before=before)

        page, texts = await self._with_texts(session_id, read)
        return msgspec.structs.replace(page, messages=as_it_streams(page.messages, texts))

    async def answer(self, session_id: str, prompt_id: str, *, limit: int) -> list[Message]:
        """What stands after a prompt in the turn that took it up, and in the turns that came of it
        since: those that no further prompt began. At most the newest `limit`.

        What other turns said is left out, whichever process ran them.
        """
        messages, texts = await self._with_texts(
            session_id, lambda db: _answer(db, session_id, prompt_id, limit)
        )
        return as_it_streams(messages, texts)

    async def message(self, session_id: str, message_id: str) -> Message:
        """One message, also while it is queued or streams."""
        message, texts = await self._with_texts(
            session_id, lambda db: find_message(db, session_id, message_id)
        )
        return as_it_streams([message], texts)[0]

    async def _with_texts(
        self, session_id: str, read: Callable[[Reader], T]
    ) -> tuple[T, dict[str, str]]:
        """What `read` gives, and the text that streams here.

        A step that ends meanwhile may be in neither as it was last seen; then it is read again.
        """
        texts = self._texts(session_id)
        looks = 0
        while True:
            before, looks = texts.keys(), looks + 1
            found = await self._database.read(read)
            texts = self._texts(session_id)
            if before <= texts.keys() or looks == _LOOKS:
                return found, texts


def _answer(db: Reader, session_id: str, prompt_id: str, limit: int) -> list[Message]:
    """See `Transcripts.answer`."""
    row = find_row(db, session_id, prompt_id)
    if row is None or row.turn_id is None:
        return []
    found: list[Message] = []
    for turn in reversed(_woken(db, row.receiver, get_turn(db, row.turn_id))):
        if (room := limit - len(found)) <= 0:
            return found
        said = transcript.load(db, session_id, row.receiver.actor_id, limit=room, turn_id=turn.id)
        found = said + found
    room = limit - len(found)
    first = read_answer(db, session_id, prompt_id, limit=room) if room > 0 else []
    return first + found


def _woken(db: Reader, address: Address, first: Turn) -> list[Turn]:
    """The turns after `first` up to the next one that a person's words began."""
    found: list[Turn] = []
    while later := find_turn(db, address, first.number + len(found) + 1):
        if inbox.heard_prompt(db, address, later.id):
            break
        found.append(later)
    return found

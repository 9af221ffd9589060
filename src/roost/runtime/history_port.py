"""What was said in sessions, as one call of a tool sees it."""

from typing import Final

import msgspec

from roost.core.errors import NotFoundError
from roost.core.text import echo
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.memory.layout import Whose
from roost.runtime.history import History
from roost.sessions import spoken as messages
from roost.sessions.said import Said, SaidKind, said_in
from roost.sessions.spoken import Spoken
from roost.tools.history_port import HistoryFound, HistoryQuery, Reach

_HINT: Final = "`search` shows the ids there are."


class HistoryPort:
    """See `roost.tools.history_port.HistoryPort`."""

    def __init__(self, database: Database, history: History, whose: Whose) -> None:
        self._database = database
        self._history = history
        self._whose = whose

    @property
    def kinds(self) -> tuple[SaidKind, ...]:
        """What can be found."""
        return self._history.kinds

    async def search(self, query: HistoryQuery, reach: Reach) -> HistoryFound:
        """The passages that fit best within `reach`."""
        own = {
            "session": {"session_id": self._whose.session_id},
            "project": {"project_id": self._whose.project_id},
            "global": {},
        }[reach]
        return await self._history.search(msgspec.structs.replace(query, **own))

    async def around(self, message_id: str, count: int) -> list[Spoken]:
        """A message with its neighbours."""
        return await self._database.read(lambda db: _around(db, message_id, count))

    async def text(self, part_id: str) -> list[Said]:
        """Every text of a part that can be found, whole."""
        found = await self._database.read(lambda db: _said(db, part_id))
        texts = [one for one in found if one.kind in self.kinds]
        if found and not texts:
            raise NotFoundError(
                f"{part_id} holds nothing that may be looked at",
                hint="The setting history.kinds says what may: " + ", ".join(self.kinds),
            )
        return texts


def _around(db: Reader, message_id: str, count: int) -> list[Spoken]:
    found = messages.find(db, message_id)
    if found is None:
        raise NotFoundError(f"there is no message {echo(message_id)}", hint=_HINT)
    return messages.beside(db, found, count)


def _said(db: Reader, part_id: str) -> list[Said]:
    message_id = messages.message_of_part(db, part_id)
    found = messages.find(db, message_id) if message_id else None
    if found is None:
        raise NotFoundError(f"there is no part {echo(part_id)}", hint=_HINT)
    texts = [one for one in said_in(found.message) if one.part.id == part_id]
    if not texts:
        raise NotFoundError(f"the part {echo(part_id)} holds no text", hint=_HINT)
    return texts

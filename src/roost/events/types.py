"""The two shapes of news: an event of a committed transaction, and a delta of streaming text.

The JSON is OpenCode's: `{"id", "type", "properties"}`.
"""

from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from roost.core.ids import new_id

_encoder = msgspec.json.Encoder()


class Event:
    """One thing that happened; encoded once, however many subscribers read it."""

    def __init__(
        self,
        type_: str,
        properties: Any,
        *,
        session_id: str | None = None,
        directory: str = "",
        part_id: str | None = None,
    ) -> None:
        """`properties`: a struct or dictionary that msgspec can encode; not to be changed later."""
        self.type = type_
        self._properties = properties
        self.session_id = session_id
        self.directory = directory
        """The directory of the session, or empty for news of the whole process."""
        self.part_id = part_id
        """The part it is about, if any: deltas of that part keep their side of it."""

    @cached_property
    def id(self) -> str:
        """Made when it is first asked for: most deltas are merged before anybody does."""
        return new_id("event")

    @property
    def properties(self) -> Any:
        """What it tells."""
        return self._properties

    @cached_property
    def encoded(self) -> bytes:
        """The event as JSON."""
        return _encoder.encode({"id": self.id, "type": self.type, "properties": self.properties})

    def __repr__(self) -> str:
        return f"Event({self.type}, {self.id})"


class DeltaPlace(NamedTuple):
    """Which field of which part a delta belongs to."""

    session_id: str
    message_id: str
    part_id: str
    field: str = "text"


class Delta(Event):
    """Text appended to a part: the only news that may be lost, since the part is stored anyway."""

    def __init__(self, place: DeltaPlace, text: str, directory: str = "") -> None:
        super().__init__(
            "message.part.delta",
            None,
            session_id=place.session_id,
            directory=directory,
            part_id=place.part_id,
        )
        self.place = place
        self.text = text

    @property
    def properties(self) -> dict[str, str]:
        """Built for those who read it: thousands come in a second, and few are read alone."""
        place = self.place
        return {
            "sessionID": place.session_id,
            "messageID": place.message_id,
            "partID": place.part_id,
            "field": place.field,
            "delta": self.text,
        }


def resync() -> Event:
    """Tells a subscriber that news was lost and that it must read the state again."""
    return Event("server.resync", {})

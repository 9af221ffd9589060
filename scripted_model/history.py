"""What was already read of the conversations that keep growing, so that only news is read again."""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from scripted_model.dialogue import Spot
from scripted_model.picture import Message
from scripted_model.prompt_cache import Link

_KEYS: Final = 512
_BRANCHES: Final = 8
"""Histories kept for one first message; more only cost time when they are read anew."""


class Entry(Struct, frozen=True):
    """The state after a message that passed every check."""

    spot: Spot = Spot()
    links: int = 0
    """How many links the conversation has up to here."""
    markers: int = 0
    """Cache breakpoints up to here."""
    media: int = 0
    """Images and documents up to here."""


_START: Final = Entry()


class History:
    """The messages of one conversation as far as they are known to be good."""

    def __init__(self) -> None:
        self.raws: list[bytes] = []
        self.messages: list[Message] = []
        self.entries: list[Entry] = []
        self.links: list[Link] = []
        self.ids: dict[str, int] = {}

    @property
    def last(self) -> Entry:
        """The state after the last message."""
        return self.entries[-1] if self.entries else _START

    def common(self, raws: list[bytes]) -> int:
        """How many messages at the start of `raws` are the ones kept here."""
        size = min(len(self.raws), len(raws))
        if self.raws[:size] == raws[:size]:
            return size
        low = 0
        while low < size and self.raws[low] == raws[low]:
            low += 1
        return low

    def cut(self, size: int) -> None:
        """Forget every message after the first `size`."""
        for message in self.messages[size:]:
            for call in message.calls:
                self.ids.pop(call.id, None)
        del self.raws[size:], self.messages[size:], self.entries[size:]
        del self.links[self.last.links :]

    def copy(self, size: int) -> "History":
        """A history of the first `size` messages; this one stays as it is."""
        other = History()
        other.raws = self.raws[:size]
        other.messages = self.messages[:size]
        other.entries = self.entries[:size]
        other.links = self.links[: other.last.links]
        other.ids = {key: at for key, at in self.ids.items() if at < size}
        return other

    def add(self, raw: bytes, message: Message, entry: Entry, links: tuple[Link, ...]) -> None:
        """Append a message that passed its checks."""
        self.links += links
        self.messages.append(message)
        for call in message.calls:
            self.ids[call.id] = len(self.entries)
        self.raws.append(raw)
        self.entries.append(entry)


class Histories:
    """Finds the history that a request goes on from."""

    def __init__(self) -> None:
        self._by_start: OrderedDict[tuple[str, int], list[History]] = OrderedDict()

    def find(self, owner: str, raws: list[bytes]) -> History:
        """The history with the longest common start, cut to it.

        `owner` names what the messages follow: dialect, model, tools and system prompt.
        """
        key = (owner, hash(raws[0]) if raws else 0)
        kept = self._by_start.setdefault(key, [])
        self._by_start.move_to_end(key)
        if len(self._by_start) > _KEYS:
            self._by_start.popitem(last=False)
        best, size = self._longest(kept, raws)
        if best is None:
            best = History()
        elif len(best.raws) - size > 2:
            # Another conversation goes on from the middle of this one; both live on.
            best = best.copy(size)
        else:
            kept.remove(best)
            best.cut(size)
        kept.append(best)
        del kept[:-_BRANCHES]
        return best

    def _longest(self, kept: list[History], raws: list[bytes]) -> tuple[History | None, int]:
        best: History | None = None
        longest = 0
        for history in reversed(kept):
            size = history.common(raws)
            if size > longest:
                best, longest = history, size
            if longest == len(raws) or (best is not None and longest == len(best.raws)):
                break
        return best, longest

"""Things that are made when they are first needed and kept for the next time, within a bound."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class _Entry(Generic[V]):
    def __init__(self, value: V) -> None:
        self.value = value
        self.users = 0


class Kept(Generic[K, V]):
    """Values by key, counted while they are in use.

    What is in use is never given up. Of the others the `limit` used last stay.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()

    def take(self, key: K, make: Callable[[], V]) -> V:
        """The value of `key`, made if there is none, in use until it is given back."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(make())
        entry.users += 1
        self._entries.move_to_end(key)
        return entry.value

    def give_back(self, key: K) -> list[V]:
        """End one use of `key`; what is not kept any longer comes back, to be closed."""
        self._entries[key].users -= 1
        self._entries.move_to_end(key)
        idle = [one for one, entry in self._entries.items() if not entry.users]
        surplus = idle[: max(0, len(idle) - self._limit)]
        return [self._entries.pop(one).value for one in surplus]

    def clear(self) -> list[V]:
        """Give up everything, in use or not."""
        values = [entry.value for entry in self._entries.values()]
        self._entries.clear()
        return values

    def __len__(self) -> int:
        return len(self._entries)

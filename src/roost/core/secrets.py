"""Known secrets, taken out of what tools show to a model and keep on disk. Pure.

A command can find the keys of Roost although they are not in its environment: in `/proc`, in the
list of processes, in a configuration file. What it prints of them stops here.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

_SHORTEST: Final = 8
"""Characters; a shorter value is no secret, and hiding it would hide ordinary words."""


class Secrets:
    """Values by their names, for example those of environment variables."""

    def __init__(self, named: Mapping[str, str]) -> None:
        kept = [(value, f"[redacted: {name}]") for name, value in named.items()]
        kept = [(value, mask) for value, mask in kept if len(value) >= _SHORTEST]
        # A secret that is part of another one would leave the rest of it readable.
        self._masks = tuple(sorted(kept, key=lambda one: -len(one[0])))

    def hide(self, text: str) -> str:
        """`text` with a mask in the place of each secret."""
        for value, mask in self._masks:
            if value in text:
                text = text.replace(value, mask)
        return text

    def hide_in(self, value: Any) -> Any:
        """The same for every text inside JSON data."""
        if not self._masks:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            return {self.hide(key): self.hide_in(inner) for key, inner in entries.items()}
        return [self.hide_in(one) for one in cast("list[Any]", value)] if _is_list(value) else value

    def stream(self) -> "SecretStream":
        """A filter for one stream of bytes."""
        return SecretStream(
            [(value.encode(errors="surrogateescape"), mask.encode()) for value, mask in self._masks]
        )


class SecretStream:
    """Hides secrets in bytes that come piece by piece, also where one is cut in two."""

    def __init__(self, masks: list[tuple[bytes, bytes]]) -> None:
        self._masks = masks
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What is sure by now; the beginning of what may become a secret is held back."""
        if not self._masks:
            return data
        data = self._masked(self._held + data)
        keep = max(_overlap(data, value) for value, _ in self._masks)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def rest(self) -> bytes:
        """What was held back; the stream goes on as if new."""
        held, self._held = self._held, b""
        return held

    def _masked(self, data: bytes) -> bytes:
        for value, mask in self._masks:
            if value in data:
                data = data.replace(value, mask)
        return data


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _overlap(data: bytes, value: bytes) -> int:
    """How many bytes at the end of `data` are the beginning of `value`."""
    longest = min(len(data), len(value) - 1)
    tail = data[len(data) - longest :]
    at = tail.find(value[:1])
    while at >= 0:
        if value.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(value[:1], at + 1)
    return 0

"""Lets the output of Roost through as it comes, but for the line that says how to go on.

That line holds for a folder and a home that stay. Those of the demo go, so it tells the way itself.
"""

import re
from typing import Final

_GO_ON: Final = b"go on with: roost run -s "
_COLOUR: Final = re.compile(rb"\x1b(?:\[[0-9;]*m?)?")


class Relay:
    """Takes output piece by piece."""

    def __init__(self) -> None:
        self._line = b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What of `data`, and of what was held back before it, is to be shown now."""
        return b"".join(self._piece(piece) for piece in data.splitlines(keepends=True))

    def _piece(self, piece: bytes) -> bytes:
        self._line += piece
        self._held += piece
        plain = _COLOUR.sub(b"", self._line).rstrip(b"\r\n")
        is_whole = piece.endswith(b"\n")
        if plain.startswith(_GO_ON):
            self._held = b""
            self._line = b"" if is_whole else self._line
            return b""
        if _GO_ON.startswith(plain) and not is_whole:
            return b""
        shown, self._held = self._held, b""
        self._line = b"" if is_whole else self._line
        return shown

    def close(self) -> bytes:
        """What is left when the output has ended in the middle of a line."""
        shown, self._held = self._held, b""
        return shown

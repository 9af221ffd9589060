"""What one actor knows of the files it read, so that it cannot overwrite what it has not seen."""

from collections import OrderedDict
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import ConflictError
from roost.workspace.diff import unified
from roost.workspace.textfile import TextFile

_KEPT_CHARS: Final = 8_000_000
"""Characters of old content that one ledger keeps for showing what changed."""
_KEPT_FILE_CHARS: Final = 500_000


class StaleError(ConflictError):
    """The file is not what the actor last read or wrote. Nothing was changed."""


class _Seen(Struct, frozen=True):
    digest: str
    complete: bool
    text: str | None


class ReadLedger:
    """The files that one actor has seen, by real path and content hash."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Path, _Seen] = OrderedDict()
        self._chars = 0

    def note(
        self, real: Path, digest: str, text: str | None = None, *, complete: bool = True
    ) -> None:
        """Remember that the actor has read or written this content of `real`.

        `complete` is False when it saw only a part; what it knew of the same content stays known.
        """
        before = self._forget(real)
        known = before is not None and before.digest == digest and before.complete
        kept = text if text is not None and len(text) <= _KEPT_FILE_CHARS else None
        self._seen[real] = _Seen(digest, complete or known, kept)
        self._chars += len(kept or "")
        self._shed()

    def knows(self, real: Path) -> bool:
        """Whether the actor has read or written `real` at all."""
        return real in self._seen

    def knows_all(self, real: Path) -> bool:
        """Whether the actor has seen `real` from its first to its last line."""
        seen = self._seen.get(real)
        return seen is not None and seen.complete

    def forget(self, real: Path) -> None:
        """Forget `real`, because it was deleted."""
        self._forget(real)

    def require_current(self, real: Path, current: TextFile) -> None:
        """Raise `StaleError` if the actor knows another content of `real` than `current`.

        When the error shows the whole difference, the actor counts as having read it. A file that
        it never read is no conflict.
        """
        seen = self._seen.get(real)
        if seen is None or seen.digest == current.digest:
            return
        hint = "Read it again before you change it."
        if seen.text is not None:
            shown = unified(str(real), seen.text, current.text, limit=10_000)
            hint = f"{hint} This is what changed:\n{shown.text}"
            if not shown.cut:
                self.note(real, current.digest, current.text, complete=seen.complete)
        raise StaleError(f"{real} changed since you read it", hint=hint)

    def _forget(self, real: Path) -> _Seen | None:
        seen = self._seen.pop(real, None)
        if seen is not None:
            self._chars -= len(seen.text or "")
        return seen

    def _shed(self) -> None:
        """Drop the oldest kept texts, not the hashes, until the rest fits."""
        for real, seen in list(self._seen.items()):
            if self._chars <= _KEPT_CHARS:
                return
            self._seen[real] = _Seen(seen.digest, seen.complete, None)
            self._chars -= len(seen.text or "")

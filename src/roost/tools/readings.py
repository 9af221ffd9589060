"""Which parts of which files an actor was shown, until they add up to the whole file."""

from collections import OrderedDict
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct

from roost.workspace.files import Window
from roost.workspace.ledger import ReadLedger

_FILES: Final = 500
"""Files of one actor that are followed; of the others only whole readings count."""


class _Parts(Struct, frozen=True):
    digest: str
    ranges: tuple[tuple[int, int], ...]
    """First and last numbers of lines, in order, with gaps between them."""


class Readings:
    """Tells ledgers what was read; forgets an actor together with its ledger."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[ReadLedger, OrderedDict[Path, _Parts]] = WeakKeyDictionary()

    def note(self, ledger: ReadLedger, real: Path, window: Window, *, line_chars: int) -> None:
        """Note that the actor was shown `window` of `real`, its lines cut to `line_chars`."""
        if window.digest is None or window.text is None or window.total is None:
            return
        if window.total and not window.lines:
            return
        complete = not any(len(line) >= line_chars for line in window.lines) and self._all(
            ledger, real, window, window.total
        )
        ledger.note(real, window.digest, window.text.text, complete=complete)

    def _all(self, ledger: ReadLedger, real: Path, window: Window, total: int) -> bool:
        """Whether this window and earlier ones of the same content cover every line."""
        shown = (window.first, window.first + len(window.lines) - 1)
        if shown[0] <= 1 and shown[1] >= total:
            return True
        files = self._known.setdefault(ledger, OrderedDict())
        before = files.pop(real, None)
        earlier = before.ranges if before and before.digest == window.digest else ()
        ranges = merged((*earlier, shown))
        files[real] = _Parts(window.digest or "", ranges)
        if len(files) > _FILES:
            files.popitem(last=False)
        return ranges == ((1, total),)


def merged(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """`ranges` of whole numbers in order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)

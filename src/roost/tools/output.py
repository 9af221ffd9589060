"""Outputs that are too long to be shown: cut to size, with the whole in a private file."""

import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.ids import new_id
from roost.core.text import clean

MAX_LINES: Final = 2000
MAX_BYTES: Final = 50 * 1024
"""Of UTF-8; together with `MAX_LINES` what a model is shown of one output."""
ERROR_TAIL: Final = 0.3
"""How much of the room the end gets where it seems to tell of an error."""
_NOTE_ROOM: Final = 400
"""Bytes kept free for the note about what is missing."""
_END: Final = 2048
"""Characters at the end that are looked at for signs of an error."""
_ERROR: Final = re.compile(
    r"\b(?:error|errors|exception|traceback|failed|failure|fatal|panic|panicked|segfault|aborted"
    r"|undefined reference|cannot find|not found|permission denied)\b|[✗✖❌]",
    re.IGNORECASE,
)
_PREFIX: Final = "tool_"
_SAFE: Final = re.compile(r"[A-Za-z0-9_-]{16,80}")
"""Call ids that can name a file; short ones, such as `call_0`, are used again and again."""


class Keep(Struct, frozen=True):
    """How long files of whole outputs stay."""

    seconds: float = math.inf
    """Of age; `retention.outputs` bounds it too, once a day at least."""
    bytes: int = 1024**3
    """Of all files together; the oldest go first."""
    files: int = 5000


USUAL: Final = Keep()


def cap(
    text: str, spill_folder: Path, call_id: str, *, tail: float = 0.0
) -> tuple[str, Path | None]:
    """`text` as a model may be shown it, and the file that holds all of it if it was cut.

    Shown is the beginning and, with `tail` or when the end tells of an error, the end; `tail` is
    its share of the room. A file that cannot be written is said to be missing.
    """
    text = clean(text)
    if fits(text):
        return text, None
    path = _spilled(text, spill_folder, call_id)
    if not tail and looks_like_error(text):
        tail = ERROR_TAIL
    return abridged(text, text, len(text.encode()), path, tail=tail), path


def abridged(beginning: str, ending: str, total: int, path: Path | None, *, tail: float) -> str:
    """The first lines of `beginning`, the last of `ending`, and between them what is missing.

    `total` is the size of the whole output in bytes, `path` the file that holds it. `ending` may
    be the same text as `beginning`, or a later stretch of the output.
    """
    room = MAX_BYTES - _NOTE_ROOM
    end_lines, end_size = int(MAX_LINES * tail), int(room * tail)
    head = _first(beginning, MAX_LINES - end_lines, room - end_size)
    rest = beginning[len(head) :] if ending is beginning else ending
    end = _last(rest, end_lines, end_size) if tail else ""
    missing = total - len(head.encode()) - len(end.encode())
    whole_line = beginning.startswith("\n", len(head))
    note = _note(missing, path, following=head.count("\n") + (2 if whole_line else 1))
    return f"{head}\n\n{note}" + (f"\n\n{end}" if end else "")


def looks_like_error(text: str) -> bool:
    """Whether the end of an output reads like the report of a failure."""
    return _ERROR.search(text[-_END:]) is not None


def fits(text: str) -> bool:
    """Whether `text` can be shown as it is."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if len(text) > MAX_BYTES or lines > MAX_LINES:
        return False
    return text.isascii() or len(text.encode()) <= MAX_BYTES


def spill_path(spill_folder: Path, call_id: str) -> Path:
    """A file that does not exist yet, named for the call as far as its id allows."""
    if _SAFE.fullmatch(call_id):
        path = spill_folder / f"{_PREFIX}{call_id}"
        if not os.path.lexists(path):
            return path
    return spill_folder / new_id("tool")


def sweep(spill_folder: Path, keep: Keep = USUAL, *, now: float | None = None) -> int:
    """Delete files of outputs that are too old or too many, and tell how many went.

    `now` is in seconds since the epoch.
    """
    oldest = (time.time() if now is None else now) - keep.seconds
    files = sorted(_spilled_files(spill_folder), reverse=True)
    total = 0
    gone = 0
    for number, (changed, size, path) in enumerate(files):
        total += size
        # The newest stays even if it is larger than all may be together.
        if changed < oldest or (number and (total > keep.bytes or number >= keep.files)):
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def sweep_old(spill_folder: Path, seconds: float, *, within: float) -> int:
    """Delete files of outputs that are older than `seconds`, as many as can be looked at in
    `within` seconds; how many went.
    """
    oldest, end = time.time() - seconds, time.monotonic() + within
    gone = 0
    for changed, _, path in _spilled_files(spill_folder):
        if changed < oldest:
            path.unlink(missing_ok=True)
            gone += 1
        if time.monotonic() > end:
            break
    return gone


def _first(text: str, lines: int, size: int) -> str:
    """As many whole lines as fit; of a line that is too long by itself, its beginning."""
    room = _within(text[:size], size)
    ends = _line_ends(room, lines)
    if ends and (len(ends) == lines or ends[-1] > size // 2):
        return room[: ends[-1]]
    return room


def _last(text: str, lines: int, size: int) -> str:
    """Like `_first`, from the back: the text is turned round and back again."""
    return _first(text[: -size - 1 : -1], lines, size)[::-1]


def _within(text: str, size: int) -> str:
    return text if text.isascii() else text.encode()[:size].decode(errors="ignore")


def _line_ends(text: str, most: int) -> list[int]:
    """Where the first line ends stand, at most `most` of them."""
    found: list[int] = []
    at = text.find("\n")
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find("\n", at + 1)
    return found


def _note(missing: int, path: Path | None, *, following: int) -> str:
    if path is None:
        return f"[… {missing:,} bytes are left out here, and could not be saved to a file. …]"
    return (
        f"[… {missing:,} bytes are left out here. The whole output is in {path}: search it with"
        f" grep, or read it on with offset={following}. …]"
    )


def _spilled(text: str, spill_folder: Path, call_id: str) -> Path | None:
    """The file that now holds `text`; None if it could not be written."""
    # A full disk must not cost the model the part that it can be shown.
    path = spill_path(spill_folder, call_id)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        spill_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        sweep(spill_folder)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    return path


def _spilled_files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Time of change, size and path of each file of an output."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if not entry.name.startswith(_PREFIX) or not entry.is_file(follow_symlinks=False):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # another process swept it
        yield status.st_mtime, status.st_size, Path(entry.path)

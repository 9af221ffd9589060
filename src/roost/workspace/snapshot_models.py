"""What file snapshots are made of, and what is told of them."""

import hashlib
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from roost.core.errors import LimitError, RoostError

FILE: Final = 0o100644
PROGRAM: Final = 0o100755
LINK: Final = 0o120000
TREE: Final = 0o040000
OPAQUE: Final = 0o160000
"""Git's mode for what belongs to another repository; here: for everything that is there without
its content being kept."""

Action = Literal[
    "restored", "created", "deleted", "merged", "unchanged", "conflict", "left", "failed"
]
Status = Literal["added", "deleted", "modified"]

EMPTY: Final = hashlib.sha1(b"an empty folder", usedforsecurity=False).digest()
"""Stands in a tree, as `OPAQUE`, for a folder in which nothing is kept."""
NO_FILES: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree of a folder without files; no store needs to hold it."""


class SnapshotLostError(RoostError):
    """A snapshot that was asked for is not there any more, or is damaged."""


class LookEndedError(RoostError):
    """A look at all files was ended before it was complete, since nobody needs it any more."""


class TooManyFilesError(LimitError):
    """The folder holds more files than a snapshot may."""


class SnapshotLimits(Struct, frozen=True, kw_only=True):
    """What a snapshot holds at most."""

    file_bytes: int = 2 * 1024 * 1024
    """Of a file larger than this it is only known that it is there."""
    binary_bytes: int = 256 * 1024
    """The same for files that are no text: enough for icons, not for what compilers write."""
    files: int = 100_000
    """Of a folder with more files no snapshot is made."""
    new_bytes: int = 2 * 1024 * 1024 * 1024
    """Nor of one in which more than this would have to be read at once."""
    depth: int = 100
    """Folders deeper than this are not entered."""


class DiffLimits(Struct, frozen=True, kw_only=True):
    """How much one answer of `diff` holds."""

    files: int = 1_000
    file_chars: int = 256 * 1024
    """A text longer than this is left out, before and after."""
    chars: int = 4 * 1024 * 1024
    """All texts together."""


class Entry(NamedTuple):
    """A name in a tree."""

    mode: int
    """As git writes it; a file that others may not read keeps its permission bits."""
    id: bytes
    """Of the object; for `OPAQUE` a hash of what is known of the thing."""


class Patch(Struct, frozen=True):
    """What changed between two snapshots."""

    before: str
    after: str
    files: tuple[str, ...] | None
    """Relative to the project, with `/`; bytes that are no UTF-8 are shown as U+FFFD. None: all
    that differ."""
    began: int = 0
    """While it may have happened, in milliseconds since 1970: what happened side by side is taken
    back together. 0: after all that stands before it."""
    ended: int = 0
    base: str = ""
    """A folder of the project, with `/` at its end, that the snapshots are of; empty: of all of it.
    It was there before."""


class SnapshotDiff(Struct, frozen=True, kw_only=True):
    """A file in two snapshots."""

    path: str
    status: Status
    additions: int
    deletions: int
    before: str
    """The whole text; empty if there was none, if it is no text, and if `cut`."""
    after: str
    binary: bool = False
    cut: bool = False
    """The texts were left out, since a limit was reached or the caller conceals the file; where
    the limit on files was reached, the lines were not counted either."""


class FileOutcome(Struct, frozen=True):
    """What a revert does, or did, to one file."""

    path: str
    action: Action
    """`restored`, `created`, `deleted`: it is as it was; `merged`: so is what the agent changed,
    and what the user changed since stays; `unchanged`: it was so already. The rest is not touched:
    `conflict`: the user changed the same since; `left`: snapshots do not hold it; `failed`."""
    reason: str = ""


class RevertReport(Struct, frozen=True):
    """What a revert does, or did."""

    files: tuple[FileOutcome, ...]
    undo: Patch
    """Reverting this brings back what was replaced."""

    @property
    def complete(self) -> bool:
        """Whether nothing had to be left as it is."""
        return not any(one.action in {"conflict", "left", "failed"} for one in self.files)


class Pruned(Struct, frozen=True):
    """What `prune` did."""

    removed: int
    """Objects."""
    complete: bool
    """False: time was up or steps were in the way; the next call goes on."""

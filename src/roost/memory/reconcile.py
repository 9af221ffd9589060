"""The index brought up to date with files of memory, those of the scopes that are asked for.

A file is read again when the file system says anything else of it than before: size, times (that of
its last change of any kind cannot be set by programs), or identity. What was changed a moment
before it was read may be changed again within the same tick of the clock, so it is not believed to
be the same until it is older than that; content decides then.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from roost.core.clock import now_ms
from roost.core.text import decode
from roost.db.transaction import Reader, Transaction
from roost.memory import section_store as store
from roost.memory.index import Index
from roost.memory.layout import Layout, Located, Scope, Whose
from roost.memory.section_store import KnownFile
from roost.memory.sections import sections
from roost.memory.writer import read_bytes

SETTLED: Final = 2_000
"""Milliseconds after which a second change gives a file another time on every file system."""
Owned = tuple[Scope, str]


class _Stamp(NamedTuple):
    """What the file system says of a file; nothing of one that is gone."""

    text: str
    changed: int
    """Milliseconds since the epoch."""
    settled: bool
    """It cannot change any more without saying so."""


def reconcile(index: Index, layout: Layout, scopes: Sequence[Owned], whose: Whose) -> int:
    """Bring the index up to date with the files of `scopes`; how many were read.

    Raises `StorageError` if the index cannot be used.
    """
    files = {one: layout.files(*one, whose) for one in scopes}

    def known(db: Reader) -> dict[Owned, dict[str, KnownFile]]:
        return {one: store.known(db, *one) for one in scopes}

    before = index.read(known)
    now = now_ms()
    stamps = {str(one.path): _stamp(one.path, now) for some in files.values() for one in some}
    sure = all(one.settled for one in stamps.values())
    same = all(
        {path: file.stamp for path, file in before[one].items()}
        == {str(file.path): stamps[str(file.path)].text for file in files[one]}
        for one in scopes
    )
    if same and sure:
        return 0
    return index.write(lambda tx: sum(_scope(tx, one, files[one], stamps) for one in scopes))


def _scope(tx: Transaction, owned: Owned, files: list[Located], stamps: dict[str, _Stamp]) -> int:
    known = store.known(tx, *owned)
    there = {str(one.path) for one in files}
    for path, file in known.items():
        if path not in there:
            store.remove(tx, file)
    return sum(_file(tx, one, known.get(str(one.path)), stamps[str(one.path)]) for one in files)


def _file(tx: Transaction, located: Located, known: KnownFile | None, stamp: _Stamp) -> int:
    """Whether the file had to be read. Its stamp was taken before, so a change that comes between
    is seen the next time.
    """
    if known is not None and known.stamp == stamp.text and stamp.settled:
        return 0
    data = read_bytes(located.path)
    content_hash = hashlib.sha256(data or b"").hexdigest()
    if known is not None:
        if data is not None and known.hash == content_hash:
            if known.stamp != stamp.text:
                store.restamp(tx, known, stamp.text)
            return 1
        store.remove(tx, known)
    if data is not None:
        found = sections(decode(data))
        store.add(
            tx,
            located,
            found,
            stamp=stamp.text,
            content_hash=content_hash,
            changed=stamp.changed,
        )
    return 1


def _stamp(path: Path, now: int) -> _Stamp:
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return _Stamp("", now, settled=False)
    text = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    settled = now - status.st_ctime_ns // 1_000_000 >= SETTLED
    return _Stamp(text, status.st_mtime_ns // 1_000_000, settled=settled)

"""Trees as git stores them: reading, writing, comparing."""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from roost.workspace.ignore import IgnoreRules
from roost.workspace.snapshot_models import (
    EMPTY,
    FILE,
    NO_FILES,
    OPAQUE,
    PROGRAM,
    TREE,
    Entry,
    SnapshotLostError,
)
from roost.workspace.snapshot_objects import ObjectStore

_FORMAT: Final = 0o170000
Tree = dict[str, Entry]
Difference = tuple[str, Entry | None, Entry | None]
"""A path, and what stands there in the earlier and in the later tree."""


def mode_of(st_mode: int) -> int:
    """The mode of a regular file in a tree.

    As git knows it, unless others may not read the file: then with its permission bits, so that
    a secret file does not come back as one that everybody can read.
    """
    if not st_mode & 0o007:
        return 0o100000 | st_mode & 0o777
    return PROGRAM if st_mode & 0o100 else FILE


def encode_tree(entries: Iterable[tuple[bytes, int, bytes]]) -> bytes:
    """The content of a tree of (name, mode, id)."""
    ordered = sorted(entries, key=lambda one: one[0] + b"/" if one[1] == TREE else one[0])
    return b"".join(b"%o %s\0%s" % (mode, name, id_) for name, mode, id_ in ordered)


def decode_tree(data: bytes) -> Tree:
    """The names in a tree. Raises `ValueError`."""
    found: Tree = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        name = os.fsdecode(data[space + 1 : end])
        found[name] = Entry(int(data[at:space], 8), data[end + 1 : end + 21])
        at = end + 21
    return found


class Trees:
    """Reads trees of a store; each once. Raises `SnapshotLostError` if one is gone."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._known: dict[bytes, Tree] = {bytes.fromhex(NO_FILES): {}}
        self._rules: dict[bytes, IgnoreRules] = {}

    def tree(self, wanted: bytes) -> Tree:
        """What stands in the tree."""
        known = self._known.get(wanted)
        if known is None:
            try:
                known = decode_tree(self._objects.read(wanted, "tree"))
            except ValueError as error:
                raise SnapshotLostError(f"the tree {wanted.hex()} is damaged") from error
            self._known[wanted] = known
        return known

    def find(self, root: bytes, path: str) -> Entry | None:
        """What stands at `path` below `root`."""
        entry = Entry(TREE, root)
        for name in path.split("/"):
            if entry.mode != TREE:
                return None
            found = self.tree(entry.id).get(name)
            if found is None:
                return None
            entry = found
        return entry

    def compare(self, before: bytes, after: bytes) -> list[Difference]:
        """The files in which two trees differ, by path.

        What one of them lacks only because its `.gitignore` passes over it, and the other's does
        not, is left out: it may have been there all the time. So are folders that are empty.
        """
        return [
            one
            for one in self._differences(before, after, "")
            if not self._hidden(before, after, one)
        ]

    def content(self, entry: Entry) -> bytes:
        """What the file or link holds."""
        return self._objects.read(entry.id, "blob")

    def _differences(
        self, before: bytes | None, after: bytes | None, prefix: str
    ) -> Iterator[Difference]:
        if before == after:
            return
        old = self.tree(before) if before else {}
        new = self.tree(after) if after else {}
        for name in sorted(old.keys() | new.keys()):
            a, b = old.get(name), new.get(name)
            if a == b:
                continue
            path = prefix + name
            if (a and a.mode == TREE) or (b and b.mode == TREE):
                yield from self._differences(_below(a), _below(b), f"{path}/")
            left, right = _plain(a), _plain(b)
            if left != right:
                yield path, left, right

    def _hidden(self, before: bytes, after: bytes, one: Difference) -> bool:
        path, a, b = one
        if a is not None and b is not None:
            return False
        old, new = self._ignored(before, path), self._ignored(after, path)
        return old and not new if a is None else new and not old

    def _ignored(self, root: bytes, path: str) -> bool:
        """Whether the `.gitignore` files in the tree `root` pass over `path`."""
        rules: list[tuple[int, IgnoreRules]] = []
        tree: Tree | None = self.tree(root)
        start = 0
        while True:
            own = tree.get(".gitignore") if tree else None
            if own is not None and own.mode not in {TREE, OPAQUE}:
                rules.append((start, self._parsed(own)))
            end = path.find("/", start)
            part = path if end < 0 else path[: end + 1]
            verdicts = (one.verdict(part[at:]) for at, one in reversed(rules))
            if next((known for known in verdicts if known is not None), False):
                return True
            if end < 0:
                return False
            entry = tree.get(path[start:end]) if tree else None
            tree = self.tree(entry.id) if entry and entry.mode == TREE else None
            start = end + 1

    def _parsed(self, entry: Entry) -> IgnoreRules:
        if entry.id not in self._rules:
            self._rules[entry.id] = IgnoreRules(self.content(entry).decode("utf-8", "replace"))
        return self._rules[entry.id]


def kind_of(mode: int) -> int:
    """`FILE` (without permissions), `LINK`, `TREE` or `OPAQUE`."""
    return mode & _FORMAT


def _below(entry: Entry | None) -> bytes | None:
    return entry.id if entry and entry.mode == TREE else None


def _plain(entry: Entry | None) -> Entry | None:
    """What counts as a file in a comparison."""
    return None if entry is None or entry.mode == TREE or entry.id == EMPTY else entry

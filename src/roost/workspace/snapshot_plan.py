"""Reverts: planned from snapshots and the files as they are, then carried out file by file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from roost.core.errors import RoostError
from roost.core.text import clean
from roost.workspace.changes import FILE_LOCKS
from roost.workspace.snapshot_index import File, Folder, write_trees
from roost.workspace.snapshot_models import (
    OPAQUE,
    TREE,
    Action,
    Entry,
    FileOutcome,
    Patch,
    RevertReport,
    SnapshotLostError,
)
from roost.workspace.snapshot_objects import ObjectStore
from roost.workspace.snapshot_revert import (
    ACTING,
    TimedChange,
    Undoing,
    in_order,
    undoing,
)
from roost.workspace.snapshot_states import (
    Content,
    Unknown,
    Version,
    put,
    remove_empty,
    version_at,
)
from roost.workspace.snapshot_trees import Difference, Trees

_NOT_KEPT: Final = "its content is not kept in snapshots: too large, binary, or not readable"


class PlannedFile(Struct, frozen=True):
    """A file of a revert."""

    path: str
    action: Action
    reason: str = ""
    current: Entry | None = None
    """What it is now, and `target` what it shall be, if the file is to be changed; both stored."""
    target: Entry | None = None
    new_folders: tuple[str, ...] = ()
    """Folders around it that were not there before, the deepest first."""

    @property
    def acts(self) -> bool:
        """Whether the file is changed."""
        return self.action in ACTING


class RevertPlan(Struct, frozen=True):
    """A revert that can be carried out; `report` tells what it will do."""

    files: tuple[PlannedFile, ...]
    report: RevertReport


_Sides = tuple[Entry | None, Entry | None]
"""A file before and after."""


class _History(Struct):
    """What became of a file, the oldest first."""

    first: Patch
    """The oldest of all: what was there before it was there before all of them."""
    changes: list[tuple[_Sides, int, int]] = []
    """Each with when it began and ended."""
    undos: list[_Sides] = []


def plan_revert(
    root: Path,
    objects: ObjectStore,
    patches: Sequence[Patch],
    limit: int,
    undos: Sequence[Patch] = (),
) -> RevertPlan:
    """Plan to take back `patches`, the oldest first, below `root`; before them `undos`, which came
    later and may have been done in part.

    What will be replaced is stored first. Raises `SnapshotLostError` if a snapshot is gone, and
    `StorageError`.
    """
    trees = Trees(objects)
    histories: dict[str, _History] = {}
    for patch in patches:
        for path, old, new in differences(trees, patch):
            known = histories.setdefault(path, _History(patch))
            known.changes.append(((old, new), patch.began, patch.ended))
    for patch in undos:
        for path, old, new in differences(trees, patch):
            histories.setdefault(path, _History(patch)).undos.append((old, new))
    files: list[PlannedFile] = []
    removed: set[str] = set()
    for path in sorted(histories):  # what stands in the way of a path comes before it
        buried = any(parent in removed for parent in _parents(path))
        current = None if buried else version_at(root, path, limit)
        known = histories[path]
        one = _planned(objects, path, current, _undoing(trees, known, current))
        if one.action == "deleted":
            removed.add(path)
        files.append(replace(one, new_folders=_new_folders(trees, known.first, path)))
    files = [_unobstructed(root, one, removed) for one in files]
    return RevertPlan(tuple(files), RevertReport(_outcomes(files), _undo(root, objects, files)))


def _undoing(trees: Trees, known: _History, current: Version) -> Undoing:
    """What shall become of a file; of all files that are planned only its contents are held."""
    changes = [
        TimedChange(_version(trees, old), _version(trees, new), began, ended)
        for (old, new), began, ended in known.changes
    ]
    undos = [(_version(trees, old), _version(trees, new)) for old, new in known.undos]
    return undoing(in_order(changes), current, undos)


def differences(trees: Trees, patch: Patch) -> Iterator[Difference]:
    """The files of a patch, before and after it."""
    before, after = bytes.fromhex(patch.before), bytes.fromhex(patch.after)
    wanted = None if patch.files is None else set(patch.files)
    for inner, old, new in trees.compare(before, after):
        path = patch.base + inner
        if wanted is None or clean(path) in wanted:
            yield path, old, new


def carry_out(root: Path, objects: ObjectStore, plan: RevertPlan, limit: int) -> RevertReport:
    """Do what was planned, as far as the files are still what they were then.

    Each file is changed at once or not at all. What could not be done is told in the report.
    """
    acting = [one for one in plan.files if one.acts]
    told: dict[str, PlannedFile] = {}
    with FILE_LOCKS.held(root / one.path for one in acting):
        # Deletions come first: a file may have to stand where a folder is now.
        for one in (one for one in acting if one.target is None):
            told[one.path] = _done(root, objects, one, limit)
            if told[one.path].acts:
                for folder in one.new_folders:
                    if not remove_empty(root, folder):
                        break
        for one in (one for one in acting if one.target is not None):
            told[one.path] = _done(root, objects, one, limit)
    files = [told.get(one.path, one) for one in plan.files]
    done = tuple(clean(path) for path, what in sorted(told.items()) if what.acts)
    return RevertReport(_outcomes(files), replace(plan.report.undo, files=done))


def _planned(objects: ObjectStore, path: str, current: Version, what: Undoing) -> PlannedFile:
    """The plan for a file. What it is and what it shall be are stored: contents may be many."""
    if what.action not in ACTING:
        return PlannedFile(path, what.action, what.reason)
    assert not isinstance(current, Unknown)
    return PlannedFile(
        path,
        what.action,
        what.reason,
        current=_stored_file(objects, current),
        target=_stored_file(objects, what.target),
    )


def _stored_file(objects: ObjectStore, content: Content | None) -> Entry | None:
    return content and Entry(content.mode, objects.write("blob", content.data))


def _done(root: Path, objects: ObjectStore, one: PlannedFile, limit: int) -> PlannedFile:
    """Change one file, unless it was changed since it was looked at; what came of it."""
    try:
        target = one.target and Content(one.target.mode, objects.read(one.target.id, "blob"))
        now = version_at(root, one.path, limit)
        if isinstance(now, Unknown) or (now and Entry(now.mode, now.id)) != one.current:
            return replace(one, action="conflict", reason="it was changed since it was looked at")
        if target is not None:
            _clear_folders(root, one.path)
        put(root, one.path, target)
    except RoostError as error:
        return replace(one, action="failed", reason=error.message)
    return one


def _clear_folders(root: Path, path: str) -> None:
    """Remove a folder that stands in the place of a file, if it holds nothing but folders."""
    real = root / path
    if real.is_symlink() or not real.is_dir():
        return
    for folder, _, _ in os.walk(real, topdown=False):
        if not remove_empty(root, str(Path(folder).relative_to(root))):
            return


def _version(trees: Trees, entry: Entry | None) -> Version:
    if entry is None:
        return None
    if entry.mode == OPAQUE:
        return Unknown(_NOT_KEPT, entry.id)
    try:
        return Content(entry.mode, trees.content(entry))
    except SnapshotLostError:
        return Unknown("its snapshot is gone or damaged", entry.id)


def _parents(path: str) -> list[str]:
    """The folders around `path`, the uppermost first."""
    return [path[:at] for at, character in enumerate(path) if character == "/"]


def _new_folders(trees: Trees, first: Patch, path: str) -> tuple[str, ...]:
    """The folders around `path` that were not there before `first`, the deepest first."""
    below = path.removeprefix(first.base)
    tree = bytes.fromhex(first.before)
    folders = reversed(_parents(below))
    return tuple(first.base + one for one in folders if not _is_folder(trees.find(tree, one)))


def _is_folder(entry: Entry | None) -> bool:
    """Whether a folder stood there, if an empty one."""
    return entry is not None and entry.mode in {TREE, OPAQUE}


def _unobstructed(root: Path, one: PlannedFile, removed: set[str]) -> PlannedFile:
    """`one`, or a conflict if something that stays is where its file or folders have to be."""
    if one.target is None:
        return one
    obstacle = _obstacle(root, one.path, removed)
    return replace(one, action="conflict", reason=obstacle) if obstacle else one


def _obstacle(root: Path, path: str, removed: set[str]) -> str:
    for parent in _parents(path):
        real = root / parent
        if os.path.lexists(real) and (real.is_symlink() or not real.is_dir()):
            return "" if parent in removed else f"{clean(parent)} is no folder any more"
    real = root / path
    if real.is_symlink() or not real.is_dir():
        return ""
    for folder, folders, files in os.walk(real):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*files, *links):
            inner = str((Path(folder) / name).relative_to(root))
            if inner not in removed:
                return f"a folder stands there, with {clean(inner)} in it"
    return ""


def _outcomes(files: Sequence[PlannedFile]) -> tuple[FileOutcome, ...]:
    return tuple(FileOutcome(clean(one.path), one.action, one.reason) for one in files)


def _undo(root: Path, objects: ObjectStore, files: Sequence[PlannedFile]) -> Patch:
    """The patch that leads from what is there now to what will be there."""
    acting = [one for one in files if one.acts]
    now = {one.path: one.current for one in acting}
    then = {one.path: one.target for one in acting}
    return Patch(
        stored_alone(root, objects, now),
        stored_alone(root, objects, then),
        tuple(clean(one.path) for one in acting),
    )


def stored_alone(root: Path, objects: ObjectStore, versions: Mapping[str, Entry | None]) -> str:
    """The id of a tree of these files alone, and of the folders around them that exist."""
    top = Folder()
    # Files first: where one will stand there is no folder, even if there is one now.
    for path, version in sorted(versions.items(), key=lambda one: one[1] is None):
        *parents, name = path.split("/")
        folder, exists = top, root
        for part in parents:
            exists /= part
            if version is None and (part in folder.files or not exists.is_dir()):
                break
            folder = folder.folders.setdefault(part, Folder())
        else:
            if version is not None:
                folder.files[name] = File(version.mode, version.id, 0)
    return write_trees(objects, top).hex()

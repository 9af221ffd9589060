"""What a model may have meant by a path that does not exist."""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from roost.core.errors import NotFoundError
from roost.core.text import clean

_MOST: Final = 3
_NAMES: Final = 5_000
"""Names of one folder that are compared."""
_WALKED: Final = 20_000
"""Files of the project that are looked at for one of the same name."""
_SKIPPED: Final = {".git", "node_modules", ".venv", "venv", "__pycache__", "target", "dist"}


def missing(real: Path, root: Path) -> NotFoundError:
    """The error that says what `real` may have been: up to three paths that exist.

    Neighbours with a similar name first, then files of the same name anywhere below `root`.
    """
    found = list(dict.fromkeys([*_neighbours(real), *_namesakes(real, root)]))[:_MOST]
    hint = "Look for it with glob."
    if found:
        listed = "\n".join(clean(str(path)) for path in found)
        hint = f"Did you mean one of these?\n{listed}"
    return NotFoundError(f"{clean(str(real))} does not exist.", hint=hint)


def _neighbours(real: Path) -> Iterator[Path]:
    names = _names(real.parent)
    wanted = real.name.casefold()
    folded = {name.casefold(): name for name in names}
    stem = real.stem.casefold()
    if wanted in folded:
        yield real.parent / folded[wanted]
    for near in get_close_matches(wanted, list(folded), n=_MOST, cutoff=0.7):
        yield real.parent / folded[near]
    if len(stem) >= 3:
        yield from (real.parent / name for key, name in folded.items() if stem in key)


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_NAMES), strict=False))
    except OSError:
        return []  # no such folder, or one that may not be listed: then nothing is alike


def _namesakes(real: Path, root: Path) -> Iterator[Path]:
    if not real.is_relative_to(root):
        return
    wanted = real.name.casefold()
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (Path(folder, name) for name in files if name.casefold() == wanted)
        seen += len(files) + 1
        if seen > _WALKED:
            return

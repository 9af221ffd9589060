"""The folders that a shell may be in, command after command."""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.permissions.shell_words import Folders, Word

_MAX_FOLDERS: Final = 8


class After(Struct, frozen=True):
    """Where the shell may be after a command succeeded, and after it failed."""

    success: Folders
    failure: Folders

    @property
    def either(self) -> Folders:
        """Where it may be when the outcome is not known."""
        return union(self.success, self.failure)


def union(one: Folders, other: Folders) -> Folders:
    """All folders of both; unknown if one is, or if they become too many to follow."""
    if one is None or other is None:
        return None
    both = one | other
    return both if len(both) <= _MAX_FOLDERS else None


def folders_after_cd(words: list[Word], folders: Folders, home: str | None) -> Folders:
    """Where a `cd` with these words leads; unknown for options, `-` and what is not exact."""
    operands = [word for word in words[1:] if word.text != "--"]
    if not operands:
        return frozenset({home}) if home is not None else None
    target = operands[0]
    if len(operands) > 1 or not target.exact or target.text[:1] == "-" or folders is None:
        return None
    return frozenset(os.path.normpath(Path(one) / target.text) for one in folders)

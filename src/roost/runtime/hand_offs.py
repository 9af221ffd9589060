"""Other programs that could take work over, as far as they are installed. Nothing is run here."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("claude",),
    "codex": ("codex",),
    "opencode": ("opencode", "--prompt"),
    "gemini": ("gemini", "--prompt-interactive"),
}
"""How each is begun with words, which stand behind; all of them ask before they act."""


def hand_offs(environment: Mapping[str, str], folder: Path, brief: str) -> dict[str, str]:
    """Of each program on the path: what a person types into a shell to hand it the work."""
    path = environment.get("PATH", os.defpath)
    start = f"cd {shlex.quote(str(folder))} && "
    return {
        name: start + shlex.join((*words, brief))
        for name, words in PROGRAMS.items()
        if shutil.which(name, path=path)
    }

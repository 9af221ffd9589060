"""The command that installs a program on this machine."""

import os
import shutil
from typing import Final

_MANAGERS: Final = {
    "apt-get": "apt install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "apk": "apk add",
    "brew": "brew install",
}
"""Package managers in the order in which they are looked for, and how each installs."""


def install_command(package: str) -> str:
    """How the package manager of this machine installs `package`, ready to be pasted."""
    for program, words in _MANAGERS.items():
        if shutil.which(program):
            needs_root = program != "brew" and os.geteuid() != 0
            return f"{'sudo ' * needs_root}{words} {package}"
    return f"install {package} with your package manager"

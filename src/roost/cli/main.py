"""The command `roost`. `--version` is answered before anything else is imported."""

import sys

from roost import __version__
from roost.cli.signals import end_at_once_on_signals, settle

_VERSION_FLAGS = ("-v", "-V", "--version")


def main() -> int:
    """Run the command that the process was started with and give its exit code."""
    end_at_once_on_signals()
    words = sys.argv[1:]
    if words and words[0] in _VERSION_FLAGS:
        print(f"roost {__version__}")
        return 0
    from roost.cli.dispatch import dispatch

    code = dispatch(words)
    settle(code)
    return code

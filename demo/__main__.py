"""`python -m demo`: Roost repairs a small broken repository while you watch."""

import signal
import sys


def main() -> int:
    """Show it, and give the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from demo.command import execute  # takes a while, in which it may be interrupted

    return execute()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks`: the figures of the design beside their limits.

Exit code 1 when a limit is missed.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable
from typing import Final

from benchmarks import (
    delegation,
    headless,
    inbox,
    long,
    memory,
    peers,
    policies,
    snapshots,
    streaming,
    waiting,
)
from benchmarks.measure import Figure, machine_speed

GROUPS: Final[dict[str, Callable[[], list[Figure]]]] = {
    "headless": headless.figures,
    "streaming": streaming.figures,
    "inbox": inbox.figures,
    "waiting": waiting.figures,
    "delegation": delegation.figures,
    "snapshots": snapshots.figures,
    "policies": policies.figures,
    "memory": memory.figures,
    "long": long.figures,
}


def main() -> int:
    """Measure, print each figure as it is known, and give the exit code."""
    wanted = _arguments()
    print(_machine())
    figures: list[Figure] = []
    for name, measured in GROUPS.items():
        if wanted.only in {None, name}:
            figures += _shown(measured())
    if wanted.only in peers.PEERS or (wanted.only is None and wanted.peers):
        print("\nside by side (CPU, wall, CPU, CPU, peak)")
        for line in peers.lines(wanted.only):
            print(line, flush=True)
    missed = sum(not figure.met for figure in figures)
    if missed:
        print(f"\n{missed} of {len(figures)} figures miss their limit", file=sys.stderr)
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="measure nothing but Roost"
    )
    parser.add_argument("--only", choices=(*GROUPS, *peers.PEERS), help="one group, or one peer")
    return parser.parse_args()


def _shown(figures: list[Figure]) -> list[Figure]:
    for figure in figures:
        print(figure.line(), flush=True)
    return figures


def _machine() -> str:
    """What was measured on: a busy or slow machine shows in the time of a plain loop."""
    python = f"Python {platform.python_version()}"
    speed = f"a plain loop of a million rounds takes {machine_speed():.0f} ms"
    return f"{os.cpu_count()} cores, {platform.system()}, {python}; {speed}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

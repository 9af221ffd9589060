"""`python -m benchmarks.recall`: how much of a long session is still known after it was shortened.

The table says for each arm what is reached: read in the next request, or found by one search of
the tool `history`. The last line is the same as JSON.
"""

import argparse
import json
import sys
from typing import Any, Final

from benchmarks.recall.facts import KINDS, Fact
from benchmarks.recall.measured import Recall, measured
from benchmarks.recall.player import Arm

ARMS: Final[tuple[Arm, ...]] = ("rebuild", "compaction", "off")
CYCLES: Final = (1, 3, 10)
PROMISED: Final = ("literals", "rules")
"""Kinds of which `rebuild` loses nothing."""


def main() -> int:
    """Measure, print the table, and give the exit code: 1 if a promise is not kept."""
    wanted = _arguments()
    print(f"seed {wanted.seed}; known (in the next request + by one search)")
    print(_head(), flush=True)
    recalls: list[Recall] = []
    for arm in wanted.only or ARMS:
        for one in measured(arm, wanted.seed, CYCLES):
            print(_line(one), flush=True)
            recalls.append(one)
    for one in recalls:
        for fact in one.lost if one.arm == "rebuild" else ():
            print(f"lost after {one.cycles}: {_told(fact)}")
    kept = [_is_kept(one) for one in recalls]
    print(json.dumps({"arms": [_row(one) for one in recalls]}))
    return 0 if all(kept) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.recall", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another session for each number")
    parser.add_argument("--only", choices=ARMS, action="append", help="one arm alone")
    return parser.parse_args()


def _is_kept(one: Recall) -> bool:
    if one.max_request_tokens > one.window:
        return False
    return one.arm != "rebuild" or all(one.reached[kind] == 1.0 for kind in PROMISED)


def _head() -> str:
    kinds = "".join(f"{kind.replace('_', ' '):>15}" for kind in KINDS)
    return f"{'arm':<11}{'cycles':>6}{kinds}{'largest request':>24}{'shortening':>12}"


def _line(one: Recall) -> str:
    cells = "".join(
        f"{one.reached[kind]:.0%} ({one.shown[kind] * 100:.0f}+{one.found[kind] * 100:.0f})".rjust(
            15
        )
        for kind in KINDS
    )
    size = f"{one.max_request_tokens:,} of {one.window:,}"
    return f"{one.arm:<11}{one.cycles:>6}{cells}{size:>24}{one.shortening_ms:>9.0f} ms"


def _told(fact: Fact) -> str:
    return f"{fact.kind} ({fact.where}) {fact.needle!r}, asked {fact.query!r}"


def _row(one: Recall) -> dict[str, Any]:
    reached = {kind: round(share, 4) for kind, share in one.reached.items()}
    return {
        "arm": one.arm,
        "cycles": one.cycles,
        **reached,
        "max_request_tokens": one.max_request_tokens,
        "window": one.window,
        "shortening_ms": round(one.shortening_ms, 1),
    }


if __name__ == "__main__":
    sys.exit(main())

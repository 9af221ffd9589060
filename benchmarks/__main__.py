"""`python -m benchmarks`: every figure beside its limit; ends with 1 if a limit is missed."""

import sys

from benchmarks import headless, inbox, streaming


def main() -> int:
    """Measure and print, one group after the other."""
    missed = 0
    for group in (headless, streaming, inbox):
        for figure in group.figures():
            print(figure.line(), flush=True)
            missed += not figure.met
    return 1 if missed else 0


sys.exit(main())

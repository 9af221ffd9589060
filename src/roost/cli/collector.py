"""The garbage collector of a command that stays for a while."""

import gc
from typing import Final

_OBJECTS: Final = 10_000
"""New objects until the young ones are looked through; Python's own 700 costs a stream 3 %."""


def calm() -> None:
    """Leave alone what is imported by now, and look for garbage less often. Turns it on."""
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 20)
    gc.enable()

"""A mark that a process cannot lose with its environment, its session, its output or its parent.

Linux keeps a limit on file locks for each process, hands it on to every child and has enforced it
nowhere since 2.4.25: it is a number of 64 bits that anybody may read and that nothing looks at. The
shell of a call gets one that belongs to the call. `env -i`, `setsid`, a closed output and a parent
that has ended leave it as it is; only a process that sets this limit itself gets rid of it.
"""

import resource
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

_FILE_LOCKS: Final = 10
"""RLIMIT_LOCKS of Linux, which the module `resource` does not name."""
_BYTES: Final = 7
"""Below the largest value that every system takes."""
_LINE: Final = b"Max file locks"


def brand_of(mark: str) -> int:
    """The number for the call of that mark."""
    return int.from_bytes(blake2b(mark.encode(), digest_size=_BYTES).digest(), "big")


def brand(pid: int, mark: str) -> None:
    """Give a process of ours, and whatever it starts from now on, the number of a call.

    Bash gives itself the same number before it starts anything (`brand.sh`). Nothing where the
    system has no such limit, or does not let us set it.
    """
    _set_soft(pid, brand_of(mark))


def unbrand(pid: int) -> None:
    """Let a process of ours not count as one of the call that Roost itself was started in."""
    _set_soft(pid, None)


def _set_soft(pid: int, limit: int | None) -> None:
    if not hasattr(resource, "prlimit"):
        return
    with suppress(OSError, ValueError):  # it has ended, or its hard limit is lower
        _, hard = resource.prlimit(pid, _FILE_LOCKS)
        resource.prlimit(pid, _FILE_LOCKS, (hard if limit is None else limit, hard))


def carries_brand(folder: Path, number: int) -> bool:
    """Whether the process of that folder of /proc carries `number`."""
    try:
        limits = (folder / "limits").read_bytes()
    except OSError:
        return False
    at = limits.find(_LINE)
    return at >= 0 and limits[at + len(_LINE) :].split(maxsplit=1)[0] == b"%d" % number

"""Time-ordered ids in OpenCode's shape: `msg_` + 12 hex digits of time and counter + 14 random.

OpenCode's clients sort messages and parts by id, so ids made by one process always ascend, whatever
the clock does. Session ids descend instead: the newest session sorts first.
"""

import os
import re
import string
import struct
import threading
from collections.abc import Iterator
from typing import Final, Literal

from roost.core.clock import now_ms

type_prefix: Final = {
    "session": "ses",
    "message": "msg",
    "part": "prt",
    "permission": "per",
    "question": "que",
    "event": "evt",
    "turn": "trn",
    "inbox": "inb",
    "tool": "tool",
    "process": "proc",
    "team": "team",
    "goal": "goal",
    "verdict": "vrd",
}
Kind = Literal[
    "session",
    "message",
    "part",
    "permission",
    "question",
    "event",
    "turn",
    "inbox",
    "tool",
    "process",
    "team",
    "goal",
    "verdict",
]
_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_STAMP_BITS: Final = 48
_COUNTER_BITS: Final = 12
_DAY_MS: Final = 86_400_000
_PAIRS: Final = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_PAIRS_EACH: Final = 7
_TAILS: Final = 64
"""Random ends that are made at once."""
_tails: list[str] = []

_SHAPE: Final = re.compile(r"[a-z]+_[0-9a-f]{12}")

_lock = threading.Lock()
_last_stamp = 0


def _next_stamp(at_least: int) -> int:
    global _last_stamp
    with _lock:
        stamp = max(now_ms() << _COUNTER_BITS, _last_stamp + 1, at_least)
        _last_stamp = stamp
        return stamp & ((1 << _STAMP_BITS) - 1)


def stamp_of(identifier: str) -> int | None:
    """The 48-bit stamp inside an id, or None for an id of another shape."""
    try:
        return int(identifier.partition("_")[2][:12], 16)
    except ValueError:
        return None


def can_be_followed(identifier: str) -> bool:
    """Whether ids that are made later sort after `identifier`, as they do after all of our own."""
    return _SHAPE.match(identifier) is not None and not is_from_the_future(identifier)


def is_from_the_future(identifier: str) -> bool:
    """Whether an id claims to be made more than a day from now: later ones could not follow."""
    stamp = stamp_of(identifier)
    if stamp is None:
        return False
    ahead = (stamp - (now_ms() << _COUNTER_BITS)) % (1 << _STAMP_BITS)
    return _DAY_MS << _COUNTER_BITS < ahead < 1 << (_STAMP_BITS - 1)


def new_id(kind: Kind, after: str | None = None) -> str:
    """Make an id of `kind` that sorts after every earlier one of this process and after `after`.

    `after` may come from a client whose clock runs ahead; an id of a foreign shape is ignored.
    """
    floor = 0
    seen = None if after is None or is_from_the_future(after) else stamp_of(after)
    if seen is not None:
        high = (now_ms() << _COUNTER_BITS) & ~((1 << _STAMP_BITS) - 1)
        floor = (high | seen) + 1
    stamp = _next_stamp(floor)
    if kind == "session":
        stamp ^= (1 << _STAMP_BITS) - 1
    return f"{type_prefix[kind]}_{stamp:012x}{_random_tail()}"


def _random_tail() -> str:
    """Fourteen random characters. Ids are made often, and asking the system for each is slow."""
    try:
        return _tails.pop()
    except IndexError:
        _tails.extend(_more_tails())
        return _tails.pop()


def _more_tails() -> Iterator[str]:
    # Of 32 bits the remainder is as good as even.
    numbers: tuple[int, ...] = struct.unpack(
        f"{_TAILS * _PAIRS_EACH}I", os.urandom(_TAILS * _PAIRS_EACH * 4)
    )
    for first in range(0, len(numbers), _PAIRS_EACH):
        yield "".join([_PAIRS[n % len(_PAIRS)] for n in numbers[first : first + _PAIRS_EACH]])


os.register_at_fork(after_in_child=_tails.clear)  # or parent and child would make the same ids

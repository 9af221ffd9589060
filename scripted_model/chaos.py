"""Seeded trouble: the same scenario, cut anywhere, with delays and with faults that a retry heals.

For property tests: a client must come to the same end whatever the seed. Every fault stands in a
step of its own before the real one, so the next try gets further.
"""

from random import Random
from typing import Final

from msgspec.structs import replace

from scripted_model.answer import arguments_text
from scripted_model.scenario import (
    Call,
    Delay,
    Drop,
    Fail,
    NoEnd,
    Parallel,
    Piece,
    Reasoning,
    Reply,
    Reset,
    Scenario,
    Status,
    Step,
    Text,
)

STATUSES: Final = (408, 409, 429, 500, 502, 503, 504, 529)
"""What a retry heals."""
_WIRE_CHUNKS: Final = (0, 0, 1, 2, 3, 7, 64, 4096)
_LONGEST_DELAY: Final = 0.02


def chaotic(scenario: Scenario, seed: int, *, faults: float = 0.5, most: int = 2) -> Scenario:
    """`scenario` with other cuts and with faults before its steps.

    `faults`: probability of a fault before each step, then of another one, up to `most` in a row.
    """
    random = Random(seed)
    steps: list[Step] = []
    for step in scenario.steps:
        for _ in range(most):
            if random.random() >= faults:
                break
            steps.append(Step(fault(step.reply, random), step.when))
        steps.append(replace(step, reply=recut(step.reply, random)))
    default = scenario.default
    return replace(
        scenario,
        steps=tuple(steps),
        default=None if default is None else recut(default, random),
    )


def recut(reply: Reply, random: Random) -> Reply:
    """The same content in other deltas, other bytes a chunk, other line ends, with small delays."""
    pieces: list[Piece] = []
    for piece in reply.pieces:
        pieces.append(_recut_piece(piece, random))
        if random.random() < 0.1:
            pieces.append(Delay(random.uniform(0, _LONGEST_DELAY)))
    return replace(
        reply,
        pieces=tuple(pieces),
        wire_chunk=random.choice(_WIRE_CHUNKS),
        newline=random.choice(("\n", "\n", "\r\n", "\r")),
    )


def _recut_piece(piece: Piece, random: Random) -> Piece:
    if isinstance(piece, Text):
        whole = "".join(piece.chunks) or piece.text * piece.repeat
        return replace(piece, chunks=cuts(whole, random))
    if isinstance(piece, Reasoning):
        return replace(piece, chunks=cuts("".join(piece.chunks) or piece.text, random))
    if isinstance(piece, Call):
        return _recut_call(piece, random)
    if isinstance(piece, Parallel):
        return Parallel(tuple(_recut_call(call, random) for call in piece.calls))
    return piece


def _recut_call(call: Call, random: Random) -> Call:
    return replace(call, chunks=cuts(arguments_text(call), random), whole=random.random() < 0.2)


def cuts(text: str, random: Random) -> tuple[str, ...]:
    """`text` cut at random characters; some cuts leave a single character, some nothing uncut."""
    most = random.choice((1, 4, 40, len(text) or 1))
    found: list[str] = []
    at = 0
    while at < len(text):
        size = random.randint(1, most)
        found.append(text[at : at + size])
        at += size
    return tuple(found)


def fault(reply: Reply, random: Random) -> Reply:
    """A reply that fails somewhere on the way to saying what `reply` says."""
    if random.random() < 0.4:
        code = random.choice(STATUSES)
        return Reply((Status(code, {"retry-after": "0"} if code == 429 else {}),))
    broken = recut(reply, random)
    said = [piece for piece in broken.pieces if isinstance(piece, Text | Reasoning | Call)]
    kept: list[Piece] = [
        _shortened(piece, random) for piece in said[: random.randint(0, len(said))]
    ]
    endings: tuple[Piece, ...] = (
        Drop(),
        Drop(cut=random.randint(1, 200)),
        Reset(),
        NoEnd(),
        Fail(),
    )
    return replace(broken, pieces=(*kept, random.choice(endings)))


def _shortened(piece: Text | Reasoning | Call, random: Random) -> Piece:
    size = random.randint(1, max(1, len(piece.chunks)))
    chunks = piece.chunks[:size]
    if isinstance(piece, Call):
        return replace(piece, chunks=chunks, whole=False)
    return replace(piece, chunks=chunks)

"""A long answer through the server: what a delta costs, how soon the first one comes, memory, disk.

The server, the model and this reader of the event stream are three processes.
"""

from typing import Final

from msgspec import Struct

from benchmarks import measure
from benchmarks.measure import MB, Figure, median
from benchmarks.served import served
from benchmarks.stage import play
from scripted_model.scenario import Barrier, Begin, Piece, Reply, Text

DELTAS: Final = 20_000
PACE: Final = 0.001
"""Seconds between two deltas of the slow answer: still far more than a model can say."""
RUNS: Final = 3
TRIES: Final = 7
"""Short answers by which the way of the first delta is timed."""


class Cost(Struct, frozen=True):
    """What one long answer took of the server. Bytes and seconds."""

    cpu: float
    grown: int
    """Memory at most, less what was held before."""
    written: int
    stored: int
    """Size of the database in the end, with little else in it."""


def figures() -> list[Figure]:
    """All figures of a streamed answer."""
    text = prose(DELTAS)
    quick = min((_answer(text) for _ in range(RUNS)), key=lambda cost: cost.cpu)
    slow = _answer(text, PACE)
    size = sum(map(len, text))
    name = f"{DELTAS:,} deltas"
    return [
        Figure(f"{name}, CPU of the server a delta", quick.cpu / DELTAS * 1e6, 40, "µs"),
        Figure(
            "the same 1 ms apart", slow.cpu / DELTAS * 1e6, None, "µs", "with a wake-up for each"
        ),
        Figure(f"{name}, memory above idle", max(quick.grown, slow.grown) / MB, 20, "MB"),
        Figure(f"{name}, given to the disk", quick.written / size, None, "×", "of the text"),
        Figure(f"{name}, database", quick.stored / size, None, "×", "of the text"),
        Figure("model's first delta → reader, median", _first_delta() * 1000, 50, "ms"),
    ]


def prose(count: int) -> tuple[str, ...]:
    """So many deltas of text that does not repeat itself."""
    return tuple(f"{number * number:x} " for number in range(count))


def _answer(text: tuple[str, ...], pace: float = 0.0) -> Cost:
    with served(play("hello", default=Reply((Text(chunks=text),), pace=pace))) as server:
        session_id = server.session()
        server.prompt(session_id)  # what is loaded for the first request counts for nothing
        server.reader.wait(idle=1)
        said, size, pid = server.reader.characters, sum(map(len, text)), server.pid
        cpu, memory, written = measure.cpu_of(pid), measure.resident(pid), measure.written_by(pid)
        measure.forget_peak(pid)
        server.prompt(session_id)
        server.reader.wait(idle=2, characters=said + size)
        cpu = measure.cpu_of(pid) - cpu
        grown = measure.peak(pid) - memory
        written = measure.written_by(pid) - written
        server.end()
        return Cost(cpu, grown, written, server.database_bytes())


def _first_delta() -> float:
    """Seconds from the moment that the model is told to speak until the reader has its word."""
    gates = [f"gate-{number}" for number in range(TRIES)]
    replies: list[list[Piece]] = [[Begin(), Barrier(gate), Text("word")] for gate in gates]
    with served(play(*replies, default="done")) as server:
        session_id = server.session()
        return median([server.time_to_word(session_id, gate, "word") for gate in gates])

"""Snapshots of files: what they add to a step in a repository of 10,000 files."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.measure import MB, Figure, median
from roost.workspace.snapshots import Patch, Snapshots

FOLDERS: Final = 200
FILES: Final = 50
"""In each folder."""
STEPS: Final = 60
LOOKS: Final = 15
NAME: Final = "part3/folder70/file7.py"


def figures() -> list[Figure]:
    """The first snapshot, a step with and without hints, a revert, a start, and the disk."""
    with tempfile.TemporaryDirectory() as name:
        return _measure(Path(name))


def _measure(folder: Path) -> list[Figure]:
    root, store = folder / "project", folder / "store"
    _furnish(root)
    snapshots = Snapshots(root, store, warn=print)
    first, first_cpu = _timed(lambda: _required(snapshots.track()))
    before = _required(snapshots.track())
    idle, _ = _several(STEPS, lambda _: snapshots.track(()))
    hinted, hinted_cpu = _several(STEPS, lambda number: _step(snapshots, root, number))
    looked, looked_cpu = _several(LOOKS, lambda _: snapshots.track())
    found, _ = _several(LOOKS, lambda number: _command(snapshots, root, before, number))
    size = sum(one.stat().st_size for one in store.rglob("*") if one.is_file())
    patch = snapshots.patch(before)
    assert patch is not None
    took, _ = _timed(lambda: snapshots.revert([patch]))
    snapshots.close()
    fresh = Snapshots(root, store, warn=print)
    start, start_cpu = _timed(lambda: _required(fresh.track()))
    pruned, _ = _timed(lambda: fresh.prune([before], -1))
    return [
        Figure("snapshots: nothing changed", idle, 0.2, "ms", "no file is looked at"),
        Figure("snapshots: one file of 10,000, named, CPU", hinted_cpu, 3.0, "ms", _wall(hinted)),
        Figure("snapshots: a look at all 10,000, CPU", looked_cpu, 60.0, "ms", _wall(looked)),
        Figure("snapshots: a command's change found", found, None, "ms", "and compared"),
        Figure("snapshots: the first one, CPU", first_cpu, None, "ms", _wall(first)),
        Figure("snapshots: after a restart, CPU", start_cpu, None, "ms", _wall(start)),
        Figure("snapshots: a revert of one file", took, None, "ms"),
        Figure("snapshots: pruning", pruned, None, "ms"),
        Figure("snapshots: size of the store", size / MB, None, "MB"),
    ]


def _furnish(root: Path) -> None:
    for number in range(FOLDERS):
        folder = root / f"part{number // 20}/folder{number}"
        folder.mkdir(parents=True)
        for file in range(FILES):
            lines = (f"def f{one}(x):\n    return x * {one * number + file}\n" for one in range(60))
            (folder / f"file{file}.py").write_text("".join(lines))
    (root / ".gitignore").write_text("*.pyc\n/build/\n")


def _step(snapshots: Snapshots, root: Path, number: int) -> None:
    """What a step does after its tool wrote a file, which is not measured."""
    assert snapshots.track([root / NAME])
    (root / NAME).write_text(f"x = {number}\n" * 100)


def _command(snapshots: Snapshots, root: Path, before: str, number: int) -> Patch | None:
    (root / NAME).write_text(f"y = {number}\n" * 100)
    return snapshots.patch(before)


def _required(found: str | None) -> str:
    assert found is not None
    return found


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that something took, by the clock and of CPU."""
    began, cpu = time.perf_counter(), time.thread_time()
    work()
    return (time.perf_counter() - began) * 1000, (time.thread_time() - cpu) * 1000


def _several(times: int, work: Callable[[int], object]) -> tuple[float, float]:
    """The medians of several times."""
    taken = [_timed(lambda number=number: work(number)) for number in range(times)]
    return median([one for one, _ in taken]), median([cpu for _, cpu in taken])


def _wall(milliseconds: float) -> str:
    return f"{milliseconds:,.1f} ms by the clock"

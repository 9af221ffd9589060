"""Snapshots of files: what they add to a step in a repository of 10,000 files.

Once by themselves, and once in the whole program: a run of many steps, with snapshots and without,
less a run of few, so that the start counts for nothing.
"""

import json
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.measure import MB, Figure, median
from benchmarks.programs import ROOST, Program
from benchmarks.stage import LENIENT, Stage, play, staged
from roost.workspace.snapshots import Patch, Snapshots
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import Call, Piece, Scenario, Text

FOLDERS: Final = 200
FILES: Final = 50
"""In each folder."""
STEPS: Final = 60
LOOKS: Final = 9
NAME: Final = "part3/folder70/file7.py"
FEW: Final = 10
MANY: Final = 110
"""Steps of a whole run."""
RUNS: Final = 3
"""Of each kind; the one that used least counts."""
Calling = Callable[[int], Call]
_numbers: Final = count()
"""No two runs write the same."""


def figures() -> list[Figure]:
    """The first snapshot, a step with and without hints, a revert, a start, and the disk; then what
    a step of the whole program costs more.
    """
    with tempfile.TemporaryDirectory() as name:
        alone = _measure(Path(name))
    return [*alone, *_wired()]


def _wired() -> list[Figure]:
    edit, reads, writes = _added((_edit, _reads, _writes))
    return [
        Figure("step with an edit: snapshots add, CPU", edit, 3.0, "ms", "one file of 10,000"),
        Figure("step with a reading command: the same", reads, 0.5, "ms", "no file is looked at"),
        Figure("step with a writing command: the same", writes, 3.0, "ms", "the kernel names it"),
    ]


def _added(calls: Sequence[Calling]) -> list[float]:
    """Milliseconds of CPU that snapshots add to one more step with each of `calls`, in a project of
    10,000 files that was looked at before.

    Runs with them and without take turns, so that a busy machine is as busy for both.
    """
    with (
        ScriptedProcess(_loop(_writes, 1), *LENIENT) as model,
        staged(_program(kept=True), model) as kept,
        staged(_program(kept=False), model) as bare,
    ):
        for stage in (kept, bare):
            _furnish(stage.project)
        kept.prompt("begin")
        return [_difference(kept, bare, one) for one in calls]


def _edit(number: int) -> Call:
    return Call("write", {"filePath": NAME, "content": f"x = {number}\n" * 100})


def _reads(number: int) -> Call:
    return Call("bash", {"command": f"head -n {number + 1} {NAME} | wc -l"})


def _writes(number: int) -> Call:
    return Call("bash", {"command": f"echo {number} > part3/folder70/made.txt"})


def _program(*, kept: bool) -> Program:
    config = json.loads(ROOST.environment["ROOST_CONFIG_CONTENT"])
    environment = {"ROOST_CONFIG_CONTENT": json.dumps({**config, "snapshot": kept})}
    return msgspec.structs.replace(ROOST, environment={**ROOST.environment, **environment})


def _difference(kept: Stage, bare: Stage, call: Calling) -> float:
    used: dict[tuple[bool, int], float] = {}
    for _ in range(RUNS):
        for steps in (FEW, MANY):
            for is_kept, stage in ((True, kept), (False, bare)):
                before = used.get((is_kept, steps), math.inf)
                used[is_kept, steps] = min(before, _cpu(stage, call, steps))
    more, less = (used[one, MANY] - used[one, FEW] for one in (True, False))
    return (more - less) / (MANY - FEW) * 1000


def _cpu(stage: Stage, call: Calling, steps: int) -> float:
    """Seconds of CPU of a run of so many steps."""
    with ScriptedProcess(_loop(call, steps), *LENIENT) as model:
        return msgspec.structs.replace(stage, url=model.url).prompt("go on").own


def _loop(call: Calling, steps: int) -> Scenario:
    # The first look at all files is no step's: it has ended once the steps begin.
    first: list[Piece] = [Call("read", {"filePath": NAME}), Call("bash", {"command": "sleep 1.5"})]
    start = next(_numbers) * MANY
    return play(first, *map(call, range(start, start + steps)), default=Text("done"))


def _measure(folder: Path) -> list[Figure]:
    root, store = folder / "project", folder / "store"
    _furnish(root)
    snapshots = Snapshots(root, store, warn=print)
    first, first_cpu = _timed(lambda: _required(snapshots.track()))
    before = _required(snapshots.track())
    idle, _ = _several(STEPS, lambda _: snapshots.track(()))
    hinted, hinted_cpu = _several(STEPS, lambda number: _step(snapshots, root, number))
    looks = [_look(root, store) for _ in range(LOOKS)]
    looked, looked_cpu = (median([one[side] for one in looks]) for side in (0, 1))
    for _ in range(4):
        snapshots.track()  # from now on the kernel names what changes
    found, found_cpu = _several(LOOKS, lambda number: _command(snapshots, root, before, number))
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
        Figure("snapshots: a command's change, told, CPU", found_cpu, 3.0, "ms", _wall(found)),
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


def _look(root: Path, store: Path) -> tuple[float, float]:
    """The second look of a process, which is one at all files."""
    snapshots = Snapshots(root, store, warn=print)
    snapshots.track()
    timed = _timed(snapshots.track)
    snapshots.close()
    return timed


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

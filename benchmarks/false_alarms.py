"""How seldom honest text is taken for a loop or a call: `python -m benchmarks.false_alarms FOLDER`

Every text file below the folders is said as a model might say it: plain, and as a block of code.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.tools.registry import builtin_tools
from roost.turn.looping import LoopDetector
from roost.turn.text_calls import find

SMALLEST: Final = 200
LARGEST: Final = 400_000
"""Bytes of a file that is looked at."""
SHOWN: Final = 20
DELTA: Final = 60
"""Characters of a delta."""


class Tally(Struct):
    """What was seen."""

    files: int = 0
    characters: int = 0
    loops: list[str] = []
    calls: list[str] = []


def texts(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """The text files below `folders`."""
    for path in (path for folder in folders for path in sorted(folder.rglob("*"))):
        try:
            if not path.is_file() or not SMALLEST <= path.stat().st_size <= LARGEST:
                continue
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue  # no text, or none for us
        if "\0" not in text:
            yield path, text


def loops(text: str) -> bool:
    """Whether a stream of `text` would be cut."""
    detector = LoopDetector()
    return any(
        detector.feed(text[at : at + DELTA]) is not None for at in range(0, len(text), DELTA)
    )


def measure(folders: list[Path]) -> Tally:
    """Look at everything below `folders`."""
    tools = {name: frozenset(tool.schema()["properties"]) for name, tool in builtin_tools().items()}
    seen = Tally()
    for path, text in texts(folders):
        seen.files += 1
        seen.characters += len(text)
        if loops(text) or loops(f"Here it is:\n```\n{text}\n```\n"):
            seen.loops.append(str(path))
        if find(text, tools):
            seen.calls.append(str(path))
    return seen


def main() -> int:
    """Print the rates and what was taken for a loop or a call."""
    seen = measure([Path(name) for name in sys.argv[1:]])
    print(f"{seen.files:,} files, {seen.characters / 1e6:,.0f} million characters")
    for name, found in (("loop", seen.loops), ("call", seen.calls)):
        print(f"taken for a {name}: {len(found)}")
        for path in found[:SHOWN]:
            print(f"  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Searching files for a regular expression, in a process of its own.

Python's `re` cannot be interrupted and holds the interpreter while it runs, so a hopeless pattern
would freeze all of Roost; a process can be killed. Run as a script, it uses the standard library
only and starts in some 10 ms. Standard input: a JSON line `{"pattern", "limit", "chars"}`, then
paths ended by NUL. Standard output: for each matching line `PATH NUL NUMBER:COLUMN:TEXT`, as
ripgrep prints it, until `limit` lines are found.
"""

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_SAMPLE = 64 * 1024
_MAX_LINE = 1024 * 1024


def main() -> None:
    """Read the task from standard input and write what is found to standard output."""
    task = json.loads(sys.stdin.buffer.readline())
    pattern = re.compile(task["pattern"])
    left: int = task["limit"]
    for path in sys.stdin.buffer.read().split(b"\x00"):
        if not path:
            continue
        for number, column, line in found(path, pattern):
            text = line[: task["chars"]].encode("utf-8", "replace")
            sys.stdout.buffer.write(b"%s\x00%d:%d:%s\n" % (path, number, column, text))
            left -= 1
            if not left:
                return


def found(path: bytes, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Number, column (in bytes, from 1) and text of the lines of a file that match."""
    try:
        with Path(os.fsdecode(path)).open("rb") as file:
            for number, line in enumerate(lines(file), start=1):
                if match := pattern.search(line):
                    before = line[: match.start()].encode("utf-8", "replace")
                    yield number, len(before) + 1, line
    except OSError:
        return  # gone, or not readable for us


def lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a text file; none of a binary one."""
    start = file.read(_SAMPLE)
    file.seek(0)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from (part.removesuffix("\r") for part in file.read().decode("utf-16").split("\n"))
        return
    if b"\x00" in start:
        return
    file.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
    while line := file.readline(_MAX_LINE):
        ended = line.endswith(b"\n")
        yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
        while not ended and (rest := file.readline(_MAX_LINE)):
            ended = rest.endswith(b"\n")


if __name__ == "__main__":
    main()

"""Searching files for a regular expression, in a process of its own.

Python's `re` cannot be interrupted and holds the interpreter while it runs, so a hopeless pattern
would freeze all of Roost; a process can be killed. Run as a script, it uses the standard library
only and starts in some 10 ms.

Standard input: a JSON line `{"pattern", "limit", "chars", "seconds"}`, then paths ended by NUL.
Standard output: for each matching line `PATH NUL NUMBER:COLUMN:TEXT`, as ripgrep prints it, until
`limit` lines are found.
"""

import codecs
import json
import os
import re
import signal
import sys
from collections.abc import Iterator

_SAMPLE = 64 * 1024
_WHOLE = 8 * 1024 * 1024
"""A bigger file is read line by line."""
_MAX_LINE = 1024 * 1024
_PLAIN = re.compile(r"[\w =,:;/\"'@#%&<>!~`-]+", re.ASCII)


def main() -> None:
    """Read the task from standard input and write what is found to standard output."""
    task = json.loads(sys.stdin.buffer.readline())
    # Whoever waits for the answer may be killed; the system's own alarm also ends a stuck `re`.
    signal.alarm(task["seconds"])
    search = Finder(task["pattern"])
    left: int = task["limit"]
    for path in sys.stdin.buffer.read().split(b"\x00"):
        if not path:
            continue
        for number, column, line in search.found(path):
            text = line[: task["chars"]].encode("utf-8", "replace")
            sys.stdout.buffer.write(b"%s\x00%d:%d:%s\n" % (path, number, column, text))
            left -= 1
            if not left:
                return


class Finder:
    """Looks for one regular expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)
        # Without special characters most files are done with by one look at their bytes.
        self._literal = pattern.encode() if _PLAIN.fullmatch(pattern) else b""

    def found(self, path: bytes) -> Iterator[tuple[int, int, str]]:
        """Number, column (in bytes, from 1) and text of the lines of a file that match."""
        search = self._pattern.search
        try:
            for number, line in enumerate(self._lines(path), start=1):
                if match := search(line):
                    before = line[: match.start()].encode("utf-8", "replace")
                    yield number, len(before) + 1, line
        except OSError:
            return  # gone, or not readable for us

    def _lines(self, path: bytes) -> Iterator[str]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            data = os.read(descriptor, _WHOLE)
            if len(data) == _WHOLE:
                yield from streamed_lines(descriptor, data[:_SAMPLE])
            elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                yield from lines(data.decode("utf-16", "replace"))
            elif b"\x00" not in data[:_SAMPLE] and self._literal in data:
                yield from lines(data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def lines(text: str) -> list[str]:
    """The lines of `text`, without their ends."""
    found = text.replace("\r\n", "\n").split("\n")
    return found if found[-1] else found[:-1]


def streamed_lines(descriptor: int, start: bytes) -> Iterator[str]:
    """The lines of a big file that starts with `start`; none of a binary one."""
    if b"\x00" in start:
        return
    os.lseek(descriptor, len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0, 0)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        while line := file.readline(_MAX_LINE):
            ended = line.endswith(b"\n")
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
            while not ended and (rest := file.readline(_MAX_LINE)):
                ended = rest.endswith(b"\n")


if __name__ == "__main__":
    main()

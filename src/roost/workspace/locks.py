"""One lock per path, for all threads of this process."""

import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path


class PathLocks:
    """Hands out a lock for each path while anybody wants it, and forgets it afterwards."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Path, threading.Lock] = {}
        self._wanted: dict[Path, int] = {}

    @contextmanager
    def held(self, paths: Iterable[Path]) -> Generator[None]:
        """Hold the locks of all `paths`; always taken in one order, so no two callers can block
        each other for ever."""
        with ExitStack() as stack:
            for path in sorted(set(paths)):
                stack.enter_context(self._held(path))
            yield

    @contextmanager
    def _held(self, path: Path) -> Generator[None]:
        with self._guard:
            lock = self._locks.setdefault(path, threading.Lock())
            self._wanted[path] = self._wanted.get(path, 0) + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._wanted[path] -= 1
                if not self._wanted[path]:
                    del self._locks[path], self._wanted[path]

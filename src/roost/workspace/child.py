"""A program in a session of its own whose end is noticed at once and whose output never blocks.

The end is the end of the program itself, told by the kernel (pidfd): nothing waits for the end of
its output, which a left-over grandchild may hold open for ever. What it wrote before it ended is
in the pipe by then and is still read. A pipe and not a file, because `>/dev/stderr`, `tee
/dev/stderr` or `curl -o /dev/stdout` open a file anew and cut off all earlier output.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from roost.core.errors import NotFoundError, RoostError

_CHUNK: Final = 64 * 1024
_PIPE: Final = 1024 * 1024
"""No pipe holds more; what comes after that was written after the program ended."""

Sink = Callable[[bytes], None]


class _Output:
    """The reading end of a pipe that a program writes to."""

    def __init__(self, descriptor: int, sink: Sink) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._sink = sink
        self._reading = True
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self.read)

    @property
    def open(self) -> bool:
        return self._descriptor is not None

    def drain(self) -> None:
        left = _PIPE
        while left > 0 and (count := self.read()):
            left -= count

    def pause(self) -> None:
        if self._descriptor is not None and self._reading:
            self._reading = False
            self._loop.remove_reader(self._descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            self.pause()
            os.close(self._descriptor)
            self._descriptor = None

    def read(self) -> int:
        """Bytes that were there to be read; 0 when none are or none can come any more."""
        if self._descriptor is None:
            return 0
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return 0
        if data:
            self._sink(data)
        else:
            self.close()
        return len(data)


class Child:
    """A running program; made by `start_child`."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", outputs: Sequence[tuple[int, Sink]]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self.pid = process.pid
        self.pipe = f"pipe:[{os.fstat(outputs[0][0]).st_ino}]"
        """The output's pipe, as /proc names it."""
        self.exited: asyncio.Future[int] = self._loop.create_future()
        """The exit code, negative for a signal; set once all output up to then is read."""
        self._outputs = tuple(_Output(descriptor, sink) for descriptor, sink in outputs)
        self._pidfd = _pidfd(self.pid)
        if self._pidfd is None:
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._ended)

    @property
    def output_open(self) -> bool:
        """Whether some process may still write; True for a while also after the last has ended."""
        return any(output.open for output in self._outputs)

    def drain(self) -> None:
        """Read what is in the pipe now."""
        for output in self._outputs:
            output.drain()

    def pause(self) -> None:
        """Read no more: whoever goes on writing is blocked once the pipe is full."""
        for output in self._outputs:
            output.pause()

    def close(self) -> None:
        """Close the reading end of the output."""
        for output in self._outputs:
            output.close()

    def kill(self) -> None:
        """Kill the program and its process group at once, and wait for the program's end."""
        if self._process.returncode is None and not self.exited.done():
            kill_group(self.pid, signal.SIGKILL)
            try:
                self._process.wait(1)
            except subprocess.TimeoutExpired:
                return  # stuck in the kernel; the watch on its end stays
        self._ended()

    def _ended(self) -> None:
        code = self._process.poll()
        if code is None:
            return
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self.drain()
        if not self.exited.done():
            self.exited.set_result(code)

    def _wait_in_thread(self) -> None:
        self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._ended)
        except RuntimeError:
            return  # the loop is gone, and with it everybody who could want to know


def start_child(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    sink: Sink,
    errors: Sink | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> Child:
    """Start a program whose standard output and error both go, in order, to `sink`.

    With `errors` the standard error goes there. It has no terminal and, unless `stdin` says
    otherwise, no input. Raises `NotFoundError` if there is no such program or directory.
    """
    pipes = [os.pipe()]
    try:
        if errors is not None:
            pipes.append(os.pipe())
        process = subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=pipes[0][1],
            stderr=pipes[-1][1],
            start_new_session=True,
        )
    except OSError as error:
        for reading, _ in pipes:
            os.close(reading)
        raise _start_fault(arguments[0], cwd, error) from error
    finally:
        for _, writing in pipes:
            os.close(writing)
    sinks = (sink,) if errors is None else (sink, errors)
    return Child(process, [(reading, one) for (reading, _), one in zip(pipes, sinks, strict=True)])


def kill_group(group: int, number: int) -> None:
    """Send a signal to a process group, if it exists and is not our own."""
    if group <= 1 or group == os.getpgrp():
        return
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # gone, or run by another user with sudo: then the system decides


def _start_fault(program: str, cwd: Path, error: OSError) -> RoostError:
    if not cwd.is_dir():
        return NotFoundError(f"the directory {cwd} does not exist", hint="Choose another one.")
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"{program} is not installed", hint="Install it, or do without.")
    return RoostError(f"{program} cannot be started: {error.strerror}")


def _pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None  # an old kernel, or a container that forbids it

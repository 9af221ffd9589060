"""Calling foreign Python so that it holds nobody up: a thread for each call, and a time limit.

A thread cannot be killed. One whose time is over is left alone and what it returns is forgotten;
it does not keep the process alive. An async function gets an event loop in its thread, so that one
that blocks blocks nobody else, and it is cancelled when its time is over.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from roost.core.errors import described, plain_words
from roost.hooks.models import HookFailedError, HookRaisedError


class BoundedCall:
    """A function that is called again and again, never twice at a time once a call got stuck."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name
        self._stuck: list[_Call] = []

    async def __call__(self, *arguments: Any, seconds: float) -> Any:
        """What the function returns.

        Raises HookFailedError when it raises anything (HookRaisedError, unless it is one itself),
        takes longer than `seconds`, or when an earlier call still does.
        """
        self._stuck = [call for call in self._stuck if call.thread.is_alive()]
        if self._stuck:
            raise HookFailedError("still works on an earlier call, and was not called again")
        call = _Call(lambda: self._function(*arguments), self._name)
        try:
            return await asyncio.wait_for(call.future, seconds)
        except TimeoutError:
            raise HookFailedError(f"did not end within {seconds:g} s") from None
        finally:
            if not call.ended:
                call.abandon()
                self._stuck.append(call)


class _Call:
    """One call, which starts when it is made."""

    def __init__(self, work: Callable[[], Any], name: str) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._inner: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._abandoned = False
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.ended = False
        self.thread = threading.Thread(target=self._main, name=f"hook {name}", daemon=True)
        self.thread.start()

    def abandon(self) -> None:
        """Wait for it no more; cancel it if it is async."""
        self._abandoned = True
        if self._inner is not None:
            loop, task = self._inner
            with suppress(RuntimeError):  # it came to its end meanwhile
                loop.call_soon_threadsafe(task.cancel)

    def _main(self) -> None:
        value: Any = None
        with _Caught() as caught:
            value = self._work()
            if inspect.isawaitable(value):
                value = asyncio.run(self._awaited(value))
        failure = None if caught.error is None else _failure(caught.error)
        with suppress(RuntimeError):  # nobody waits: the loop is closed
            self._loop.call_soon_threadsafe(self._deliver, value, failure)

    async def _awaited(self, value: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._inner = (asyncio.get_running_loop(), task)
        if self._abandoned:
            task.cancel()
        return await value

    def _deliver(self, value: Any, failure: HookFailedError | None) -> None:
        self.ended = True
        if self.future.done():
            return
        if failure is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(failure)


def _failure(error: BaseException) -> HookFailedError:
    """What became of a call that raised `error`, in words of ours. Runs in the call's thread: what
    foreign exceptions say is foreign code too.
    """
    kind = type(error).__name__
    failure = HookFailedError(f"ended with {kind}")
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        failure = HookRaisedError(kind)
        with _Caught():
            own = type(error) is HookFailedError
            failure = (
                HookFailedError(plain_words(error)) if own else HookRaisedError(described(error))
            )
    failure.__cause__ = error
    return failure


class _Caught:
    """Keeps whatever is raised inside: foreign code may raise anything."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> "_Caught":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        self.error = error
        return True

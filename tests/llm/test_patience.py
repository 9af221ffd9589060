import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from roost.llm.patience import Patience


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def after(seconds: float, value: str = "x") -> str:
    await asyncio.sleep(seconds)
    return value


def test_what_comes_in_time_is_returned() -> None:
    async def work() -> list[str]:
        with Patience() as patience:
            return [await patience.wait(after(0.001, str(n)), 5.0) for n in range(3)]

    assert run(work()) == ["0", "1", "2"]


def test_what_comes_too_late_is_cancelled() -> None:
    async def work() -> bool:
        task_ended = asyncio.Event()

        async def late() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                task_ended.set()

        with Patience() as patience, pytest.raises(TimeoutError):
            await patience.wait(late(), 0.01)
        return task_ended.is_set()

    assert run(work())


def test_each_wait_has_the_whole_of_its_time() -> None:
    async def work() -> None:
        with Patience() as patience:
            for _ in range(6):
                await patience.wait(after(0.03), 0.1)

    run(work())


def test_a_shorter_wait_after_a_long_one_is_kept_to() -> None:
    async def work() -> None:
        with Patience() as patience:
            await patience.wait(after(0), 60.0)
            with pytest.raises(TimeoutError):
                await patience.wait(after(60), 0.02)
            assert await patience.wait(after(0.001, "again"), 5.0) == "again"

    run(work())


def test_time_between_waits_does_not_count() -> None:
    async def work() -> None:
        with Patience() as patience:
            await patience.wait(after(0), 0.02)
            await asyncio.sleep(0.06)
            await patience.wait(after(0.001), 0.05)

    run(work())


def test_a_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        async def waiting() -> None:
            with Patience() as patience:
                await patience.wait(after(60), 30.0)

        task = asyncio.create_task(waiting())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())


def test_an_exception_of_what_is_awaited_passes() -> None:
    async def broken() -> None:
        raise ValueError("no")

    async def work() -> None:
        with Patience() as patience, pytest.raises(ValueError, match="no"):
            await patience.wait(broken(), 5.0)

    run(work())

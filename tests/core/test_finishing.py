import asyncio

import pytest

from roost.core.finishing import make_or_undo, see_through


def test_work_ends_although_its_caller_is_stopped_and_the_stop_is_raised_then() -> None:
    async def go() -> None:
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        went_on = False

        async def work() -> None:
            begun.set()
            await may_end.wait()
            ended.set()

        async def call() -> None:
            nonlocal went_on
            await see_through(work(), "work")
            went_on = True

        task = asyncio.create_task(call())
        await begun.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        assert not went_on

    asyncio.run(go())


def test_work_that_does_not_end_is_cancelled_when_its_time_is_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def go() -> None:
        cancelled = asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        await see_through(work(), "the tree stays", seconds=0.01)
        await asyncio.wait_for(cancelled.wait(), 5)

    asyncio.run(go())
    assert "the tree stays: it took longer than 0.01 s" in caplog.text


def test_what_fails_is_told_in_the_log_and_hides_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("no such thing")

    asyncio.run(see_through(work(), "it was not undone"))
    assert "it was not undone: no such thing" in caplog.text


def test_what_is_made_while_the_caller_is_stopped_is_undone() -> None:
    async def go() -> None:
        begun, may_end, undone = asyncio.Event(), asyncio.Event(), list[str]()

        async def making() -> str:
            begun.set()
            await may_end.wait()
            return "it"

        async def undo(made: str) -> None:
            undone.append(made)

        task = asyncio.create_task(make_or_undo(making(), undo, "it stays"))
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert undone == ["it"]

    asyncio.run(go())

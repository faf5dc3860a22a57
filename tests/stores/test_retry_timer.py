"""RetryTimer: a call that waits for its database ends when it is cancelled."""

import asyncio

import pytest

from reelstate.connections.timeouts import RetryTimer

UNREACHABLE = OSError("the connection is broken")


async def test_a_cancellation_that_the_driver_reports_as_a_failure_ends_the_retries() -> None:
    sent = asyncio.Event()

    async def call() -> None:
        timer = RetryTimer(3600)
        try:
            sent.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await timer.wait(UNREACHABLE, "database unreachable")

    task = asyncio.create_task(call())
    await sent.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_a_call_that_a_cancelled_task_makes_while_it_cleans_up_is_retried() -> None:
    running = asyncio.Event()
    retried: list[bool] = []

    async def call() -> None:
        try:
            running.set()
            await asyncio.Event().wait()
        finally:
            retried.append(await RetryTimer(3600).wait(UNREACHABLE, "database unreachable"))

    task = asyncio.create_task(call())
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert retried == [True]

import asyncio
from collections.abc import Collection

import pytest

from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch

AT_ONCE = 0.0


async def test_a_ring_wakes_whoever_waits() -> None:
    dispatch = PollDispatch()
    listener = dispatch.listen()
    waiting = asyncio.create_task(listener.wait(300))
    await asyncio.sleep(0)
    dispatch.notify(Wakeup.WORK)
    assert await waiting == {Wakeup.WORK}


async def test_rings_between_two_waits_are_kept_and_given_once() -> None:
    doorbell = LocalWakeups()
    listener = doorbell.listen(EVERY_WAKEUP)
    doorbell.notify(Wakeup.WORK)
    doorbell.notify(Wakeup.STOP, Wakeup.WORK)
    assert await listener.wait(300) == {Wakeup.WORK, Wakeup.STOP}
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_without_a_ring_the_time_runs_out() -> None:
    listener = PollDispatch().listen()
    assert await asyncio.wait_for(listener.wait(0.01), 300) == frozenset()


async def test_each_listener_has_ears_of_its_own() -> None:
    doorbell = LocalWakeups()
    first, second = doorbell.listen(EVERY_WAKEUP), doorbell.listen(EVERY_WAKEUP)
    doorbell.notify(Wakeup.STOP)
    assert await first.wait(AT_ONCE) == {Wakeup.STOP}
    assert await second.wait(AT_ONCE) == {Wakeup.STOP}


async def test_a_listener_hears_only_the_bells_it_asked_for() -> None:
    dispatch = PollDispatch()
    worker, watcher = dispatch.listen(), dispatch.listen([Wakeup.JOB_INACTIVE])
    dispatch.notify(Wakeup.JOB_INACTIVE)
    assert await worker.wait(AT_ONCE) == frozenset()
    assert await watcher.wait(AT_ONCE) == {Wakeup.JOB_INACTIVE}


async def test_a_wait_that_is_cancelled_loses_no_ring() -> None:
    doorbell = LocalWakeups()
    listener = doorbell.listen(EVERY_WAKEUP)
    waiting = asyncio.create_task(listener.wait(300))
    await asyncio.sleep(0)
    doorbell.notify(Wakeup.WORK)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await listener.wait(AT_ONCE) == {Wakeup.WORK}


async def test_who_has_left_is_not_rung_for() -> None:
    doorbell = LocalWakeups()
    listener = doorbell.listen(EVERY_WAKEUP)
    listener.close()
    doorbell.notify(Wakeup.WORK)
    assert not doorbell.heard
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_the_first_ring_leaves_at_once_and_the_rest_together() -> None:
    sent: list[set[Wakeup]] = []
    second = asyncio.Event()

    def send(bells: Collection[Wakeup]) -> None:
        sent.append(set(bells))
        if len(sent) == 2:
            second.set()

    merged = WakeupBatch(send, interval=0.02)
    merged.notify(Wakeup.WORK)
    assert sent == [{Wakeup.WORK}]
    for _ in range(1000):
        merged.notify(Wakeup.WORK)
        merged.notify(Wakeup.STOP)
    assert sent == [{Wakeup.WORK}]
    await asyncio.wait_for(second.wait(), 300)
    assert sent == [{Wakeup.WORK}, {Wakeup.WORK, Wakeup.STOP}]


async def test_after_a_quiet_while_a_ring_leaves_at_once_again() -> None:
    sent: list[Collection[Wakeup]] = []
    merged = WakeupBatch(sent.append, interval=0.0)
    merged.notify(Wakeup.WORK)
    await asyncio.sleep(0.01)
    merged.notify(Wakeup.WORK)
    assert len(sent) == 2


async def test_what_waits_to_be_sent_is_sent_at_the_end() -> None:
    sent: list[set[Wakeup]] = []
    merged = WakeupBatch(lambda bells: sent.append(set(bells)), interval=60)
    merged.notify(Wakeup.WORK)
    merged.notify(Wakeup.JOB_INACTIVE)
    merged.flush()
    assert sent == [{Wakeup.WORK}, {Wakeup.JOB_INACTIVE}]

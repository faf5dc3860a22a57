import asyncio
from collections.abc import Collection

import pytest

from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch
from tests.waiting import let_others_run, until

AT_ONCE = 0.0


async def test_a_wakeup_wakes_a_waiting_listener() -> None:
    dispatch = PollDispatch()
    listener = dispatch.listen()
    waiting = asyncio.create_task(listener.wait(300))
    await let_others_run()
    dispatch.notify(Wakeup.WORK)
    assert await waiting == {Wakeup.WORK}


async def test_wakeups_between_two_waits_are_kept_and_returned_once() -> None:
    local = LocalWakeups()
    listener = local.listen(EVERY_WAKEUP)
    local.notify(Wakeup.WORK)
    local.notify(Wakeup.STOP, Wakeup.WORK)
    assert await listener.wait(300) == {Wakeup.WORK, Wakeup.STOP}
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_without_a_wakeup_the_wait_times_out() -> None:
    listener = PollDispatch().listen()
    assert await asyncio.wait_for(listener.wait(0.01), 300) == frozenset()


async def test_each_listener_receives_every_wakeup() -> None:
    local = LocalWakeups()
    first, second = local.listen(EVERY_WAKEUP), local.listen(EVERY_WAKEUP)
    local.notify(Wakeup.STOP)
    assert await first.wait(AT_ONCE) == {Wakeup.STOP}
    assert await second.wait(AT_ONCE) == {Wakeup.STOP}


async def test_a_listener_receives_only_the_wakeups_it_asked_for() -> None:
    dispatch = PollDispatch()
    worker, watcher = dispatch.listen(), dispatch.listen([Wakeup.JOB_INACTIVE])
    dispatch.notify(Wakeup.JOB_INACTIVE)
    assert await worker.wait(AT_ONCE) == frozenset()
    assert await watcher.wait(AT_ONCE) == {Wakeup.JOB_INACTIVE}


async def test_a_cancelled_wait_loses_no_wakeup() -> None:
    local = LocalWakeups()
    listener = local.listen(EVERY_WAKEUP)
    waiting = asyncio.create_task(listener.wait(300))
    await let_others_run()
    local.notify(Wakeup.WORK)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await listener.wait(AT_ONCE) == {Wakeup.WORK}


async def test_a_closed_listener_receives_nothing() -> None:
    local = LocalWakeups()
    listener = local.listen(EVERY_WAKEUP)
    listener.close()
    local.notify(Wakeup.WORK)
    assert not local.has_listeners
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_the_first_wakeup_is_sent_at_once_and_the_following_together() -> None:
    sent: list[set[Wakeup]] = []
    second = asyncio.Event()

    def send(wakeups: Collection[Wakeup]) -> None:
        sent.append(set(wakeups))
        if len(sent) == 2:
            second.set()

    batch = WakeupBatch(send, interval=0.02)
    batch.notify(Wakeup.WORK)
    assert sent == [{Wakeup.WORK}]
    for _ in range(1000):
        batch.notify(Wakeup.WORK)
        batch.notify(Wakeup.STOP)
    assert sent == [{Wakeup.WORK}]
    await asyncio.wait_for(second.wait(), 300)
    assert sent == [{Wakeup.WORK}, {Wakeup.WORK, Wakeup.STOP}]


async def test_after_a_pause_a_wakeup_is_sent_at_once_again() -> None:
    sent: list[Collection[Wakeup]] = []
    batch = WakeupBatch(sent.append, interval=0.0)
    batch.notify(Wakeup.WORK)
    await until(lambda: batch.is_idle)
    batch.notify(Wakeup.WORK)
    assert len(sent) == 2


async def test_flush_sends_what_waits() -> None:
    sent: list[set[Wakeup]] = []
    batch = WakeupBatch(lambda wakeups: sent.append(set(wakeups)), interval=60)
    batch.notify(Wakeup.WORK)
    batch.notify(Wakeup.JOB_INACTIVE)
    batch.flush()
    assert sent == [{Wakeup.WORK}, {Wakeup.JOB_INACTIVE}]

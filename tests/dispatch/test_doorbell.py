import asyncio
from collections.abc import Collection

import pytest

from reelstate.dispatch.dispatch import EVERY_BELL, Bell
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.wakeups import Doorbell, Merged

AT_ONCE = 0.0


async def test_a_ring_wakes_whoever_waits() -> None:
    dispatch = PollDispatch()
    listener = dispatch.listen()
    waiting = asyncio.create_task(listener.wait(300))
    await asyncio.sleep(0)
    dispatch.ring(Bell.WORK)
    assert await waiting == {Bell.WORK}


async def test_rings_between_two_waits_are_kept_and_given_once() -> None:
    doorbell = Doorbell()
    listener = doorbell.listen(EVERY_BELL)
    doorbell.ring(Bell.WORK)
    doorbell.ring(Bell.STOP, Bell.WORK)
    assert await listener.wait(300) == {Bell.WORK, Bell.STOP}
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_without_a_ring_the_time_runs_out() -> None:
    listener = PollDispatch().listen()
    assert await asyncio.wait_for(listener.wait(0.01), 300) == frozenset()


async def test_each_listener_has_ears_of_its_own() -> None:
    doorbell = Doorbell()
    first, second = doorbell.listen(EVERY_BELL), doorbell.listen(EVERY_BELL)
    doorbell.ring(Bell.STOP)
    assert await first.wait(AT_ONCE) == {Bell.STOP}
    assert await second.wait(AT_ONCE) == {Bell.STOP}


async def test_a_listener_hears_only_the_bells_it_asked_for() -> None:
    dispatch = PollDispatch()
    worker, watcher = dispatch.listen(), dispatch.listen([Bell.REST])
    dispatch.ring(Bell.REST)
    assert await worker.wait(AT_ONCE) == frozenset()
    assert await watcher.wait(AT_ONCE) == {Bell.REST}


async def test_a_wait_that_is_cancelled_loses_no_ring() -> None:
    doorbell = Doorbell()
    listener = doorbell.listen(EVERY_BELL)
    waiting = asyncio.create_task(listener.wait(300))
    await asyncio.sleep(0)
    doorbell.ring(Bell.WORK)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await listener.wait(AT_ONCE) == {Bell.WORK}


async def test_who_has_left_is_not_rung_for() -> None:
    doorbell = Doorbell()
    listener = doorbell.listen(EVERY_BELL)
    listener.close()
    doorbell.ring(Bell.WORK)
    assert not doorbell.heard
    assert await listener.wait(AT_ONCE) == frozenset()


async def test_the_first_ring_leaves_at_once_and_the_rest_together() -> None:
    sent: list[set[Bell]] = []
    second = asyncio.Event()

    def send(bells: Collection[Bell]) -> None:
        sent.append(set(bells))
        if len(sent) == 2:
            second.set()

    merged = Merged(send, interval=0.02)
    merged.ring(Bell.WORK)
    assert sent == [{Bell.WORK}]
    for _ in range(1000):
        merged.ring(Bell.WORK)
        merged.ring(Bell.STOP)
    assert sent == [{Bell.WORK}]
    await asyncio.wait_for(second.wait(), 300)
    assert sent == [{Bell.WORK}, {Bell.WORK, Bell.STOP}]


async def test_after_a_quiet_while_a_ring_leaves_at_once_again() -> None:
    sent: list[Collection[Bell]] = []
    merged = Merged(sent.append, interval=0.0)
    merged.ring(Bell.WORK)
    await asyncio.sleep(0.01)
    merged.ring(Bell.WORK)
    assert len(sent) == 2


async def test_what_waits_to_be_sent_is_sent_at_the_end() -> None:
    sent: list[set[Bell]] = []
    merged = Merged(lambda bells: sent.append(set(bells)), interval=60)
    merged.ring(Bell.WORK)
    merged.ring(Bell.REST)
    merged.flush()
    assert sent == [{Bell.WORK}, {Bell.REST}]

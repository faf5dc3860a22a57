import asyncio

from reelstate.core.errors import RedisUnavailable
from reelstate.locks.lock import Lock
from reelstate.runtime.cancellation import cancel_and_wait
from tests.waiting import let_others_run


class FailsWhileCleaningUp(Lock):
    """Its client fails while it cleans up after the first cancellation, as Redis clients do on a broken connection."""

    def __init__(self) -> None:
        super().__init__("job", ttl=0.03)
        self.renewing = asyncio.Event()
        self.fails = False

    async def _take(self) -> int | None:
        return 1

    async def _renew(self) -> bool:
        self.renewing.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self.fails:
                self.fails = False
                raise RedisUnavailable("the connection was closed") from None
            raise
        return True

    async def _release(self) -> None:
        """Nothing is kept elsewhere."""


async def test_a_lock_is_released_though_its_client_swallows_the_cancellation() -> None:
    lock = FailsWhileCleaningUp()
    assert await lock.acquire()
    keeping = lock._renewing
    await lock.renewing.wait()
    lock.fails = True
    await lock.release()
    assert keeping is not None
    assert keeping.done()
    assert not lock.held


async def test_a_task_that_swallows_cancellations_is_cancelled_until_it_ends() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while swallowed < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1

    task = asyncio.create_task(stubborn())
    await let_others_run()
    await cancel_and_wait(task)
    assert task.done()
    assert swallowed == 2


async def test_finished_tasks_are_ignored() -> None:
    async def fail() -> None:
        raise ValueError

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    await cancel_and_wait(task)
    assert isinstance(task.exception(), ValueError)

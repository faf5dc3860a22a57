import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from reelstate.core.errors import InvalidRequest, NotFound, WaitTimeout
from reelstate.core.machine import JobStatus
from reelstate.core.model import Event, JobDetail
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.engine import Engine
from reelstate.feed import feed
from reelstate.services import watch as watching
from tests.conformance.scenarios import (
    a_running_task,
    fail_for_good,
    finish,
    lose,
    released,
    running_parts,
    status_of,
    submitted,
    take,
    take_one,
)
from tests.engines import FakeClock, a_worker, done, failed
from tests.waiting import let_others_run, until

TIMEOUT = 300.0
FAN_RESULTS = {"plan": {"items": [1, 2, 3]}}


async def seen(engine: Engine, job_id: int, after: str | None = None) -> list[Event]:
    """Everything that a watcher sees until it is let go."""
    async with asyncio.timeout(TIMEOUT):
        return [event async for event in engine.watch(job_id, after)]


async def wait_for_wakeup(engine: Engine, job_id: int) -> JobDetail:
    """Wait for a job in a way that only a wake-up can end."""
    return await watching.wait(engine.store, engine.catalogue, engine.dispatch, job_id, TIMEOUT, poll=3600.0)


def is_listening(engine: Engine) -> bool:
    """Return whether something in this process waits for wake-ups of the engine."""
    return bool(engine.dispatch._local.has_listeners)  # type: ignore[attr-defined]


async def everything(engine: Engine, job_id: int) -> list[Event]:
    return (await engine.history(job_id, limit=10_000)).items


@asynccontextmanager
async def wakeups_of(engine: Engine) -> AsyncIterator[set[Wakeup]]:
    """Collect the wake-ups that are sent meanwhile."""
    listener = engine.dispatch.listen(EVERY_WAKEUP)
    wakeups: set[Wakeup] = set()
    try:
        yield wakeups
        wakeups |= await listener.wait(0)
    finally:
        listener.close()


async def test_the_history_of_an_inactive_job_is_replayed_and_ends(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), FAN_RESULTS)
    events = await seen(engine, job_id)
    assert events == await everything(engine, job_id)
    assert (events[-1].entity, events[-1].target) == ("job", "completed")


async def test_events_during_a_watch_are_received(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    watcher = asyncio.create_task(seen(engine, job_id))
    await let_others_run()
    await finish(engine, await a_worker(engine), FAN_RESULTS)
    assert await watcher == await everything(engine, job_id)


async def test_a_watch_goes_on_after_any_of_its_events(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), FAN_RESULTS)
    events = await seen(engine, job_id)
    for index, event in enumerate(events):
        assert await seen(engine, job_id, event.cursor) == events[index + 1 :]


async def test_pages_are_no_seam(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), FAN_RESULTS)
    whole = await everything(engine, job_id)
    for size in (1, 2, len(whole), len(whole) - 1):
        monkeypatch.setattr(feed, "PAGE", size)
        assert await seen(engine, job_id) == whole
        assert await seen(engine, job_id, whole[-1].cursor) == []


async def test_a_failure_that_was_followed_by_a_retry_does_not_end_it(engine: Engine) -> None:
    task = await a_running_task(engine)
    await fail_for_good(engine, task)
    job_id = task.key.job_id
    assert [event.target for event in await seen(engine, job_id) if event.entity == "job"][-1] == "failed"
    await engine.retry(job_id)
    watcher = asyncio.create_task(seen(engine, job_id))
    await finish(engine, await a_worker(engine))
    events = await watcher
    assert events == await everything(engine, job_id)
    assert [event.target for event in events if event.entity == "job"][-1] == "completed"


async def test_a_watch_ends_with_the_tasks_that_its_job_took_along(engine: Engine) -> None:
    tasks = await running_parts(engine, 3)
    job_id = tasks[0].key.job_id
    watcher = asyncio.create_task(seen(engine, job_id))
    await engine.quarantine(job_id, reason="odd")
    events = await watcher
    assert events == await everything(engine, job_id)
    assert [event.target for event in events[-4:]].count("new") == 3


async def test_watching_an_unknown_job_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFound):
        await seen(engine, 7)
    with pytest.raises(InvalidRequest, match="cursor"):
        await seen(engine, await submitted(engine), "nonsense")


async def test_a_closed_watch_closes_its_listener(engine: Engine) -> None:
    before = len(engine.dispatch._local._listeners)  # type: ignore[attr-defined]
    watcher = asyncio.create_task(seen(engine, await submitted(engine)))
    await until(lambda: engine.feed.figures.subscribers == 1)
    assert len(engine.dispatch._local._listeners) == before + 1  # type: ignore[attr-defined]
    watcher.cancel()
    await asyncio.gather(watcher, return_exceptions=True)
    assert len(engine.dispatch._local._listeners) == before  # type: ignore[attr-defined]


ENDS: dict[str, Callable[[Engine, int], Awaitable[object]]] = {
    "completed": lambda engine, job_id: engine.force(job_id, JobStatus.COMPLETED, reason="enough"),
    "failed": lambda engine, job_id: engine.force(job_id, JobStatus.FAILED, reason="enough"),
    "quarantined": lambda engine, job_id: engine.quarantine(job_id, reason="odd"),
    "cancelled": lambda engine, job_id: engine.cancel(job_id),
}


@pytest.mark.parametrize("status", ENDS)
async def test_wait_returns_the_job_when_it_is_inactive(engine: Engine, status: str) -> None:
    job_id = await submitted(engine)
    waiting = asyncio.create_task(wait_for_wakeup(engine, job_id))
    await until(lambda: is_listening(engine))
    await ENDS[status](engine, job_id)
    assert (await waiting).job.status == status
    assert (await engine.wait(job_id, timeout=0)).job.status == status


async def test_wait_is_woken_by_the_completion_itself(engine: Engine) -> None:
    task = await a_running_task(engine)
    waiting = asyncio.create_task(wait_for_wakeup(engine, task.key.job_id))
    await until(lambda: is_listening(engine))
    await engine.complete([done(task)])
    assert (await waiting).job.status is JobStatus.COMPLETED


async def test_wait_needs_no_wakeup(engine: Engine) -> None:
    task = await a_running_task(engine)
    waiting = asyncio.create_task(engine.wait(task.key.job_id, timeout=TIMEOUT))
    await until(lambda: is_listening(engine))
    await Engine(engine.store).complete([done(task)])
    assert (await waiting).job.status is JobStatus.COMPLETED


async def test_wait_raises_when_the_time_is_over(engine: Engine) -> None:
    job_id = await submitted(engine)
    for seconds in (0, 0.05):
        with pytest.raises(WaitTimeout, match="still pending") as raised:
            await engine.wait(job_id, timeout=seconds)
        assert (raised.value.job_id, raised.value.status, raised.value.seconds) == (job_id, "pending", seconds)
    with pytest.raises(NotFound):
        await engine.wait(7)


async def test_new_work_sends_a_wakeup(engine: Engine) -> None:
    async with wakeups_of(engine) as wakeups:
        await submitted(engine)
    assert wakeups == {Wakeup.WORK}


async def test_delayed_work_sends_no_wakeup(engine: Engine, clock: FakeClock) -> None:
    async with wakeups_of(engine) as wakeups:
        await submitted(engine, delay=60)
    assert wakeups == set()
    clock.advance(61)
    async with wakeups_of(engine) as wakeups:
        await engine.orchestrate()
    assert wakeups == {Wakeup.WORK}
    async with wakeups_of(engine) as wakeups:
        await engine.orchestrate()
    assert wakeups == set()


async def test_a_repeated_submission_sends_no_wakeup(engine: Engine) -> None:
    await submitted(engine, idempotency_key="a")
    async with wakeups_of(engine) as wakeups:
        await submitted(engine, idempotency_key="a")
    assert wakeups == set()


async def test_a_completion_sends_a_wakeup_when_it_opens_tasks_and_when_its_job_is_inactive(engine: Engine) -> None:
    await submitted(engine, "fan")
    worker = await a_worker(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(await take_one(engine, worker), {"items": [1, 2]})])
    assert wakeups == {Wakeup.WORK}
    first, second = await take(engine, worker)
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(first)])
    assert wakeups == set()
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(second)])
    assert wakeups == {Wakeup.WORK}
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(await take_one(engine, worker))])
    assert wakeups == {Wakeup.JOB_INACTIVE}


async def test_a_job_of_one_stage_sends_a_wakeup_when_it_is_inactive(engine: Engine) -> None:
    task = await a_running_task(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(task)])
    assert wakeups == {Wakeup.JOB_INACTIVE}
    async with wakeups_of(engine) as wakeups:
        await engine.complete([done(task)])
    assert wakeups == set()


async def test_a_failure_sends_a_wakeup_when_its_job_is_inactive(engine: Engine) -> None:
    task = await a_running_task(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.fail([failed(task)])
    assert wakeups == set()
    other = await a_running_task(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.fail([failed(other, retryable=False)])
    assert wakeups == {Wakeup.JOB_INACTIVE}


async def test_a_released_task_sends_a_wakeup(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.release([released(task)])
    assert wakeups == {Wakeup.WORK}
    async with wakeups_of(engine) as wakeups:
        await engine.release([released(task)])
    assert wakeups == set()
    await take_one(engine, await a_worker(engine))
    async with wakeups_of(engine) as wakeups:
        await lose(engine, clock)
    assert wakeups == {Wakeup.WORK}
    async with wakeups_of(engine) as wakeups:
        await engine.reclaim()
    assert wakeups == set()


async def test_operations_send_wakeups(engine: Engine) -> None:
    job_id = await submitted(engine)
    actions: list[tuple[Callable[[], Awaitable[object]], set[Wakeup]]] = [
        (lambda: engine.quarantine(job_id, reason="odd"), {Wakeup.STOP, Wakeup.JOB_INACTIVE}),
        (lambda: engine.quarantine(job_id, reason="odd"), set()),
        (lambda: engine.retry(job_id), {Wakeup.WORK}),
        (lambda: engine.force(job_id, JobStatus.FAILED, reason="odd"), {Wakeup.STOP, Wakeup.JOB_INACTIVE}),
        (lambda: engine.force(job_id, JobStatus.PENDING, reason="odd"), {Wakeup.STOP, Wakeup.WORK}),
        (lambda: engine.cancel(job_id), {Wakeup.STOP, Wakeup.JOB_INACTIVE}),
    ]
    for act, expected in actions:
        async with wakeups_of(engine) as wakeups:
            await act()
        assert wakeups == expected
    assert await status_of(engine, job_id) is JobStatus.CANCELLED


async def test_disable_and_enable_send_wakeups(engine: Engine) -> None:
    await a_running_task(engine)
    async with wakeups_of(engine) as wakeups:
        await engine.disable("worker")
    assert wakeups == {Wakeup.STOP, Wakeup.WORK}
    async with wakeups_of(engine) as wakeups:
        await engine.enable("worker")
    assert wakeups == {Wakeup.WORK}


async def test_an_event_names_its_stage_wherever_it_is_read(engine: Engine) -> None:
    job_id = (await engine.submit("fan")).job_id
    await finish(engine, await a_worker(engine), {"plan": {"items": 2}})
    elsewhere = Engine(engine.store)
    logs = {
        "history": (await elsewhere.history(job_id)).items,
        "events": (await elsewhere.events()).items,
        "watch": [event async for event in engine.watch(job_id)],
    }
    for name, events in logs.items():
        named = {(event.stage, event.stage_number) for event in events if event.job_id == job_id}
        assert named == {(None, None), ("plan", 0), ("work", 1), ("pack", 2)}, name
    assert {event.part for event in (await engine.history(job_id, stage="work")).items} == {None, 0, 1}
    with pytest.raises(InvalidRequest, match="wrok"):
        await engine.history(job_id, stage="wrok")

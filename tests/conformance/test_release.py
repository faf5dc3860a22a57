"""release: a worker gives tasks back that it will not finish, and the run does not count as an attempt."""

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Release, TaskKey, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    keys,
    lose,
    released,
    running_parts,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
)
from tests.engines import FakeClock, a_worker, done, failed


async def test_a_released_task_is_ready_again_and_does_not_count_as_an_attempt(
    engine: Engine, clock: FakeClock
) -> None:
    task = await a_running_task(engine)
    clock.advance(5)
    assert await engine.release([released(task)]) == [Verdict.OK]
    row = await task_at(engine, task.key)
    assert (row.status, row.attempt, row.token, row.lost) == (TaskStatus.READY, 0, 1, 0)
    assert (row.worker_id, row.lease_expires_at, row.ready_at) == (None, None, clock.now)
    assert (await task_path(engine, task.key))[-1] == ("running", "ready", "worker")
    again = await take_one(engine, await a_worker(engine, "other"))
    assert (again.token, again.attempt) == (2, 1)


async def test_releases_never_use_up_the_attempts(engine: Engine) -> None:
    await declared(engine, "once", StageSpec(name="main", attempts=1))
    await submitted(engine, "once")
    worker = await a_worker(engine)
    for number in range(1, 6):
        task = await take_one(engine, worker)
        assert (task.token, task.attempt) == (number, 1)
        await engine.release([released(task)])


async def test_a_release_gives_back_only_its_own_attempt(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=0)])
    await engine.orchestrate()
    worker = await a_worker(engine, "other")
    await engine.release([released(await take_one(engine, worker))])
    assert (await take_one(engine, worker)).attempt == 2


async def test_a_release_twice_gets_the_first_answer(engine: Engine) -> None:
    task = await a_running_task(engine)
    assert await engine.release([released(task), released(task)]) == [Verdict.OK, Verdict.REPEATED]
    assert await engine.release([released(task)]) == [Verdict.REPEATED]
    assert (await task_at(engine, task.key)).attempt == 0


async def test_what_was_released_can_not_be_completed(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.release([released(task)])
    assert await engine.complete([done(task)]) == [Verdict.LOST]
    assert (await task_at(engine, task.key)).status is TaskStatus.READY


async def test_every_item_of_a_batch_gets_its_own_verdict(engine: Engine, clock: FakeClock) -> None:
    held, ended = await running_parts(engine, 2)
    await engine.complete([done(ended)])
    await submitted(engine)
    cancelled = await take_one(engine, await a_worker(engine, "other"))
    await engine.cancel(cancelled.key.job_id)
    unknown = Release(key=TaskKey(404, 0, 0), token=1)
    stale = Release(key=held.key, token=0)
    verdicts = await engine.release([unknown, released(held), released(ended), released(cancelled), stale])
    assert verdicts == [Verdict.UNKNOWN, Verdict.OK, Verdict.LOST, Verdict.CANCELLED, Verdict.LOST]


async def test_a_release_after_reclaim_is_lost_and_gives_nothing_back(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    assert await engine.release([released(task)]) == [Verdict.LOST]
    assert (await task_at(engine, task.key)).attempt == 1


async def test_what_is_released_in_a_failed_job_waits_as_new(engine: Engine) -> None:
    bad, other = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    assert await engine.release([released(other)]) == [Verdict.OK]
    row = await task_at(engine, other.key)
    assert (row.status, row.attempt, row.ready_at) == (TaskStatus.NEW, 0, None)
    assert await status_of(engine, bad.key.job_id) is JobStatus.FAILED


async def test_a_released_task_keeps_its_position(engine: Engine) -> None:
    first, second = await submitted(engine), await submitted(engine)
    worker = await a_worker(engine)
    await engine.release([released(await take_one(engine, worker))])
    assert [key.job_id for key in keys(await take(engine, worker))] == [first, second]


@pytest.mark.parametrize("parts", [0, 3])
async def test_a_batch_of_any_size_is_released_at_once(engine: Engine, parts: int) -> None:
    tasks = await running_parts(engine, parts)
    assert await engine.release([released(task) for task in tasks]) == [Verdict.OK] * parts

import asyncio
from typing import Any

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus
from tests.waiting import until
from tests.worker.local_workers import count_leased, engine_for, has_leased, run_worker, wait_inactive


async def test_an_isolated_task_runs_alone_and_the_others_continue_after_it(database_url: str) -> None:
    video = rs.Pipeline("video")
    together: list[set[str]] = []
    running: set[str] = set()

    @video.stage(name="cut", lease=1, isolate_after=1)
    async def cut(task: rs.Run) -> None:
        running.add(task.spec)
        together.append(set(running))
        await asyncio.sleep(0.03 + 0.023 * (task.job_id % 4))  # never all at once, so that slots free one by one
        running.discard(task.spec)

    async with engine_for(database_url, video) as engine:
        lost = await engine.submit("video", "isolated")
        ghost = await engine.register("ghost", hostname="gone", software="0", slots=1)
        await engine.claim(ghost, 1)
        others = [await engine.submit("video", f"other {number}", priority="high") for number in range(200)]
        async with run_worker(
            engine, database_url, [video], worker_prefetch=0, timings={"isolated_task_wait": (0.0, 0.0)}
        ):
            await until(lambda: _reclaimed(engine))
            for job in [lost, *others]:
                assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
    assert [group for group in together if "isolated" in group] == [{"isolated"}]
    assert together.index({"isolated"}) < len(together) - 1, "more urgent tasks kept it waiting until the end"
    assert max(map(len, together)) > 1


async def _reclaimed(engine: Any) -> bool:
    return (await engine.reclaim()).ready == 1


async def _has_leased_at_least(engine: Any, count: int) -> bool:
    return await count_leased(engine) >= count


async def test_prefetched_tasks_are_released_without_counting_an_attempt(database_url: str) -> None:
    video = rs.Pipeline("video")
    hold = asyncio.Event()

    @video.stage(each="spec.parts")
    async def cut(task: rs.Run) -> None:
        if task.part >= 100:
            await hold.wait()

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=2, worker_prefetch=50) as worker,
    ):
        job = await engine.submit("video", {"parts": 500})
        await until(lambda: _has_leased_at_least(engine, 20))
        assert len(worker._queue) <= 50
        worker.stop()
        hold.set()
    async with engine_for(database_url) as engine:
        waiting = (await engine.tasks(job.id, statuses=[TaskStatus.READY])).items
        assert await count_leased(engine) == 0
    assert len(waiting) > 300
    assert {task.attempt for task in waiting} == {0}


async def test_a_long_stage_after_a_short_one_is_not_prefetched(database_url: str) -> None:
    video = rs.Pipeline("video")
    hold = asyncio.Event()
    cutting = []

    @video.stage
    async def plan(task: rs.Run) -> dict[str, int]:
        return {"parts": 40}

    @video.stage(after=plan, each="plan.parts")
    async def cut(task: rs.Run) -> None:
        cutting.append(task.key)
        await hold.wait()

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=2) as worker,
    ):
        worker._pace.record_run(("video", "plan"), 0.001)
        worker._pace.record_claim({("video", "plan")})
        assert worker._pace.prefetch == 10
        await engine.submit("video")
        await until(lambda: len(cutting) == 2)
        await until(lambda: has_leased(engine, 2))
        hold.set()

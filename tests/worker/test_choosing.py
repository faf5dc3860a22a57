import asyncio
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus
from tests.worker.local_workers import count_leased, engine_for, has_leased, run_worker, until, wait_inactive


async def test_a_suspect_gets_an_empty_worker_and_the_others_go_on_after_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.worker.loop.ISOLATED_TASK_WAIT", (0.0, 0.0))
    film = rs.Pipeline("film")
    together: list[set[str]] = []
    running: set[str] = set()

    @film.stage(name="cut", lease=1, isolate_after=1)
    async def cut(task: rs.Run) -> None:
        running.add(task.spec)
        together.append(set(running))
        await asyncio.sleep(0.03 + 0.023 * (task.job_id % 4))  # never all at once, so that slots free one by one
        running.discard(task.spec)

    async with engine_for(database_url, film) as engine:
        lost = await engine.submit("film", "suspect")
        ghost = await engine.register("ghost", hostname="gone", software="0", slots=1)
        await engine.claim(ghost, 1)
        others = [await engine.submit("film", f"other {number}", priority="high") for number in range(200)]
        async with run_worker(engine, database_url, [film], worker_prefetch=0):
            await until(lambda: _reclaimed(engine))
            for job in [lost, *others]:
                assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
    assert [group for group in together if "suspect" in group] == [{"suspect"}]
    assert together.index({"suspect"}) < len(together) - 1, "the more urgent would have kept it waiting to the end"
    assert max(map(len, together)) > 1


async def _reclaimed(engine: Any) -> bool:
    return (await engine.reclaim()).ready == 1


async def test_short_tasks_are_fetched_ahead_and_given_back_uncharged(database_url: str) -> None:
    film = rs.Pipeline("film")
    hold = asyncio.Event()

    @film.stage(each="spec.parts")
    async def cut(task: rs.Run) -> None:
        if task.part >= 100:
            await hold.wait()

    async with (
        engine_for(database_url, film) as engine,
        run_worker(engine, database_url, [film], worker_concurrency=2, worker_prefetch=50) as worker,
    ):
        job = await engine.submit("film", {"parts": 500})
        held = 0
        async with asyncio.timeout(300):
            while held < 20:
                held = await count_leased(engine)
                await asyncio.sleep(0.01)
        assert len(worker._queue) <= 50
        worker.stop()
        hold.set()
    async with engine_for(database_url) as engine:
        waiting = (await engine.tasks(job.id, statuses=[TaskStatus.READY])).items
        assert await count_leased(engine) == 0
    assert len(waiting) > 300
    assert {task.attempt for task in waiting} == {0}


async def test_a_long_stage_behind_a_short_one_is_not_hoarded(database_url: str) -> None:
    film = rs.Pipeline("film")
    hold = asyncio.Event()
    cutting = []

    @film.stage
    async def plan(task: rs.Run) -> dict[str, int]:
        return {"parts": 40}

    @film.stage(after=plan, each="plan.parts")
    async def cut(task: rs.Run) -> None:
        cutting.append(task.key)
        await hold.wait()

    async with (
        engine_for(database_url, film) as engine,
        run_worker(engine, database_url, [film], worker_concurrency=2) as worker,
    ):
        worker._pace.ran(("film", "plan"), 0.001)
        worker._pace.claimed({("film", "plan")})
        assert worker._pace.ahead == 10
        await engine.submit("film")
        await until(lambda: len(cutting) == 2)
        await until(lambda: has_leased(engine, 2))
        hold.set()

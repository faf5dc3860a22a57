"""grid and runs: every task of a job as short values, and the runs of its tasks with their outcomes."""

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import Release, TaskKey
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services import grid as grid_module
from reelstate.services import spans as spans_module
from reelstate.services.grid import Run
from tests.conformance.scenarios import (
    declared,
    finish,
    lose,
    progress,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
)
from tests.engines import FakeClock, a_worker, done, failed

START = 1_767_225_600_000
"""The time of the clock of the tests, in milliseconds."""


async def outcomes(engine: Engine, job_id: int) -> list[tuple[int, int, str]]:
    """The parts, numbers and outcomes of the runs of a job."""
    return [(run.part, run.attempt, run.outcome) for run in (await engine.runs(job_id)).runs]


async def test_a_grid_shows_each_task_as_it_is_stored(engine: Engine, clock: FakeClock) -> None:
    job = await submitted(engine, "fan")
    first, second = await a_worker(engine, "one"), await a_worker(engine, "two")
    (plan,) = await take(engine, first)
    clock.advance(2.5)
    await engine.complete([done(plan, {"items": [7, 8, 9]})])
    done_part = await take_one(engine, first)
    running = await take_one(engine, second)
    clock.advance(1)
    await engine.complete([done(done_part)])
    await engine.report(second, [progress(running, percent=40.0)])
    found = await engine.grid(job)
    assert (found.job_id, found.version, found.now) == (job, (await engine.job(job)).job.version, START + 3500)
    assert [(stage.name, len(stage.rows)) for stage in found.stages] == [("plan", 1), ("work", 3), ("pack", 0)]
    cells = found.stages[1].rows
    assert [(cell.part, cell.status, cell.percent) for cell in cells] == [
        (0, "done", cells[0].percent),
        (1, "running", 40.0),
        (2, "ready", 0.0),
    ]
    assert [found.workers.get(cell.last_worker or 0) for cell in cells] == ["one", "two", None]
    assert [(cell.claimed, cell.finished) for cell in cells] == [
        (START + 2500, START + 3500),
        (START + 2500, None),
        (None, None),
    ]
    for cell in cells:
        task = await task_at(engine, TaskKey(job, 1, cell.part))
        assert (cell.version, cell.attempt, cell.max_attempts) == (task.version, task.attempt, task.max_attempts)


async def test_a_grid_of_one_stage_holds_that_stage_only(engine: Engine) -> None:
    job = await submitted(engine, "fan")
    found = await engine.grid(job, stage="plan")
    assert [(stage.name, stage.stage) for stage in found.stages] == [("plan", 0)]
    with pytest.raises(InvalidRequest, match="no stage 'walk'"):
        await engine.grid(job, stage="walk")


async def test_a_grid_says_that_it_is_truncated(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = await running_parts(engine, 3)
    monkeypatch.setattr(grid_module, "MAX_TASKS", 2)
    found = await engine.grid(tasks[0].key.job_id)
    assert (len(found.stages[0].rows), found.truncated) == (2, True)


async def test_a_grid_of_some_parts_holds_those_only(engine: Engine) -> None:
    job = (await running_parts(engine, 4))[0].key.job_id
    (stage,) = (await engine.grid(job, stage="part", parts=(1, 2))).stages
    assert [cell.part for cell in stage.rows] == [1, 2]
    assert list(stage.rows) == list((await engine.grid(job)).stages[0].rows[1:3])
    for refused in ({"parts": (0, 1)}, {"stage": "part", "parts": (2, 1)}, {"stage": "part", "parts": (0, 10**9)}):
        with pytest.raises(InvalidRequest):
            await engine.grid(job, **refused)


async def test_spans_hold_every_task_of_a_job_once_and_in_its_state(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 9)
    job = tasks[0].key.job_id
    clock.advance(2.5)
    await engine.complete([done(task) for task in tasks[:3] + tasks[7:]])
    await engine.fail([failed(tasks[3], retry_in=60.0)])
    worker = (await task_at(engine, tasks[4].key)).worker_id or 0
    await engine.report(worker, [progress(tasks[4], percent=40.0)])
    found = await engine.spans(job)
    (stage,) = found.stages
    assert [
        (span.first, span.last, span.status, span.percent if span.status == "running" else 0) for span in stage.spans
    ] == [
        (0, 2, "done", 0),
        (3, 3, "error", 0),
        (4, 4, "running", 40.0),
        (5, 5, "running", 0),
        (6, 6, "running", 0),
        (7, 8, "done", 0),
    ]
    cells = (await engine.grid(job)).stages[0].rows
    spanned = [
        (part, span.status, span.version, span.attempt, span.max_attempts, span.lost)
        for span in stage.spans
        for part in range(span.first, span.last + 1)
    ]
    assert spanned == [
        (cell.part, cell.status, cell.version, cell.attempt, cell.max_attempts, cell.lost) for cell in cells
    ]
    assert (sum(stage.finished), stage.finished[2], found.interval, found.truncated) == (5, 5, 1.0, False)


async def test_spans_of_a_job_that_does_not_run_have_no_pace(engine: Engine) -> None:
    job = await submitted(engine)
    await finish(engine, await a_worker(engine))
    found = await engine.spans(job)
    assert [(span.first, span.last, span.status) for span in found.stages[0].spans] == [(0, 0, "done")]
    assert not any(stage.finished for stage in found.stages)


async def test_spans_end_where_a_job_has_more_tasks_than_are_shown(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = await running_parts(engine, 4)
    await engine.complete([done(task) for task in tasks])
    monkeypatch.setattr(spans_module, "MAX_TASKS", 3)
    found = await engine.spans(tasks[0].key.job_id)
    assert ([(span.first, span.last) for span in found.stages[0].spans], found.truncated) == ([(0, 2)], True)


async def test_the_job_of_another_user_has_no_grid_and_no_runs(engine: Engine) -> None:
    job = await submitted(engine, user_id="ada")
    for read in (engine.grid, engine.spans, engine.runs):
        await read(job, owner="ada")
        for unknown, owner in ((job, "bob"), (7, "ada")):
            with pytest.raises(NotFound):
                await read(unknown, owner=owner)


async def test_a_run_says_where_when_and_how_it_ended(engine: Engine, clock: FakeClock) -> None:
    task, _ = await running_parts(engine, 2)
    worker = (await task_at(engine, task.key)).worker_id or 0
    clock.advance(1.5)
    await engine.complete([done(task)])
    found = await engine.runs(task.key.job_id)
    assert found.workers == {worker: "worker"}
    assert found.runs == [
        Run(0, 0, 1, 1, worker, START, START + 1500, "done"),
        Run(0, 1, 1, 1, worker, START, None, "running"),
    ]
    assert (found.stages, found.after) == (("part",), None)


async def test_runs_tell_failed_lost_released_and_cancelled_ones_apart(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 4)
    fails, loses, releases, stays = tasks
    await engine.fail([failed(fails, retry_in=0.0)])
    await engine.release([Release(key=releases.key, token=releases.token)])
    assert await outcomes(engine, fails.key.job_id) == [
        (0, 1, "error"),
        (1, 1, "running"),
        (2, 1, "released"),
        (3, 1, "running"),
    ]
    again = await take_one(engine, await a_worker(engine, "other"))
    assert again.key == releases.key
    await engine.complete([done(again), done(stays)])
    await lose(engine, clock)
    assert (loses.key.job_id, 1) == (fails.key.job_id, loses.key.part)
    assert await outcomes(engine, fails.key.job_id) == [
        (0, 1, "error"),
        (1, 1, "lost"),
        (2, 1, "released"),
        (2, 1, "done"),
        (3, 1, "done"),
    ]
    (last,) = [task for task in await take(engine, await a_worker(engine, "third", slots=1)) if task.key == loses.key]
    await engine.cancel(last.key.job_id)
    assert (await outcomes(engine, fails.key.job_id))[2] == (1, 2, "cancelled")


async def test_a_stalled_run_failed_and_was_not_lost(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "still", StageSpec(name="main", stall_after=5.0))
    job = await submitted(engine, "still")
    await take_one(engine, await a_worker(engine))
    clock.advance(6)
    await engine.reclaim()
    assert await outcomes(engine, job) == [(0, 1, "error")]


async def test_pages_of_runs_continue_the_numbers_of_attempts(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 2)
    job = tasks[0].key.job_id
    for name in ("second", "third"):
        await lose(engine, clock)
        for part in range(2):
            await take(engine, await a_worker(engine, f"{name}{part}", slots=1))
    whole = (await engine.runs(job)).runs
    assert [(run.part, run.attempt) for run in whole] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    paged: list[Run] = []
    after: str | None = None
    while True:
        page = await engine.runs(job, limit=1, after=after)
        paged += page.runs
        if page.after is None:
            break
        after = page.after
    assert paged == whole
    for bad in ("x", "1/2", "-1/0/0/0", "1/2/3/4/5", "99999/0/0/0", "0/0/0/99999999999"):
        with pytest.raises(InvalidRequest):
            await engine.runs(job, after=bad)


async def test_a_sole_task_has_a_run(engine: Engine) -> None:
    job = await submitted(engine)
    await finish(engine, await a_worker(engine))
    assert await outcomes(engine, job) == [(0, 1, "done")]

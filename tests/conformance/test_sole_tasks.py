"""A job with a single task has no row of its stage, and one row for events of task and job. No reader sees that."""

import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import Event, Json
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import declared, lose, submitted, take, take_one
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql

LIFE = [
    ("job", 1, None, "pending", "user"),
    ("stage", 1, None, "opened", "orchestrator"),
    ("task", 2, "ready", "running", "worker"),
    ("job", 2, "pending", "processing", "worker"),
    ("task", 3, "running", "done", "worker"),
    ("job", 3, "processing", "completed", "orchestrator"),
]


def shown(event: Event) -> tuple[str, int, str | None, str, str]:
    return event.entity, event.version, event.origin, event.target, event.actor


async def completed(engine: Engine) -> int:
    job_id = await submitted(engine)
    await engine.complete([done(await take_one(engine, await a_worker(engine)))])
    return job_id


async def test_every_event_is_seen_though_three_rows_hold_six(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await completed(engine)
    assert [shown(event) for event in (await engine.history(job_id)).items] == LIFE
    assert manual_sql.run("SELECT count(*) FROM events WHERE job_id = ?", job_id) == [(3,)]
    rows = manual_sql.run(
        "SELECT entity, version, origin, target, actor FROM history WHERE job_id = ? ORDER BY id", job_id
    )
    assert [tuple(row) for row in rows] == LIFE


async def test_a_cursor_between_two_events_of_one_row_is_resumed_from(engine: Engine) -> None:
    job_id = await completed(engine)
    history: list[Event] = []
    feed: list[Event] = []
    after = None
    while len(history) <= len(LIFE) and (page := (await engine.history(job_id, limit=1, after=after)).items):
        history += page
        after = page[-1].cursor
    after = None
    while len(feed) <= len(LIFE) and (page := (await engine.events(limit=1, after=after)).items):
        feed += [event for event in page if event.job_id == job_id]
        after = page[-1].cursor
    assert [shown(event) for event in history] == [shown(event) for event in feed] == LIFE
    assert len({event.cursor for event in feed}) == len(LIFE)


async def test_the_events_of_job_stage_and_task_are_distinguished(engine: Engine) -> None:
    job_id = await completed(engine)
    own = (await engine.history(job_id, stage=-1, part=-1)).items
    stage = (await engine.history(job_id, stage=0)).items
    task = (await engine.history(job_id, stage=0, part=0)).items
    assert [shown(event) for event in own] == [line for line in LIFE if line[0] == "job"]
    assert [shown(event) for event in stage] == [line for line in LIFE if line[0] != "job"]
    assert [shown(event) for event in task] == [line for line in LIFE if line[0] == "task"]
    assert {event.worker_id for event in own} == {None}


async def test_the_stage_is_derived_from_its_task(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine)
    worker = await a_worker(engine)
    seen = [(await engine.job(job_id)).stages[0]]
    task = await take_one(engine, worker)
    seen.append((await engine.job(job_id)).stages[0])
    await engine.complete([done(task)])
    seen.append((await engine.job(job_id)).stages[0])
    assert [(stage.status, stage.total, stage.done, stage.running) for stage in seen] == [
        ("ready", 1, 0, 0),
        ("running", 1, 0, 1),
        ("done", 1, 1, 0),
    ]
    assert {stage.opened_at for stage in seen} == {(await engine.job(job_id)).job.created_at}
    assert manual_sql.run("SELECT count(*) FROM stages") == [(0,)]
    assert (await engine.doctor()).healthy


async def test_an_optional_stage_that_fails_completes_its_job_at_once(engine: Engine) -> None:
    await declared(engine, "optional", StageSpec(name="main", required=False, attempts=1))
    job_id = await submitted(engine, "optional")
    await engine.fail([failed(await take_one(engine, await a_worker(engine, pipelines=["optional"])))])
    detail = await engine.job(job_id)
    assert (detail.job.status, detail.stages[0].failed) == (JobStatus.COMPLETED, 1)
    assert detail.job.degraded
    assert (await engine.doctor()).healthy


@pytest.mark.parametrize("late", [False, True])
async def test_a_sole_task_may_report_what_is_missing(engine: Engine, clock: FakeClock, late: bool) -> None:
    jobs = [await submitted(engine) for _ in range(3)]
    tasks = await take(engine, await a_worker(engine))
    if late:
        await lose(engine, clock)
    lists: list[Json] = [["1080p"], {"1080p": "no encoder"}, []]
    await engine.complete([done(task, {"degraded": listed}) for task, listed in zip(tasks, lists, strict=True)])
    shown = [(job.status, job.degraded) for job in [(await engine.job(job_id)).job for job_id in jobs]]
    assert shown == [(JobStatus.COMPLETED, ["1080p"]), (JobStatus.COMPLETED, None), (JobStatus.COMPLETED, None)]


async def test_a_failed_job_runs_again_and_its_record_has_no_gap(engine: Engine) -> None:
    await declared(engine, "once", StageSpec(name="main", attempts=1))
    job_id = await submitted(engine, "once")
    worker = await a_worker(engine, pipelines=["once"])
    await engine.fail([failed(await take_one(engine, worker))])
    await engine.retry(job_id)
    await engine.complete([done(await take_one(engine, worker))])
    events = (await engine.history(job_id)).items
    versions = [event.version for event in events if event.entity == "job"]
    assert versions == list(range(1, len(versions) + 1))
    assert (await engine.job(job_id)).job.status == JobStatus.COMPLETED
    assert (await engine.doctor()).healthy

"""observe: jobs, tasks, events, logs and steps in pages; the record replays to the rows."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise, product
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Event, LogLine, Page, Step, TaskKey
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    finish,
    lose,
    progress,
    released,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
)
from tests.engines import FakeClock, a_worker, done, failed


async def every_page(read: Callable[..., Awaitable[Page[Any]]], limit: int) -> list[list[Any]]:
    """Return the pages of a listing, each read with the cursor of the page before."""
    pages, after = [], None
    for _ in range(100):
        page = await read(limit=limit, after=after)
        pages.append(page.items)
        if page.after is None or not page.items:
            return pages
        after = page.after
    pytest.fail("the pages never end")


# Jobs.


async def test_jobs_are_listed_from_the_newest_in_pages(engine: Engine) -> None:
    ids = [await submitted(engine) for _ in range(7)]
    pages = await every_page(engine.jobs, 3)
    assert [[job.id for job in page] for page in pages] == [ids[:3:-1], ids[3:0:-1], ids[:1]]


async def test_jobs_that_come_in_between_do_not_shift_the_pages(engine: Engine) -> None:
    ids = [await submitted(engine) for _ in range(4)]
    first = await engine.jobs(limit=2)
    await submitted(engine)
    second = await engine.jobs(limit=2, after=first.after)
    assert [job.id for job in first.items + second.items] == ids[::-1]


async def test_jobs_are_found_by_status_pipeline_and_user(engine: Engine) -> None:
    plain = await submitted(engine)
    ada = await submitted(engine, "fan", user_id="ada")
    gone = await submitted(engine, user_id="ada")
    await engine.cancel(gone)

    async def found(**wanted: Any) -> list[int]:
        return [job.id for job in (await engine.jobs(**wanted)).items]

    assert await found() == [gone, ada, plain]
    assert await found(statuses=[JobStatus.PENDING]) == [ada, plain]
    assert await found(statuses=[JobStatus.PENDING, JobStatus.CANCELLED]) == [gone, ada, plain]
    assert await found(statuses=[]) == []
    assert await found(pipeline="fan") == [ada]
    assert await found(user_id="ada") == [gone, ada]
    assert await found(user_id="ada", pipeline="simple", statuses=[JobStatus.CANCELLED]) == [gone]
    assert await found(user_id="eve") == []


async def test_filters_in_pages_find_what_a_look_at_every_job_finds(engine: Engine) -> None:
    pending, completed, cancelled = JobStatus.PENDING, JobStatus.COMPLETED, JobStatus.CANCELLED
    for name, owner, _ in product(("simple", "fan"), ("", "ada"), range(3)):
        await submitted(engine, name, user_id=owner)
    await engine.complete([done(task) for task in await take(engine, await a_worker(engine), pipelines=["simple"])])
    for job in (await engine.jobs(statuses=[pending])).items[::2]:
        await engine.cancel(job.id)
    everything = (await engine.jobs()).items
    assert {job.status for job in everything} == {pending, completed, cancelled}
    some = [[], [pending], [cancelled, pending], [completed], [cancelled, completed]]
    for statuses, user_id, pipeline in product([None, *some], (None, "", "ada"), (None, "fan")):
        wanted: dict[str, Any] = {"statuses": statuses, "user_id": user_id, "pipeline": pipeline}
        pages = await every_page(partial(engine.jobs, **wanted), 2)
        assert [job for page in pages for job in page] == [
            job
            for job in everything
            if (statuses is None or job.status in statuses)
            and user_id in {None, job.user_id}
            and pipeline in {None, job.pipeline}
        ], wanted


async def test_jobs_can_be_filtered_by_every_status(engine: Engine) -> None:
    await submitted(engine)
    await finish(engine, await a_worker(engine))
    listed = {status: len((await engine.jobs(statuses=[status])).items) for status in JobStatus}
    assert listed == {status: int(status is JobStatus.COMPLETED) for status in JobStatus}


@pytest.mark.parametrize("limit", [0, -1, 10_001])
async def test_a_page_has_a_size(engine: Engine, limit: int) -> None:
    job_id = await submitted(engine)
    for read in (engine.jobs(limit=limit), engine.tasks(job_id, limit=limit), engine.events(limit=limit)):
        with pytest.raises(InvalidRequest) as refused:
            await read
        assert refused.value.field == "limit"


@pytest.mark.parametrize("after", ["x", "-1", "1.5", ""])
async def test_an_invalid_cursor_is_refused(engine: Engine, after: str) -> None:
    job_id = await submitted(engine)
    with pytest.raises(InvalidRequest):
        await engine.jobs(after=after)
    if after:
        for read in (
            engine.tasks(job_id, after=after),
            engine.events(after=after),
            engine.logs(job_id, after=after),
            engine.steps(job_id, after=after),
        ):
            with pytest.raises(InvalidRequest):
                await read


async def test_an_unknown_job_is_not_found(engine: Engine) -> None:
    for read in (engine.job(404), engine.tasks(404)):
        with pytest.raises(NotFound, match="no job 404"):
            await read


# One job.


async def test_a_job_shows_its_stages_as_they_stand(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    clock.advance(4)
    await engine.complete([done(await take_one(engine, worker), {"items": 3})])
    first, _ = await take(engine, worker, 2)
    await engine.complete([done(first)])
    plan, work, pack = (await engine.job(job_id)).stages
    assert (plan.status, plan.total, plan.done) == (TaskStatus.DONE, 1, 1)
    assert (work.status, work.total, work.done, work.running) == (TaskStatus.RUNNING, 3, 1, 1)
    assert (pack.status, pack.total, pack.opened_at) == (TaskStatus.NEW, 0, None)
    assert [stage.phase for stage in (plan, work, pack)] == [
        JobStatus.PLANNING,
        JobStatus.PROCESSING,
        JobStatus.UPLOADING_OUTPUTS,
    ]
    assert (plan.opened_at, work.opened_at) == (clock.now - timedelta(seconds=4), clock.now)


async def test_a_failed_stage_shows_it(engine: Engine) -> None:
    task = await a_running_task(engine)
    await fail_for_good(engine, task)
    (stage,) = (await engine.job(task.key.job_id)).stages
    assert (stage.status, stage.failed) == (TaskStatus.ERROR, 1)


async def test_the_plan_is_the_results_of_one_part_stages_and_the_outputs_those_of_the_last(engine: Engine) -> None:
    await declared(
        engine,
        "shape",
        StageSpec(name="a"),
        StageSpec(name="b", after=("a",)),
        StageSpec(name="c", after=("a",)),
        StageSpec(name="many", each="spec.n"),
    )
    job_id = await submitted(engine, "shape", {"n": 2})
    await finish(engine, await a_worker(engine), {"a": 1, "b": [2], "c": {"x": 3}, "many": 4})
    detail = await engine.job(job_id)
    assert detail.plan == {"a": 1, "b": [2], "c": {"x": 3}}
    assert detail.outputs == {"b": [2], "c": {"x": 3}}


# Tasks.


async def test_tasks_are_listed_by_stage_and_part_in_pages(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), {"plan": {"items": 12}})

    def read(**page: Any) -> Awaitable[Page[Any]]:
        return engine.tasks(job_id, **page)

    pages = await every_page(read, 4)
    seen = [(task.stage, task.part) for page in pages for task in page]
    assert seen == [(0, 0), *((1, part) for part in range(12)), (2, 0)]
    assert [len(page) for page in pages] == [4, 4, 4, 2]


async def test_tasks_are_found_by_stage_and_status(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    await engine.complete([done(await take_one(engine, worker), {"items": 3})])
    await take(engine, worker, 2)
    running = (await engine.tasks(job_id, stage="work", statuses=[TaskStatus.RUNNING])).items
    assert [(task.stage_name, task.part) for task in running] == [("work", 0), ("work", 1)]
    assert len((await engine.tasks(job_id, statuses=[TaskStatus.DONE, TaskStatus.READY])).items) == 2
    assert (await engine.tasks(job_id, stage="pack")).items == []
    with pytest.raises(InvalidRequest, match="plan, work, pack"):
        await engine.tasks(job_id, stage="wrok")


# Events.


async def test_the_feed_has_every_event_once_in_order_and_can_be_resumed(engine: Engine) -> None:
    await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), {"plan": {"items": 5}})
    whole = (await engine.events(limit=1000)).items
    pages = await every_page(engine.events, 4)
    assert [event for page in pages for event in page] == whole
    assert len({event.cursor for event in whole}) == len(whole)


async def test_the_end_of_the_feed_is_a_cursor_from_which_to_go_on(engine: Engine) -> None:
    empty = await engine.events()
    assert empty.items == []
    job_id = await submitted(engine)
    page = await engine.events(after=empty.after)
    assert [(event.entity, event.target) for event in page.items] == [("job", "pending"), ("stage", "opened")]
    again = await engine.events(after=page.after)
    assert (again.items, again.after) == ([], page.after)
    await engine.cancel(job_id)
    more = await engine.events(after=again.after)
    assert {event.target for event in more.items} == {"cancelled"}


async def test_the_head_of_the_feed_is_behind_what_happened_and_before_what_will(engine: Engine) -> None:
    await engine.submit("simple")
    head = await engine.head()
    assert (await engine.events(after=head)).items == []
    job_id = (await engine.submit("simple")).job_id
    later = (await engine.events(after=head)).items
    assert later
    assert {event.job_id for event in later} == {job_id}


async def test_every_event_is_a_cursor(engine: Engine) -> None:
    await running_parts(engine, 3)
    whole = (await engine.events()).items
    for number, event in enumerate(whole):
        assert (await engine.events(after=event.cursor)).items == whole[number + 1 :]


async def test_a_cursor_of_another_database_is_refused(engine: Engine) -> None:
    await submitted(engine)
    _, _, position = (await engine.events()).items[0].cursor.partition(".")
    with pytest.raises(InvalidRequest, match="another database"):
        await engine.events(after=f"deadbeef.{position}")


async def test_the_history_of_a_job_is_its_own_and_comes_in_pages(engine: Engine) -> None:
    first, other = await submitted(engine, "parts", {"parts": 4}), await submitted(engine)
    await finish(engine, await a_worker(engine))

    def read(**page: Any) -> Awaitable[Page[Any]]:
        return engine.history(first, **page)

    pages = await every_page(read, 3)
    events = [event for page in pages for event in page]
    assert {event.job_id for event in events} == {first}
    assert len(events) == 3 + 1 + 4 * 2
    assert [event.target for event in (await engine.history(other, stage=0, part=0)).items] == ["running", "done"]


async def test_an_event_of_a_task_names_its_run(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    worker = (await task_at(engine, task.key)).worker_id
    clock.advance(2)
    await engine.complete([done(task)])
    event = (await engine.history(task.key.job_id, stage=0, part=0)).items[-1]
    assert (event.entity, event.stage_number, event.part, event.token) == ("task", 0, 0, 1)
    assert (event.worker_id, event.at, event.origin, event.target) == (worker, clock.now, "running", "done")


async def an_eventful_life(engine: Engine, clock: FakeClock) -> int:
    """A job that goes through nearly everything there is."""
    worker = await a_worker(engine)
    job_id = await submitted(engine, "fan", delay=5)
    clock.advance(5)
    await engine.orchestrate()
    await engine.release([released(await take_one(engine, worker))])
    await engine.complete([done(await take_one(engine, worker), {"items": 4})])
    first, second, third = await take(engine, worker, 3)
    await engine.complete([done(first)])
    await engine.fail([failed(second, retry_in=1)])
    await lose(engine, clock)
    await engine.orchestrate()
    assert (await task_at(engine, third.key)).lost == 1
    while tasks := await take(engine, worker):
        await engine.complete([done(task) for task in tasks if task.stage_name == "work"])
        if last := [task for task in tasks if task.stage_name == "pack"]:
            await fail_for_good(engine, *last)
    await engine.retry(job_id, start=From("plan"), reason="again")
    await engine.complete([done(await take_one(engine, worker), {"items": 2})])
    await engine.quarantine(job_id, reason="odd")
    await engine.retry(job_id)
    await finish(engine, worker)
    return job_id


def replayed(events: list[Event]) -> tuple[int, str]:
    """The version and status that the events of one entity lead to; they must follow each other."""
    assert [event.version for event in events] == list(range(events[0].version, events[-1].version + 1))
    for before, event in pairwise(events):
        assert event.origin == before.target
        assert event.at >= before.at
    return events[-1].version, events[-1].target


async def test_versions_follow_each_other_and_the_record_replays_to_the_rows(engine: Engine, clock: FakeClock) -> None:
    job_id = await an_eventful_life(engine, clock)
    events = (await engine.history(job_id, limit=10_000)).items
    job = (await engine.job(job_id)).job
    own = [event for event in events if event.entity == "job"]
    assert (own[0].version, own[0].origin) == (1, None)
    assert replayed(own) == (job.version, job.status)
    assert job.status is JobStatus.COMPLETED
    rows = (await engine.tasks(job_id)).items
    assert len(rows) == 6
    for row in rows:
        recorded = [
            event for event in events if event.entity == "task" and (event.stage_number, event.part) == row.key[1:]
        ]
        assert recorded[0].version == 2
        assert recorded[0].origin in ("new", "ready")
        assert replayed(recorded) == (row.version, row.status)
        assert max(event.token or 0 for event in recorded) == row.token


async def test_tokens_never_fall(engine: Engine, clock: FakeClock) -> None:
    job_id = await an_eventful_life(engine, clock)
    events = (await engine.history(job_id, limit=10_000)).items
    last: dict[TaskKey, int] = {}
    for event in events:
        if event.entity == "task":
            key = TaskKey(job_id, event.stage_number or 0, event.part or 0)
            assert (event.token or 0) >= last.get(key, 0)
            last[key] = event.token or 0


# Logs.


async def test_logs_are_listed_from_the_oldest_in_pages_by_job_or_task(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    worker = (await task_at(engine, first.key)).worker_id or 0
    for number in range(3):
        lines = (LogLine(message=f"{number}a"), LogLine(message=f"{number}b"))
        await engine.report(worker, [progress(first, logs=lines), progress(second, logs=(LogLine(message="x"),))])

    def read(**page: Any) -> Awaitable[Page[Any]]:
        return engine.logs(first.key.job_id, **page)

    pages = await every_page(read, 4)
    messages = [entry.message for page in pages for entry in page]
    assert messages == ["0a", "0b", "x", "1a", "1b", "x", "2a", "2b", "x"]
    own = (await engine.logs(first.key.job_id, key=second.key)).items
    assert [(entry.part, entry.message) for entry in own] == [(1, "x")] * 3


async def test_steps_are_listed_from_the_oldest_in_pages_by_job_or_task(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    worker = (await task_at(engine, first.key)).worker_id or 0
    for number in (1, 2):
        reports = [progress(task, steps=(Step(number=number, argv=[f"{task.key.part}"]),)) for task in (first, second)]
        await engine.report(worker, reports)

    def read(**page: Any) -> Awaitable[Page[Any]]:
        return engine.steps(first.key.job_id, **page)

    pages = await every_page(read, 3)
    assert [(step.number, step.argv) for page in pages for step in page] == [
        (1, ["0"]),
        (1, ["1"]),
        (2, ["0"]),
        (2, ["1"]),
    ]
    assert [step.number for step in (await read(key=second.key)).items] == [1, 2]

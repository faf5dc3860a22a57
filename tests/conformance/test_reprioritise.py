"""reprioritise: a job, its tasks and those it opens later become more or less urgent."""

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition, NotFound, SelectionChanged, VersionConflict
from reelstate.core.machine import JobStatus
from reelstate.core.model import Verdict
from reelstate.engine import Engine
from reelstate.services.operate.operation import Operation, Selection
from reelstate.services.operate.retry import From
from tests.conformance.scenarios import fail_for_good, job_events, keys, running_parts, submitted, take, take_one
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql


async def priorities(engine: Engine, job_id: int) -> list[int]:
    return [task.priority for task in (await engine.tasks(job_id)).items]


async def test_a_waiting_job_is_claimed_before_others(engine: Engine) -> None:
    first, second = await submitted(engine), await submitted(engine)
    assert await engine.reprioritise(second, 9, actor="operator:ada", reason="live tonight") is Verdict.OK
    assert [key.job_id for key in keys(await take(engine, await a_worker(engine)))] == [second, first]
    job = (await engine.job(second)).job
    assert job.priority == 9
    event = next(event for event in await job_events(engine, second) if event.version == 2)
    assert (event.origin, event.target, event.actor) == ("pending", "pending", "operator:ada")
    assert event.reason == "priority 5 to 9: live tonight"


async def test_tasks_that_come_later_have_the_new_priority(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    plan = await take_one(engine, worker)
    await engine.reprioritise(job_id, "critical")
    await engine.complete([done(plan, {"items": 2})])
    assert await priorities(engine, job_id) == [10, 10, 10]
    tasks = await take(engine, worker)
    await engine.fail([failed(tasks[0])])
    clock.advance(600)
    await engine.orchestrate()
    await submitted(engine, priority=9)
    assert (await take_one(engine, worker)).key == tasks[0].key


async def test_what_runs_and_what_waits_for_its_next_attempt_has_it_when_it_is_ready_again(
    engine: Engine, clock: FakeClock
) -> None:
    running, waiting = await running_parts(engine, 2)
    await engine.fail([failed(waiting)])
    assert await engine.reprioritise(running.key.job_id, 0) is Verdict.OK
    assert await priorities(engine, running.key.job_id) == [0, 0]
    urgent = await submitted(engine, priority=1)
    clock.advance(600)
    await engine.reclaim()
    await engine.orchestrate()
    worker = await a_worker(engine, slots=1)
    (isolated,) = await take(engine, worker, 1)
    assert isolated.key == running.key, "a task that lost its worker goes to an empty worker first"
    others = await take(engine, await a_worker(engine), 10)
    assert [task.key.job_id for task in others] == [urgent, waiting.key.job_id]


async def test_a_delayed_job_and_a_failed_one_may_be_changed(engine: Engine) -> None:
    delayed = await submitted(engine, delay=600)
    await engine.reprioritise(delayed, 8)
    assert await priorities(engine, delayed) == [8]
    (task,) = await running_parts(engine, 1)
    await fail_for_good(engine, task)
    await engine.reprioritise(task.key.job_id, 8)
    await engine.retry(task.key.job_id)
    assert await priorities(engine, task.key.job_id) == [8]


async def test_the_same_priority_changes_nothing(engine: Engine) -> None:
    job_id = await submitted(engine, priority=8)
    before = (await engine.job(job_id)).job
    assert await engine.reprioritise(job_id, "high") is Verdict.REPEATED
    assert (await engine.job(job_id)).job == before


async def test_finished_tasks_that_are_run_again_have_it(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    await engine.complete([done(first)])
    await engine.reprioritise(first.key.job_id, 8)
    await fail_for_good(engine, second)
    await engine.retry(first.key.job_id, start=From("part"))
    assert await priorities(engine, first.key.job_id) == [8, 8]


@pytest.mark.parametrize("verb", ["cancelled", "completed"])
async def test_a_finished_job_is_refused(engine: Engine, verb: str) -> None:
    job_id = await submitted(engine)
    if verb == "cancelled":
        await engine.cancel(job_id)
    else:
        await engine.complete([done(await take_one(engine, await a_worker(engine)))])
    with pytest.raises(InvalidTransition, match=verb):
        await engine.reprioritise(job_id, 9)
    assert (await engine.job(job_id)).job.priority == 5


async def test_wrong_requests_change_nothing(engine: Engine) -> None:
    job_id = await submitted(engine, user_id="ada")
    with pytest.raises(InvalidRequest, match="priority"):
        await engine.reprioritise(job_id, 11)
    with pytest.raises(NotFound):
        await engine.reprioritise(job_id, 9, owner="bob")
    with pytest.raises(VersionConflict):
        await engine.reprioritise(job_id, 9, version=7)
    assert (await engine.job(job_id)).job.version == 1


async def test_many_at_once(engine: Engine) -> None:
    jobs = [await submitted(engine) for _ in range(3)]
    await engine.reprioritise(jobs[0], 9)
    selection = Selection(statuses=[JobStatus.PENDING], expected=3)
    outcomes = await engine.reprioritise_many(Operation(actor="operator", selection=selection), 9)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.REPEATED, Verdict.OK, Verdict.OK]
    assert [await priorities(engine, job_id) for job_id in jobs] == [[9]] * 3
    stale = Selection(statuses=[JobStatus.PENDING], expected=2)
    with pytest.raises(SelectionChanged):
        await engine.reprioritise_many(Operation(actor="operator", selection=stale), 1)


async def test_a_priority_set_with_sql_moves_the_tasks_and_has_its_event(engine: Engine, manual_sql: ManualSql) -> None:
    first, second = await submitted(engine, "fan"), await submitted(engine, "fan")
    manual_sql.run(f"UPDATE jobs SET priority = 9 WHERE id = {second}")
    worker = await a_worker(engine)
    plan = await take_one(engine, worker)
    assert plan.key.job_id == second
    event = next(event for event in await job_events(engine, second) if event.version == 2)
    assert (event.actor, event.origin, event.target) == ("sql", "pending", "pending")
    assert event.reason == "priority 5 to 9"
    await engine.complete([done(plan, {"items": 1})])
    assert await priorities(engine, second) == [9, 9]
    assert await priorities(engine, first) == [5]


async def test_sql_that_sets_the_same_priority_or_that_of_a_finished_job_writes_nothing(
    engine: Engine, manual_sql: ManualSql
) -> None:
    waiting, ended = await submitted(engine), await submitted(engine)
    await engine.cancel(ended)
    manual_sql.run(f"UPDATE jobs SET priority = 5 WHERE id = {waiting}")
    manual_sql.run(f"UPDATE jobs SET priority = 9 WHERE id = {ended}")
    assert [len(await job_events(engine, job_id)) for job_id in (waiting, ended)] == [1, 2]

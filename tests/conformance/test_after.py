"""after: a job starts once, when all jobs and groups that it waits for have completed."""

from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.group import MAX_AFTER, Group
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Json, Submission, Verdict
from reelstate.engine import Engine
from reelstate.services.groups import settle
from tests.conformance.scenarios import (
    fail_for_good,
    finish,
    job_events,
    job_path,
    status_of,
    submitted,
    take,
    take_one,
)
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql


@pytest.fixture
def only_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the search for waiting jobs that no note has made due, which makes up for lost notes."""

    async def nothing(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(settle, "_window", nothing)


async def starts(engine: Engine, worker: int) -> list[int]:
    """The jobs of the tasks that can be claimed after a pass of the keeper."""
    await engine.orchestrate()
    return [task.key.job_id for task in await take(engine, worker)]


async def complete_one(engine: Engine, worker: int) -> int:
    task = await take_one(engine, worker)
    assert await engine.complete([done(task)]) == [Verdict.OK]
    return task.key.job_id


async def sentences(engine: Engine, job_id: int) -> list[str]:
    return [str(reason) for reason in (await engine.why(job_id)).reasons]


async def kinds(engine: Engine, job_id: int) -> list[str]:
    return [str(reason.kind) for reason in (await engine.why(job_id)).reasons]


async def test_a_job_starts_when_the_last_job_before_it_has_completed(engine: Engine) -> None:
    worker = await a_worker(engine)
    first, second = await submitted(engine), await submitted(engine)
    last = await submitted(engine, after=[first, second, first])
    tasks = await take(engine, worker)
    await engine.orchestrate(stuck_after=0)
    assert (await engine.tasks(last)).items == []
    await engine.complete([done(tasks[1])])
    assert await starts(engine, worker) == []
    await engine.complete([done(tasks[0])])
    assert await starts(engine, worker) == [last]
    assert [event.target for event in await job_events(engine, last)] == ["pending", "processing"]


async def test_a_group_of_none_but_completed_jobs_starts_it(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 3)
    last = await submitted(engine, after=[Group("nightly")])
    tasks = await take(engine, worker)
    await engine.complete([done(task) for task in tasks[:2]])
    assert await starts(engine, worker) == []
    assert await sentences(engine, last) == ["waits for group nightly: 2 of 3 completed"]
    await engine.complete([done(tasks[2])])
    assert await starts(engine, worker) == [last]


async def test_a_group_and_the_job_that_waits_for_it_are_submitted_together(engine: Engine) -> None:
    worker = await a_worker(engine)
    jobs = [Submission(pipeline="simple", group="nightly")] * 2
    made = await engine.submit_many([*jobs, Submission(pipeline="simple", after=[Group("nightly")])])
    assert sorted(await starts(engine, worker)) == [each.job_id for each in made[:2]]


async def test_what_has_completed_before_is_not_waited_for(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine, group="nightly")
    await finish(engine, worker)
    last = await submitted(engine, after=[first, Group("nightly")])
    assert await kinds(engine, last) == ["next_step", "keeper"]
    assert await starts(engine, worker) == [last]


async def test_a_chain_of_three_runs_in_order(engine: Engine) -> None:
    worker = await a_worker(engine)
    chain = [await submitted(engine, "fan")]
    for _ in range(2):
        chain.append(await submitted(engine, "fan", after=[chain[-1]]))
    for job_id in chain:
        await engine.orchestrate()
        (task,) = await take(engine, worker)
        assert task.key.job_id == job_id
        await engine.complete([done(task, {"items": [1, 2]})])
        assert await finish(engine, worker) == ["work", "work", "pack"]
        assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_delay_holds_after_the_wait(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first], delay=3600.0)
    await finish(engine, worker)
    assert await starts(engine, worker) == []
    assert await kinds(engine, last) == ["delayed"]
    clock.advance(3601)
    assert await starts(engine, worker) == [last]


async def test_a_late_start_keeps_the_priority(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first])
    await engine.reprioritise(last, 9)
    await finish(engine, worker)
    await engine.orchestrate()
    (task,) = (await engine.tasks(last)).items
    assert (task.priority, task.status) == (9, TaskStatus.READY)


# Failures


async def test_after_a_failure_it_waits_and_a_retry_completes_it(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first])
    assert await sentences(engine, last) == [f"waits for job {first} (pending)"]
    task = await take_one(engine, worker)
    assert await sentences(engine, last) == [f"waits for job {first} (running)"]
    await engine.fail([failed(task, retryable=False, error="disk full")])
    assert await starts(engine, worker) == []
    assert await sentences(engine, last) == [
        f"job {first} failed: disk full; it waits on, because a retry may still complete it"
    ]
    assert await kinds(engine, last) == ["after_failed"]
    await engine.retry(first)
    assert await complete_one(engine, worker) == first
    assert await starts(engine, worker) == [last]


@pytest.mark.parametrize("how", ["fail", "cancel", "quarantine"])
async def test_after_a_failure_it_may_be_cancelled_with_what_waits_for_it(engine: Engine, how: str) -> None:
    worker = await a_worker(engine)
    first, other = await submitted(engine), await submitted(engine)
    middle = await submitted(engine, after=[first, other], after_failure="cancel", group="g")
    last = await submitted(engine, after=[Group("g")], after_failure="cancel")
    match how:
        case "fail":
            await fail_for_good(engine, await take_one(engine, worker))
        case "cancel":
            await engine.cancel(first, actor="user:ada", reason="wrong")
        case _:
            await engine.quarantine(first, reason="looks wrong")
    await engine.orchestrate()
    assert await job_path(engine, middle) == [("pending", "user"), ("cancelled", "orchestrator")]
    reason = {
        "fail": f"job {first} failed: it broke",
        "cancel": f"job {first} was cancelled by user:ada: wrong",
        "quarantine": f"job {first} was quarantined by operator: looks wrong",
    }[how]
    assert (await job_events(engine, middle))[-1].reason == reason
    assert await job_path(engine, last) == [("pending", "user"), ("cancelled", "orchestrator")]
    said = f"job {middle} of group g was cancelled by orchestrator: {reason}"
    assert (await job_events(engine, last))[-1].reason == said


@pytest.mark.usefixtures("only_notes")
async def test_after_a_failure_of_one_job_of_a_group_the_others_need_not_end(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 3)
    last = await submitted(engine, after=[Group("nightly")], after_failure="cancel")
    await engine.orchestrate()
    await fail_for_good(engine, await take_one(engine, worker))
    await engine.orchestrate()
    assert await status_of(engine, last) is JobStatus.CANCELLED


async def test_it_may_start_when_all_have_ended_somehow(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 3)
    alone = await submitted(engine)
    last = await submitted(engine, after=[Group("nightly"), alone], after_failure="start")
    tasks = await take(engine, worker)
    await fail_for_good(engine, tasks[0])
    await engine.quarantine(alone, reason="looks wrong")
    await engine.cancel(tasks[1].key.job_id)
    assert await starts(engine, worker) == []
    assert sorted(await kinds(engine, last)) == ["after", "after_failed"]
    await engine.complete([done(tasks[2])])
    assert await starts(engine, worker) == [last]


async def test_the_failed_job_of_a_group_is_named(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 3)
    last = await submitted(engine, after=[Group("nightly")])
    task = await take_one(engine, worker)
    await fail_for_good(engine, task)
    await finish(engine, worker)
    assert await starts(engine, worker) == []
    said = f"job {task.key.job_id} of group nightly failed: it broke (2 of 3 completed)"
    assert await sentences(engine, last) == [f"{said}; it waits on, because a retry may still complete it"]


# Operators


async def test_a_cancelled_job_waits_no_more(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first])
    await engine.cancel(last)
    await finish(engine, worker)
    assert await starts(engine, worker) == []
    assert await status_of(engine, last) is JobStatus.CANCELLED


@pytest.mark.parametrize("verb", ["retry", "force"])
async def test_an_operator_starts_it_at_once(engine: Engine, verb: str) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    await take_one(engine, worker)
    last = await submitted(engine, after=[first])
    await engine.quarantine(last, reason="not yet")
    if verb == "retry":
        await engine.retry(last)
    else:
        await engine.force(last, JobStatus.PENDING, reason="now")
    assert await kinds(engine, last) == ["ready"]
    assert await starts(engine, worker) == [last]
    assert await starts(engine, worker) == []


async def test_a_job_that_is_gone_counts_as_failed(engine: Engine, manual_sql: ManualSql) -> None:
    first = await submitted(engine)
    last = await submitted(engine, after=[first], after_failure="cancel")
    manual_sql.run("UPDATE dependencies SET target = 1 WHERE job_id = ?", last)
    await engine.orchestrate()
    assert (await job_events(engine, last))[-1].reason == "job 1 was deleted"


# Requests


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"after": [1]}, "after", "no job 1"),
    ({"after": [Group("weekly")]}, "after", "no group 'weekly'"),
    ({"after": [Group("a b")]}, "after", "invalid name"),
    ({"after": [-1]}, "after", "no job and no group"),
    ({"after": ["1"]}, "after", "no job and no group"),
    ({"after": [True]}, "after", "no job and no group"),
    ({"after": list(range(MAX_AFTER + 1))}, "after", "the limit is 1,000"),
    ({"after_failure": "explode"}, "after_failure", "explode"),
    ({"group_callback": "https://example.com"}, "group_callback", "without a group"),
]


async def test_bad_requests_are_refused(engine: Engine) -> None:
    for options, field, message in BAD:
        with pytest.raises(InvalidRequest, match=message) as refused:
            await submitted(engine, **options)
        assert refused.value.field == field
    assert (await engine.jobs()).items == []


async def test_jobs_and_groups_of_another_user_are_unknown(engine: Engine) -> None:
    first = await submitted(engine, group="nightly", user_id="ada")
    after: Json
    for after in ([first], [Group("nightly")]):
        with pytest.raises(InvalidRequest, match="there is no"):
            await submitted(engine, after=after, user_id="bob")
    await submitted(engine, after=[first, Group("nightly")], user_id="ada")
    await submitted(engine, after=[first])


async def test_a_spec_that_can_never_start_is_refused_at_once(engine: Engine) -> None:
    first = await submitted(engine)
    with pytest.raises(InvalidRequest, match="fans out"):
        await submitted(engine, "parts", {"parts": "many"}, after=[first])
    assert [job.id for job in (await engine.jobs()).items] == [first]


async def test_an_empty_first_stage_waits_too(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, "parts", {"parts": 0}, after=[first])
    await engine.orchestrate()
    assert await status_of(engine, last) is JobStatus.PENDING
    await finish(engine, worker)
    await engine.orchestrate()
    assert await status_of(engine, last) is JobStatus.COMPLETED


async def test_cycles_are_refused(engine: Engine) -> None:
    first = await submitted(engine, group="a")
    with pytest.raises(InvalidRequest, match="wait for itself"):
        await submitted(engine, group="a", after=[Group("a")])
    second = await submitted(engine, group="b", after=[Group("a")])
    third = await submitted(engine, after=[second])
    with pytest.raises(InvalidRequest, match="wait for itself"):
        await submitted(engine, group="a", after=[third])
    with pytest.raises(InvalidRequest, match="wait for itself"):
        await engine.submit_many(
            [
                Submission(pipeline="simple", group="c"),
                Submission(pipeline="simple", group="d"),
                Submission(pipeline="simple", group="c", after=[Group("d")]),
                Submission(pipeline="simple", group="d", after=[Group("c")]),
            ]
        )
    await submitted(engine, group="a", after=[first])
    assert len((await engine.jobs()).items) == 4
    assert [group.name for group in (await engine.groups()).items] == ["b", "a"]


async def test_a_cycle_over_a_job_that_waits_no_more_is_none(engine: Engine) -> None:
    worker = await a_worker(engine)
    await submitted(engine, group="a")
    middle = await submitted(engine, group="b", after=[Group("a")])
    await finish(engine, worker)
    assert await starts(engine, worker) == [middle]
    assert await submitted(engine, group="a", after=[Group("b")])


async def test_a_thousand_dependencies(engine: Engine) -> None:
    worker = await a_worker(engine)
    jobs = [each.job_id for each in await engine.submit_many([Submission(pipeline="simple")] * MAX_AFTER)]
    last = await submitted(engine, after=jobs)
    tasks = await take(engine, worker)
    await engine.complete([done(task) for task in tasks[:-1]])
    assert await starts(engine, worker) == []
    await engine.complete([done(tasks[-1])])
    assert await starts(engine, worker) == [last]


@pytest.mark.usefixtures("only_notes")
async def test_many_waiting_jobs_start_in_pages(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "DUE_LIMIT", 3)
    worker = await a_worker(engine)
    first = await submitted(engine, group="g")
    waiting = [await submitted(engine, after=[first]) for _ in range(4)]
    waiting += [await submitted(engine, after=[Group("g")]) for _ in range(4)]
    await engine.orchestrate()
    await finish(engine, worker)
    await engine.orchestrate(limit=2)
    assert sorted(task.key.job_id for task in await take(engine, worker)) == waiting


async def test_a_job_is_due_again_where_another_has_ended_while_it_was_looked_at(
    engine: Engine, manual_sql: ManualSql
) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first])
    await finish(engine, worker)
    manual_sql.run("DELETE FROM ended_jobs")
    await engine.store.write(lambda transaction: settle._wait_on(transaction, [last]))
    assert bool(manual_sql.run("SELECT due FROM waits WHERE job_id = ?", last)[0][0])


async def test_a_lost_note_is_no_lost_job(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    first = await submitted(engine)
    last = await submitted(engine, after=[first])
    await engine.orchestrate()
    await finish(engine, worker)
    manual_sql.run("DELETE FROM ended_jobs")
    assert await starts(engine, worker) == [last]


async def test_jobs_without_groups_and_waits_leave_no_notes(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    await submitted(engine)
    await submitted(engine, group="g")
    await submitted(engine, after=[await submitted(engine)])
    await engine.orchestrate()
    manual_sql.run("DELETE FROM ended_jobs")
    plain = await submitted(engine)
    task = next(task for task in await take(engine, worker) if task.key.job_id == plain)
    await engine.complete([done(task)])
    assert manual_sql.run("SELECT count(*) FROM ended_jobs") == [(0,)]

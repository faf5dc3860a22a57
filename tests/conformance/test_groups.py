"""groups: many jobs under one name have one status, one progress, one event at their end, and verbs of their own."""

from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.group import MAX_NAME, GroupDetail
from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services.groups import join, settle
from reelstate.services.operate.operation import Operation, Selection
from tests.conformance.scenarios import (
    declared,
    fail_for_good,
    finish,
    job_events,
    status_of,
    submitted,
    take,
    take_one,
)
from tests.engines import a_worker
from tests.manual_sql import ManualSql


async def group_of(engine: Engine, name: str = "nightly", **options: Any) -> GroupDetail:
    return await engine.group(name, **options)


async def test_a_group_counts_its_jobs_and_shows_the_lowest_status(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 4)
    group = await group_of(engine)
    assert (group.status, group.jobs, group.counts, group.progress) == ("pending", 4, {"pending": 4}, 0.0)
    tasks = await take(engine, worker, 3)
    assert (await group_of(engine)).counts == {"pending": 1, "running": 3}
    assert (await group_of(engine)).status == "running"
    await finish(engine, worker)
    await fail_for_good(engine, tasks[0])
    group = await group_of(engine)
    assert (group.status, group.counts, group.progress) == (
        "failed",
        {"completed": 1, "failed": 1, "running": 2},
        50.0,
    )
    await engine.cancel(tasks[0].key.job_id)
    assert (await group_of(engine)).status == "cancelled"
    await engine.quarantine(tasks[1].key.job_id, reason="looks wrong")
    assert (await group_of(engine)).status == "quarantined"
    assert (await engine.groups()).items == [await group_of(engine)]


async def test_a_job_names_its_group(engine: Engine) -> None:
    inside, outside = await submitted(engine, group="nightly"), await submitted(engine)
    assert (await engine.job(inside)).job.group == "nightly"
    assert (await engine.job(outside)).job.group is None
    assert [job.group for job in (await engine.jobs()).items] == [None, "nightly"]


async def test_groups_of_two_users_are_two_groups(engine: Engine) -> None:
    await submitted(engine, group="nightly", user_id="ada")
    for _ in range(2):
        await submitted(engine, group="nightly", user_id="bob")
    assert (await group_of(engine, user_id="ada")).jobs == 1
    assert (await group_of(engine, user_id="bob")).jobs == 2
    with pytest.raises(InvalidRequest, match="several users"):
        await group_of(engine)
    with pytest.raises(NotFound):
        await group_of(engine, user_id="eve")
    assert [group.user_id for group in (await engine.groups()).items] == ["bob", "ada"]
    assert [group.user_id for group in (await engine.groups(user_id="ada")).items] == ["ada"]


async def test_groups_are_listed_in_pages(engine: Engine) -> None:
    names = [f"g{number}" for number in range(5)]
    for name in names:
        await submitted(engine, group=name)
    found: list[str] = []
    after: str | None = None
    for _ in range(4):
        page = await engine.groups(limit=2, after=after)
        found += [group.name for group in page.items]
        after = page.after
        if after is None:
            break
    assert found == names[::-1]


async def test_a_bad_name_is_refused(engine: Engine) -> None:
    for name in ("", "-x", "a b", "ä", "a/b", "x" * (MAX_NAME + 1), "a\n"):
        with pytest.raises(InvalidRequest) as refused:
            await submitted(engine, group=name)
        assert refused.value.field == "group", name
    assert (await engine.groups()).items == []


async def test_a_group_has_a_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "MAX_GROUP_JOBS", 3)
    await engine.submit_many([Submission(pipeline="simple", group="nightly")] * 3)
    with pytest.raises(InvalidRequest, match="limit is 3"):
        await submitted(engine, group="nightly")
    assert (await group_of(engine)).jobs == 3


async def test_a_repeated_request_does_not_join_again(engine: Engine) -> None:
    for verdict in (Verdict.OK, Verdict.REPEATED):
        answer = await engine.submit("simple", group="nightly", idempotency_key="k")
        assert answer.verdict is verdict
    assert (await group_of(engine)).jobs == 1
    with pytest.raises(InvalidRequest):
        await engine.submit("simple", group="weekly", idempotency_key="k")


async def test_a_job_that_completes_at_once_counts(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 0}, group="nightly")
    assert (await group_of(engine)).counts == {"completed": 1}


async def test_a_round_ends_when_no_job_is_active_and_a_retry_begins_the_next(engine: Engine) -> None:
    worker = await a_worker(engine)
    first, second = [await submitted(engine, group="nightly") for _ in range(2)]
    await fail_for_good(engine, await take_one(engine, worker))
    await engine.orchestrate()
    assert (await group_of(engine)).finished_at is None
    await finish(engine, worker)
    await engine.orchestrate()
    group = await group_of(engine)
    assert (group.round, group.finished_at is None, group.status) == (1, False, "failed")
    await engine.retry(first)
    await finish(engine, worker)
    await engine.orchestrate()
    group = await group_of(engine)
    assert (group.round, group.finished_at is None, group.status) == (2, False, "completed")
    third = await submitted(engine, group="nightly")
    group = await group_of(engine)
    assert (group.round, group.finished_at, group.jobs) == (3, None, 3)
    assert {first, second, third} == {job.id for job in (await engine.jobs(search="group:nightly")).items}


async def test_a_job_that_ends_again_begins_no_round(engine: Engine) -> None:
    job_id = await submitted(engine, group="nightly")
    await fail_for_good(engine, await take_one(engine, await a_worker(engine)))
    await engine.orchestrate()
    await engine.cancel(job_id)
    await engine.orchestrate()
    group = await group_of(engine)
    assert (group.round, group.finished_at is None, group.status) == (1, False, "cancelled")


async def test_a_whole_group_is_cancelled_and_retried_and_the_record_says_who(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await a_worker(engine)
    broken, running, waiting = [await submitted(engine, group="nightly", user_id="ada") for _ in range(3)]
    other = await submitted(engine, group="nightly", user_id="bob")
    await fail_for_good(engine, await take_one(engine, worker))
    await take_one(engine, worker)
    monkeypatch.setattr("reelstate.services.groups.groups.PAGE", 1)
    cancelled = await engine.cancel_group("nightly", user_id="ada", actor="user:ada", reason="wrong day")
    assert [(each.job_id, each.verdict) for each in cancelled] == [(running, Verdict.OK), (waiting, Verdict.OK)]
    last = (await job_events(engine, waiting))[-1]
    assert (last.target, last.actor, last.reason) == ("cancelled", "user:ada", "wrong day")
    assert await status_of(engine, other) is JobStatus.PENDING
    retried = await engine.retry_group("nightly", user_id="ada", actor="user:ada")
    assert [(each.job_id, each.verdict) for each in retried] == [(broken, Verdict.OK)]
    assert await status_of(engine, broken) is JobStatus.PENDING
    with pytest.raises(NotFound):
        await engine.cancel_group("weekly", user_id="ada")


async def test_an_operator_retries_quarantined_jobs_of_a_group_and_a_user_does_not(engine: Engine) -> None:
    job_id = await submitted(engine, group="nightly", user_id="ada")
    await engine.quarantine(job_id, reason="looks wrong")
    assert await engine.retry_group("nightly", user_id="ada", actor="user:ada") == []
    assert [each.verdict for each in await engine.retry_group("nightly", user_id="ada")] == [Verdict.OK]


async def test_a_selection_names_a_group(engine: Engine) -> None:
    inside = [await submitted(engine, group="nightly") for _ in range(2)]
    await submitted(engine)
    selection = Selection(statuses=[JobStatus.PENDING], group="nightly", expected=2)
    assert await engine.count_jobs(selection) == 2
    outcomes = await engine.cancel_many(Operation(actor="operator", selection=selection))
    assert [each.job_id for each in outcomes] == inside
    assert await engine.count_jobs(Selection(statuses=list(JobStatus), group="weekly", expected=0)) == 0


async def test_a_search_for_a_group_combines_with_other_terms(engine: Engine) -> None:
    worker = await a_worker(engine)
    done = await submitted(engine, group="nightly", user_id="ada")
    await finish(engine, worker)
    pending = [await submitted(engine, group="nightly", user_id=user) for user in ("ada", "bob")]
    await submitted(engine, user_id="ada")

    async def ids(search: str, **options: Any) -> list[int]:
        return [job.id for job in (await engine.jobs(search=search, **options)).items]

    assert await ids("group:nightly") == [pending[1], pending[0], done]
    assert await ids("group:nightly user:ada") == [pending[0], done]
    assert await ids("group:nightly", user_id="bob") == [pending[1]]
    assert await ids("group:nightly status:completed") == [done]
    assert await ids("group:weekly") == []
    page = await engine.jobs(search="group:nightly", limit=2)
    assert [job.id for job in (await engine.jobs(search="group:nightly", limit=2, after=page.after)).items] == [done]


async def test_doctor_finds_an_outcome_that_is_not_that_of_the_job(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine, group="nightly")
    await finish(engine, worker)
    manual_sql.run("UPDATE group_jobs SET outcome = NULL WHERE job_id = ?", job_id)
    (finding,) = (await engine.doctor()).findings
    assert (finding.check, finding.job_id, finding.detail) == ("groups", job_id, "its group has it as active")
    await engine.doctor(repair=True)
    await engine.orchestrate()
    group = await group_of(engine)
    assert (group.counts, group.finished_at is None) == ({"completed": 1}, False)


async def test_a_change_by_manual_sql_counts_too(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine, group="nightly")
    waiting = await submitted(engine, after=[job_id], after_failure="start")
    manual_sql.run("UPDATE jobs SET status = 'cancelled', finished_at = created_at WHERE id = ?", job_id)
    manual_sql.run(
        "UPDATE tasks SET status = 'cancelled', finished_at = changed_at, ready_at = NULL WHERE job_id = ?", job_id
    )
    await engine.orchestrate()
    assert (await group_of(engine)).counts == {"cancelled": 1}
    assert (await group_of(engine)).finished_at is not None
    assert [task.key.job_id for task in await take(engine, await a_worker(engine))] == [waiting]


async def test_many_ended_jobs_are_taken_in_pages(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "ENDED_LIMIT", 2)
    await declared(engine, "two", StageSpec(name="a"), StageSpec(name="b", after=("a",)))
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="two", group="nightly")] * 5)
    await finish(engine, worker)
    await engine.orchestrate()
    group = await group_of(engine)
    assert (group.counts, group.finished_at is None, group.round) == ({"completed": 5}, False, 1)

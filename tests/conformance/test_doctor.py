"""doctor: what manual SQL broke is found, repaired or quarantined, recorded, and not found again."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from reelstate.app import open_engine
from reelstate.core.errors import CorruptState, InvalidRequest
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.pipeline import StageSpec
from reelstate.documents import job_document
from reelstate.engine import Engine
from reelstate.services import doctor
from tests.conformance.scenarios import declared, submitted
from tests.conformance.test_bad_job import allow_changes, forbid_changes_of
from tests.engines import FakeClock, a_worker, done, engine_at, failed
from tests.manual_sql import ManualSql


async def _a_running_job(engine: Engine) -> int:
    """A job with its plan done, one part done, one running and one ready."""
    job_id = (await engine.submit("fan")).job_id
    worker = await a_worker(engine)
    (plan,) = (await engine.claim(worker, 1)).tasks
    await engine.complete([done(plan, {"items": [1, 2, 3]})])
    first, _ = (await engine.claim(worker, 2)).tasks
    await engine.complete([done(first)])
    return job_id


async def _assert_repaired(engine: Engine, *checks: str) -> None:
    """Assert that doctor finds these checks broken, repairs them, and then finds nothing."""
    before = await engine.doctor()
    assert set(checks) <= {finding.check for finding in before.findings}
    after = await engine.doctor(repair=True)
    assert after.findings == ()
    assert set(checks) <= {finding.check for finding in after.repaired}
    assert (await engine.doctor()).healthy


async def _finish(engine: Engine, job_id: int) -> None:
    """The job still runs to its end after a repair."""
    worker = await a_worker(engine, "another")
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task) for task in tasks])
    assert (await engine.job(job_id)).job.status is JobStatus.COMPLETED


async def test_a_healthy_store_has_no_findings_and_repair_changes_nothing(engine: Engine) -> None:
    job_id = await _a_running_job(engine)
    before = await engine.history(job_id)
    diagnosis = await engine.doctor(repair=True)
    assert diagnosis.healthy
    assert diagnosis.repaired == ()
    assert await engine.history(job_id) == before


async def test_missing_guards_are_found_and_put_back(engine: Engine, manual_sql: ManualSql) -> None:
    manual_sql.drop_guards()
    findings = (await engine.doctor()).findings
    assert {finding.check for finding in findings} == {"guards"}
    assert len(findings) > 10
    assert (await engine.doctor(repair=True)).healthy


async def test_an_unknown_job_status_is_quarantined(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET status = 'paused' WHERE id = ?", job_id)
    await _assert_repaired(engine, "unknown_jobs")
    detail = await engine.job(job_id)
    assert detail.job.status is JobStatus.QUARANTINED
    assert {task.status for task in (await engine.tasks(job_id)).items} == {TaskStatus.DONE, TaskStatus.NEW}
    last = (await engine.history(job_id, stage=-1, part=-1)).items[-1]
    assert (last.origin, last.target, last.actor) == ("paused", "quarantined", "doctor")


async def test_a_finished_job_with_an_unknown_status_is_marked_and_not_moved(
    engine: Engine, manual_sql: ManualSql
) -> None:
    job_id = (await engine.submit("simple")).job_id
    await engine.complete([done(task) for task in (await engine.claim(await a_worker(engine), 1)).tasks])
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET status = 'paused' WHERE id = ?", job_id)
    await _assert_repaired(engine, "unknown_jobs")
    job = (await engine.job(job_id)).job
    assert job.status is JobStatus.COMPLETED
    assert job.inconsistent


async def test_an_unknown_task_status_is_put_back_and_its_job_quarantined(
    engine: Engine, manual_sql: ManualSql
) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET status = 'asleep' WHERE job_id = ? AND stage = 1 AND part = 2", job_id)
    await _assert_repaired(engine, "unknown_tasks")
    assert (await engine.job(job_id)).job.status is JobStatus.QUARANTINED
    await engine.retry(job_id, reason="looked at it")
    await _finish(engine, job_id)


async def test_a_lease_on_a_finished_task_is_removed(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run(
        "UPDATE tasks SET worker_id = last_worker, lease_expires_at = finished_at"
        " WHERE job_id = ? AND stage = 1 AND part = 0",
        job_id,
    )
    await _assert_repaired(engine, "lease_without_run")
    task = (await engine.tasks(job_id, stage="work")).items[0]
    assert (task.status, task.worker_id, task.lease_expires_at) == (TaskStatus.DONE, None, None)


async def test_a_running_task_without_a_lease_is_made_ready(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock
) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET worker_id = NULL, lease_expires_at = NULL WHERE job_id = ? AND part = 1", job_id)
    clock.advance(3600)
    assert (await engine.reclaim()).total == 0
    await _assert_repaired(engine, "run_without_lease")
    await _finish(engine, job_id)


async def test_a_lease_of_an_unknown_worker_is_removed(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET worker_id = 7 WHERE job_id = ? AND part = 1", job_id)
    await _assert_repaired(engine, "unknown_worker")
    await _finish(engine, job_id)


async def test_counters_that_are_off_are_counted_again(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE stages SET done = 0, failed = 2 WHERE job_id = ? AND stage = 1", job_id)
    await _assert_repaired(engine, "counters")
    stage = (await engine.job(job_id)).stages[1]
    assert (stage.total, stage.done, stage.failed) == (3, 1, 0)


async def test_counters_that_hid_the_end_of_a_stage_let_the_job_go_on(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE stages SET total = 9 WHERE job_id = ? AND stage = 1", job_id)
    worker = await a_worker(engine, "another")
    await engine.complete([done(task) for task in (await engine.claim(worker, 9)).tasks])
    running = [task for task in (await engine.tasks(job_id)).items if task.status is TaskStatus.RUNNING]
    assert len(running) == 1
    manual_sql.run("UPDATE tasks SET status = 'ready', worker_id = NULL, lease_expires_at = NULL, ready_at = claimed_at"
               " WHERE job_id = ? AND part = 1", job_id)  # fmt: skip
    await engine.complete([done(task) for task in (await engine.claim(worker, 9)).tasks])
    assert (await engine.claim(worker, 9)).tasks == []
    await _assert_repaired(engine, "counters")
    await _finish(engine, job_id)


@pytest.mark.parametrize("version", [2, 3])
async def test_a_gap_in_the_record_is_bridged(engine: Engine, manual_sql: ManualSql, version: int) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("DELETE FROM events WHERE job_id = ? AND stage = 1 AND part = 0 AND version = ?", job_id, version)
    await _assert_repaired(engine, "record_tasks")
    lines = [
        (event.version, event.origin, event.target) for event in (await engine.history(job_id, stage=1, part=0)).items
    ]
    assert sorted(lines) == [(2, "ready", "running"), (3, "running", "done")]
    (bridge,) = [event for event in (await engine.history(job_id, stage=1, part=0)).items if event.actor == "doctor"]
    assert bridge.version == version
    assert bridge.data == {"repair": True}


async def test_a_job_whose_first_event_was_deleted_gets_it_back(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("DELETE FROM events WHERE job_id = ? AND entity = 'job' AND version = 1", job_id)
    await _assert_repaired(engine, "record_jobs")
    events = sorted((await engine.history(job_id, stage=-1, part=-1)).items, key=lambda event: event.version)
    assert (events[0].version, events[0].origin, events[0].target) == (1, None, "pending")


async def test_a_row_that_was_changed_without_an_event_gets_one(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run(
        "UPDATE tasks SET status = 'new', worker_id = NULL, lease_expires_at = NULL WHERE job_id = ? AND part = 1",
        job_id,
    )
    await _assert_repaired(engine, "record_tasks")
    last = (await engine.history(job_id, stage=1, part=1)).items[-1]
    assert (last.origin, last.target, last.actor) == ("running", "new", "doctor")


async def test_a_version_behind_its_record_catches_up(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET version = 1 WHERE id = ?", job_id)
    manual_sql.run("UPDATE workers SET version = 9")
    await _assert_repaired(engine, "record_jobs", "record_workers")


async def test_a_record_that_contradicts_itself_marks_the_job(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run(
        "UPDATE events SET origin = 'error' WHERE job_id = ? AND stage = 1 AND part = 0 AND version = 3", job_id
    )
    await _assert_repaired(engine, "record_tasks")
    assert (await engine.job(job_id)).job.inconsistent


async def test_attempts_above_the_limit_raise_the_limit(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET attempt = 7 WHERE job_id = ? AND part = 1", job_id)
    await _assert_repaired(engine, "attempts")
    task = (await engine.tasks(job_id, stage="work")).items[1]
    assert (task.attempt, task.max_attempts, task.status) == (7, 7, TaskStatus.RUNNING)


async def test_a_token_behind_its_record_is_raised(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET token = 0 WHERE job_id = ? AND part = 1", job_id)
    await _assert_repaired(engine, "tokens")
    assert (await engine.tasks(job_id, stage="work")).items[1].token == 1


async def test_of_two_tasks_for_one_part_the_furthest_stays(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run(
        "INSERT INTO tasks (job_id, stage, part, lane, status, ready_at)"
        " SELECT job_id, stage, part, lane, 'ready', changed_at FROM tasks WHERE job_id = ? AND stage = 1 AND part = 0",
        job_id,
    )
    await _assert_repaired(engine, "duplicates")
    assert (await engine.job(job_id)).job.status is JobStatus.QUARANTINED
    parts = [(task.part, task.status) for task in (await engine.tasks(job_id, stage="work")).items]
    assert parts[0] == (0, TaskStatus.DONE)
    assert [part for part, _ in parts] == [0, 1, 2]


async def test_an_orphan_is_removed_with_an_event(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("DELETE FROM stages WHERE job_id = ? AND stage = 1", job_id)
    manual_sql.run("DELETE FROM jobs WHERE id = ?", job_id)
    diagnosis = await engine.doctor(repair=True)
    assert diagnosis.healthy
    assert "orphans" in {finding.check for finding in diagnosis.repaired}


async def test_a_repair_continues_until_all_findings_are_repaired(
    engine: Engine, manual_sql: ManualSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "FINDINGS_LIMIT", 2)
    await engine.submit("parts", {"parts": 5})
    await engine.claim(await a_worker(engine), 5)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET attempt = 9")
    assert (await engine.doctor(repair=True)).healthy


async def test_a_repair_ends_when_a_pass_changes_nothing(
    engine: Engine, manual_sql: ManualSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that run without a lease can't be made ready in a job that is gone; a later check removes them."""
    monkeypatch.setattr(doctor, "FINDINGS_LIMIT", 2)
    job_id = (await engine.submit("parts", {"parts": 2})).job_id
    await engine.claim(await a_worker(engine), 2)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE tasks SET worker_id = NULL, lease_expires_at = NULL")
    manual_sql.run("DELETE FROM jobs WHERE id = ?", job_id)
    async with asyncio.timeout(300):
        assert (await engine.doctor(repair=True)).healthy
    assert manual_sql.run("SELECT count(*) FROM tasks") == [(0,)]


@pytest.mark.parametrize(
    "statement, check",
    [
        ("UPDATE tasks SET finished_at = NULL WHERE job_id = ? AND stage = 1 AND part = 0", "finished_tasks"),
        ("UPDATE tasks SET finished_at = changed_at WHERE job_id = ? AND part = 2", "finished_tasks"),
        ("UPDATE jobs SET finished_at = changed_at WHERE id = ?", "finished_jobs"),
    ],
)
async def test_finished_at_is_repaired_by_the_status(
    engine: Engine, manual_sql: ManualSql, statement: str, check: str
) -> None:
    job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run(statement, job_id)
    await _assert_repaired(engine, check)


async def test_what_is_ready_in_a_failed_job_is_put_back(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await _a_running_job(engine)
    (task,) = (await engine.claim(await a_worker(engine, "another"), 1)).tasks
    await engine.fail([failed(task, retryable=False)])
    manual_sql.drop_guards()
    manual_sql.run(
        "UPDATE tasks SET status = 'ready', finished_at = NULL, ready_at = changed_at WHERE job_id = ? AND part = 2",
        job_id,
    )
    await _assert_repaired(engine, "restless", "counters")


async def test_a_stuck_job_is_moved_on(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = (await engine.submit("fan")).job_id
    await engine.complete([done(task, {"items": []}) for task in (await engine.claim(await a_worker(engine), 1)).tasks])
    manual_sql.drop_guards()
    manual_sql.run("DELETE FROM tasks WHERE job_id = ? AND stage = 2", job_id)
    manual_sql.run("DELETE FROM stages WHERE job_id = ? AND stage = 2", job_id)
    manual_sql.run("DELETE FROM events WHERE job_id = ? AND stage = 2", job_id)
    await _assert_repaired(engine, "stuck")
    await _finish(engine, job_id)


async def test_opening_a_store_logs_unknown_statuses(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    manual_sql = ManualSql(database_url)
    async with engine_at(database_url) as engine:
        job_id = await _a_running_job(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET status = 'paused' WHERE id = ?", job_id)
    manual_sql.run("UPDATE tasks SET status = 'asleep' WHERE job_id = ? AND part = 2", job_id)
    with caplog.at_level(logging.ERROR):
        async with engine_at(database_url) as engine:
            with pytest.raises(CorruptState, match="does not know"):
                await engine.cancel(job_id)
            (running,) = manual_sql.run("SELECT stage, part, token FROM tasks WHERE status = 'running'")
            assert running == (1, 1, 1)
            assert (await engine.doctor(repair=True)).healthy
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "'paused'" in logged
    assert "'asleep'" in logged
    assert "reel doctor" in logged


async def test_a_job_of_unknown_status_does_not_hold_up_the_others(engine: Engine, manual_sql: ManualSql) -> None:
    strange = await _a_running_job(engine)
    worker = await a_worker(engine, "another")
    healthy = (await engine.submit("simple")).job_id
    tasks = (await engine.claim(worker, 9)).tasks
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET status = 'paused' WHERE id = ?", strange)
    await engine.complete([done(task) for task in tasks])
    assert (await engine.job(healthy)).job.status is JobStatus.COMPLETED
    assert (await engine.doctor(repair=True)).healthy


async def test_a_worker_whose_record_was_erased_gets_it_back(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    manual_sql.drop_guards()
    manual_sql.run("DELETE FROM events WHERE entity = 'worker'")
    await _assert_repaired(engine, "record_workers")
    assert [(event.version, event.target) for event in await engine.worker_history(worker)] == [(1, "active")]


async def test_a_dump_restored_into_another_server_shows_its_events_again(
    engine: Engine, manual_sql: ManualSql, dialect: str
) -> None:
    if dialect == "sqlite":
        pytest.skip("a copy of a SQLite file is as good as the file: there are no transaction numbers")
    job_id = await _a_running_job(engine)
    before = [(event.entity, event.stage, event.part, event.version) for event in (await engine.history(job_id)).items]
    cursor = (await engine.events()).after
    manual_sql.drop_guards()
    manual_sql.run("UPDATE events SET xid = (xid::text::bigint + 1000000000)::text::xid8")
    assert (await engine.history(job_id)).items == []
    await _assert_repaired(engine, "restored")
    after = [(event.entity, event.stage, event.part, event.version) for event in (await engine.history(job_id)).items]
    assert sorted(after, key=str) == sorted(before, key=str)
    with pytest.raises(InvalidRequest, match="another database"):
        await engine.events(after=cursor)


async def test_a_failed_job_set_to_pending_by_manual_sql_fails_again_instead_of_hanging(
    engine: Engine, manual_sql: ManualSql
) -> None:
    job_id = (await engine.submit("simple")).job_id
    (task,) = (await engine.claim(await a_worker(engine), 1)).tasks
    await engine.fail([failed(task, retryable=False)])
    manual_sql.run("UPDATE jobs SET status = 'pending', finished_at = NULL WHERE id = ?", job_id)
    assert (await engine.orchestrate(stuck_after=-(10**9))).advanced == 1
    assert (await engine.job(job_id)).job.status is JobStatus.FAILED
    assert (await engine.orchestrate(stuck_after=-(10**9))).advanced == 0


async def test_reading_a_job_of_a_pipeline_declared_elsewhere_writes_nothing(engine: Engine, database_url: str) -> None:
    job_id = await _a_running_job(engine)
    async with open_engine(database_url) as reader:
        before = ManualSql(database_url).run("SELECT count(*) FROM lanes")
        assert (await reader.job(job_id)).job.pipeline == "fan"
        assert ManualSql(database_url).run("SELECT count(*) FROM lanes") == before


UNKNOWN = "from_the_future"


async def test_a_job_of_unknown_status_is_shown_as_it_is_and_is_read_only(
    engine: Engine, manual_sql: ManualSql
) -> None:
    known, strange = await submitted(engine), await submitted(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET status = ? WHERE id = ?", UNKNOWN, strange)
    assert {job.id: str(job.status) for job in (await engine.jobs()).items} == {known: "pending", strange: UNKNOWN}
    detail = await engine.job(strange)
    assert (detail.job.status, detail.stages[0].status) == (UNKNOWN, TaskStatus.READY)
    assert job_document(detail.job)["status"] == UNKNOWN
    for verb in (engine.cancel, engine.retry, engine.quarantine):
        with pytest.raises(CorruptState, match="does not know"):
            await verb(strange, reason="try")
    assert [task.key.job_id for task in (await engine.claim(await a_worker(engine), 9)).tasks] == [known]
    assert str((await engine.job(strange)).job.status) == UNKNOWN
    await engine.doctor(repair=True)


async def test_a_phase_and_other_statuses_that_are_unknown_are_shown_as_they_are(
    engine: Engine, manual_sql: ManualSql
) -> None:
    job_id, worker = await submitted(engine), await a_worker(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET phase = ?", UNKNOWN)
    manual_sql.run("UPDATE tasks SET status = ?", UNKNOWN)
    manual_sql.run("UPDATE workers SET status = ?", UNKNOWN)
    assert [str(job.phase) for job in (await engine.jobs()).items] == [UNKNOWN]
    assert [str(task.status) for task in (await engine.tasks(job_id)).items] == [UNKNOWN]
    assert [(each.id, str(each.status)) for each in await engine.workers()] == [(worker, UNKNOWN)]
    manual_sql.run("UPDATE workers SET status = 'active'")
    manual_sql.run("UPDATE jobs SET phase = 'processing'")
    await engine.doctor(repair=True)


async def test_a_task_in_a_lane_that_does_not_exist_is_found_and_put_into_its_own(
    engine: Engine, manual_sql: ManualSql
) -> None:
    job_id = await submitted(engine)
    worker = await a_worker(engine)
    manual_sql.run("UPDATE tasks SET lane = 424242")
    assert not (await engine.claim(worker, 1)).tasks
    await _assert_repaired(engine, "lanes")
    assert [task.key.job_id for task in (await engine.claim(worker, 1)).tasks] == [job_id]
    assert "doctor" in {event.actor for event in (await engine.history(job_id)).items}


async def test_one_row_that_can_not_be_repaired_does_not_stop_the_others(
    engine: Engine, manual_sql: ManualSql, caplog: pytest.LogCaptureFixture
) -> None:
    await declared(engine, "two", StageSpec(name="first"), StageSpec(name="second", after=("first",)))
    bad, good = await submitted(engine, "two"), await submitted(engine, "two")
    manual_sql.run_unguarded("UPDATE stages SET done = 1")
    forbid_changes_of(manual_sql, bad, "stages")
    diagnosis = await engine.doctor(repair=True)
    assert {finding.job_id for finding in diagnosis.repaired if finding.check == "counters"} == {good}
    assert {finding.job_id for finding in diagnosis.findings if finding.check == "counters"} == {bad}
    assert any("counters" in record.message and str(bad) in record.message for record in caplog.records)
    allow_changes(manual_sql, "stages")
    assert (await engine.doctor(repair=True)).healthy


async def test_text_in_an_instant_breaks_no_listing_and_is_repaired(
    engine: Engine, manual_sql: ManualSql, dialect: str
) -> None:
    if dialect == "postgres":
        pytest.skip("A COLUMN OF POSTGRESQL HAS A TYPE")
    await declared(engine, "two", StageSpec(name="first"), StageSpec(name="second", after=("first",)))
    job_id, worker = await submitted(engine, "two"), await a_worker(engine)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE jobs SET created_at = 'yesterday', changed_at = '2026-01-02 03:04:05'")
    manual_sql.run("UPDATE tasks SET ready_at = x'00', changed_at = 'x'")
    manual_sql.run("UPDATE stages SET opened_at = 'x'")
    manual_sql.run("UPDATE workers SET registered_at = 'x', last_heartbeat_at = 'x'")
    manual_sql.run("UPDATE events SET at = 'x', data = 'no JSON'")
    assert [job.id for job in (await engine.jobs()).items] == [job_id]
    assert [each.id for each in await engine.workers()] == [worker]
    assert (await engine.tasks(job_id)).items
    assert (await engine.history(job_id)).items
    await engine.orchestrate()
    await engine.reclaim()
    diagnosis = await engine.doctor(repair=True)
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert len([finding for finding in diagnosis.repaired if finding.check == "times"]) == 4
    assert not [finding for finding in diagnosis.findings if finding.check != "guards"]
    assert (await engine.job(job_id)).job.changed_at.replace(microsecond=0) in {moment, moment - timedelta(seconds=1)}
    assert manual_sql.run("SELECT count(*) FROM jobs WHERE created_at > 1e9") == [(1,)]


async def test_an_event_that_was_added_by_manual_sql_is_found(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine)
    worker = await a_worker(engine)
    columns = "entity, job_id, stage, part, worker_id, version, origin, target, actor"
    for entity, key in (
        ("job", (job_id, -1, -1, None)),
        ("task", (job_id, 0, 0, None)),
        ("worker", (None, -1, -1, worker)),
    ):
        forged = (entity, *key, 7, "x", "y", "worker")
        manual_sql.run(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *forged)
    found = {finding.check for finding in (await engine.doctor()).findings}
    assert found >= {"record_jobs", "record_tasks", "record_workers"}
    await engine.doctor(repair=True)

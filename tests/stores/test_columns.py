"""Every view shows each value under its own name: no statement may swap two columns.

The rows are overwritten with a distinct value in each column, bypassing the guards. What listings and single views show
is compared with what was written, field by field. A field that a record gains fails here until it is given a value.
"""

import dataclasses
import json
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import (
    Event,
    Job,
    LogEntry,
    LogLine,
    PipelineVersion,
    Progress,
    Stage,
    Step,
    StepEntry,
    Task,
    Worker,
)
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.library.model import Video, VideoStatus
from reelstate.library.uploads import Upload, UploadLimits, Uploads
from reelstate.library.videos import Videos
from reelstate.services.keys import Key, KeyKind, Keys, Scope
from reelstate.services.pipelines import DIGESTS
from tests.engines import FakeClock, a_worker
from tests.manual_sql import ManualSql

LATER = datetime(2030, 1, 1, tzinfo=UTC)


def at(day: int) -> datetime:
    """Return a distinct time before the current time of the tests."""
    return datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=day)


@pytest.fixture
def manual_sql(database_url: str, engine: Engine) -> ManualSql:
    """Manual SQL, which bypasses the engine."""
    return ManualSql(database_url)


def overwrite(manual_sql: ManualSql, table: str, where: str, **values: Any) -> None:
    """Set columns of the rows that a condition selects, each to a value that no other column has."""
    written = [json.dumps(value, default=str) for value in values.values()]
    assert len(set(written)) == len(written), "each value stands in one column alone"
    manual_sql.drop_guards()
    columns = ", ".join(f"{column} = ?" for column in values)
    manual_sql.run(
        f"UPDATE {table} SET {columns} WHERE {where}", *(_stored(manual_sql, value) for value in values.values())
    )


def _stored(manual_sql: ManualSql, value: Any) -> Any:
    if manual_sql.postgres:
        if isinstance(value, frozenset):
            return sorted(value)
        return Jsonb(value) if isinstance(value, dict | list) else value
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, frozenset):
        return json.dumps(sorted(value))
    return json.dumps(value) if isinstance(value, dict | list) else value


def assert_shows(shown: Any, kind: type[Any], expected: Mapping[str, Any]) -> None:
    names = list(getattr(kind, "_fields", None) or kind.__dataclass_fields__)
    assert sorted(expected) == sorted(names), f"give every field of {kind.__name__} a value here"
    assert {name: getattr(shown, name) for name in names} == dict(expected)


async def two_versions(engine: Engine) -> tuple[int, int, int]:
    """Create a video with two versions; return its id and the jobs of both."""
    first = await Videos(engine).submit("first.mp4", pipeline="simple")
    assert first.resource_id is not None
    second = await Videos(engine).retranscode(first.resource_id, pipeline="simple")
    return first.resource_id, first.job_id, second.job_id


async def test_a_job_in_listings_and_alone(engine: Engine, manual_sql: ManualSql) -> None:
    video_id, job_id, _ = await two_versions(engine)
    (digest,) = [each.digest for each in await engine.pipelines() if each.name == "simple"]
    values = {
        "user_id": "ada",
        "status": "failed",
        "phase": "planning",
        "priority": 8,
        "spec": {"is": "spec"},
        "run_after": at(1),
        "error": {"is": "error"},
        "degraded": ["is degraded"],
        "inconsistent": "is inconsistent",
        "flagged": "is flagged",
        "flagged_at": at(6),
        "version": 17,
        "actor": "operator",
        "reason": "is reason",
        "created_at": at(2),
        "started_at": at(3),
        "changed_at": at(4),
        "finished_at": at(5),
    }
    overwrite(manual_sql, "jobs", f"id = {job_id}", **values)
    manual_sql.run("INSERT INTO groups (id, user_id, name) VALUES (7, 'ada', 'is group')")
    manual_sql.run("INSERT INTO group_jobs (job_id, group_id) VALUES (?, 7)", job_id)
    fixed = {
        "id": job_id,
        "group": "is group",
        "pipeline": "simple",
        "digest": digest,
        "resource_id": video_id,
        "archived": False,
    }
    enums = {"status": JobStatus.FAILED, "phase": JobStatus.PLANNING}
    listings: list[dict[str, Any]] = [
        {},
        {"user_id": "ada"},
        {"statuses": [JobStatus.FAILED]},
        {"pipeline": "simple", "user_id": "ada"},
    ]
    views = [job for wanted in listings for job in (await engine.jobs(**wanted)).items if job.id == job_id]
    views += [version.job for version in (await Videos(engine).get(video_id)).versions if version.job.id == job_id]
    assert len(views) == len(listings) + 1
    for shown in (*views, (await engine.job(job_id)).job):
        assert_shows(shown, Job, {**values, **fixed, **enums})


async def test_a_task_and_its_stage(engine: Engine, manual_sql: ManualSql, clock: FakeClock) -> None:
    job_id = (await engine.submit("parts", {"parts": 5})).job_id
    worker, other = await a_worker(engine, "holder"), await a_worker(engine, "other")
    await engine.claim(worker, 3)
    lane = manual_sql.run("SELECT max(lane) FROM tasks")[0][0]
    manual_sql.run("UPDATE tasks SET lane = ? WHERE part IN (1, 2)", -lane)
    values = {
        "status": "running",
        "priority": 8,
        "input": {"is": "input"},
        "run_after": at(1),
        "ready_at": at(2),
        "claimed_at": at(3),
        "started_at": at(4),
        "progress_at": at(5),
        "finished_at": at(6),
        "worker_id": worker,
        "lease_expires_at": at(7),
        "token": 21,
        "attempt": 22,
        "max_attempts": 23,
        "lost": 24,
        "last_worker": other,
        "step": "is step",
        "message": "is message",
        "percent": 37.5,
        "checkpoint": {"is": "checkpoint"},
        "result": {"is": "result"},
        "error": {"is": "error"},
        "version": 25,
        "actor": "doctor",
        "reason": "is reason",
        "changed_at": at(8),
    }
    overwrite(manual_sql, "tasks", "part = 2", **values)
    fixed = {"job_id": job_id, "stage": 0, "part": 2, "stage_name": "part", "status": TaskStatus.RUNNING}
    derived = {"isolated": True, "lease_expired": True, "worker": "other"}
    listings: list[dict[str, Any]] = [{}, {"stage": "part"}, {"statuses": ["running"]}, {"after": f"{job_id}/0/1"}]
    views = [task for wanted in listings for task in (await engine.tasks(job_id, **wanted)).items if task.part == 2]
    assert len(views) == len(listings)
    for shown in views:
        assert_shows(shown, Task, {**values, **fixed, **derived})
    counted = {"total": 90, "done": 40, "skipped": 20, "failed": 10, "opened_at": at(9)}
    overwrite(manual_sql, "stages", "stage = 0", **counted)
    (stage,) = (await engine.job(job_id)).stages
    declared = {"name": "part", "phase": JobStatus.PROCESSING, "required": True, "weight": 1.0, "needs": ()}
    declared |= {"after": (), "each": "spec.parts"}
    live = {"running": 3, "running_percent": 37.5, "isolated": 2, "waits_for": (), "status": TaskStatus.ERROR}
    assert_shows(stage, Stage, {"job_id": job_id, "stage": 0, **declared, **counted, **live})


async def test_a_worker(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = (await engine.submit("simple")).job_id
    worker = await a_worker(engine, "holder")
    await engine.claim(worker)
    values = {
        "hostname": "is hostname",
        "software": "is software",
        "kind": "remote",
        "slots": 31,
        "capabilities": frozenset({"is", "capabilities"}),
        "pipelines": frozenset({"are", "pipelines"}),
        "metadata": {"is": "metadata"},
        "status": "draining",
        "stuck": 32,
        "version": 33,
        "registered_at": at(1),
        "last_heartbeat_at": at(2),
    }
    overwrite(manual_sql, "workers", f"id = {worker}", **values)
    overwrite(manual_sql, "worker_instances", f"id = {worker}", done=34, failed=35)
    fixed = {"id": worker, "name": "holder", "enabled": True, "status": WorkerStatus.DRAINING}
    derived = {"running": 1, "done": 34, "failed": 35, "tasks": (f"{job_id}/main/0",)}
    (shown,) = await engine.workers()
    assert_shows(shown, Worker, {**values, **fixed, **derived})


async def test_an_event_in_every_log(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = (await engine.submit("parts", {"parts": 3})).job_id
    worker = await a_worker(engine, "holder")
    await engine.claim(worker)
    values: dict[str, Any] = {
        "stage": 41,
        "part": 42,
        "worker_id": worker,
        "version": 43,
        "origin": "is origin",
        "target": "is target",
        "actor": "is actor",
        "reason": "is reason",
        "token": 44,
        "data": {"is": "data"},
        "at": at(1),
    }
    overwrite(manual_sql, "events", "entity = 'task' AND part = 0 AND token = 1", **values)
    (shown,) = [event for event in (await engine.events()).items if event.stage_number == 41]
    expected = {**values, "cursor": shown.cursor, "entity": "task", "job_id": job_id, "worker": "holder"}
    expected |= {"stage": "41", "stage_number": 41}
    assert_shows(shown, Event, expected)
    narrowed: list[dict[str, Any]] = [{}, {"stage": 41}, {"stage": 41, "part": 42}]
    for wanted in narrowed:
        assert shown in (await engine.history(job_id, **wanted)).items
    async with aclosing(engine.watch(job_id)) as events:
        async for event in events:
            if event.stage_number == 41:
                # What is replayed has the cursor to resume at, which is not the one of the event.
                assert dataclasses.replace(event, cursor=shown.cursor) == shown
                break
    overwrite(manual_sql, "events", "entity = 'worker'", **{**values, "stage": 51, "part": 52})
    (shown,) = await engine.worker_history(worker)
    expected = {**expected, "cursor": shown.cursor, "entity": "worker", "job_id": None, "part": 52}
    expected |= {"stage": "51", "stage_number": 51}
    assert_shows(shown, Event, expected)
    assert shown in (await engine.events()).items


async def test_a_log_line_and_a_step(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = (await engine.submit("simple")).job_id
    worker = await a_worker(engine)
    (task,) = (await engine.claim(worker)).tasks
    reported = {"logs": (LogLine(message="line"),), "steps": (Step(number=1, argv=["cp"]),)}
    await engine.report(worker, [Progress(key=task.key, token=task.token, **reported)])  # type: ignore[arg-type]
    entity = {"stage": 62, "part": 63, "token": 64}
    line = {**entity, "at": at(1), "level": "is level", "message": "is message", "metadata": {"is": "metadata"}}
    overwrite(manual_sql, "logs", "true", **line)
    for settled in (False, True):
        (shown,) = (await engine.logs(job_id, settled=settled)).items
        assert_shows(shown, LogEntry, {**line, "job_id": job_id, "id": manual_sql.run("SELECT id FROM logs")[0][0]})
    step = {
        **entity,
        "number": 65,
        "at": at(2),
        "type": "is type",
        "started_at": at(3),
        "argv": ["is", "argv"],
        "exit_code": 66,
        "seconds": 67.5,
        "output": "is output",
    }
    overwrite(manual_sql, "steps", "true", **step)
    (command,) = (await engine.steps(job_id)).items
    assert_shows(command, StepEntry, {**step, "job_id": job_id, "id": manual_sql.run("SELECT id FROM steps")[0][0]})


async def test_a_video_in_listings_and_alone_with_its_versions(engine: Engine, manual_sql: ManualSql) -> None:
    video_id, first, second = await two_versions(engine)
    third = (await Videos(engine).retranscode(video_id, pipeline="simple")).job_id
    for job_id, day in ((first, 1), (second, 2)):
        overwrite(manual_sql, "jobs", f"id = {job_id}", status="completed", finished_at=at(day))
    overwrite(manual_sql, "jobs", f"id = {third}", status="failed", finished_at=at(3), error={"is": "error"})
    result = {"duration": 12.5, "poster": "is/poster.jpg", "rungs": ["is rung"]}
    overwrite(manual_sql, "tasks", f"job_id = {second}", status="done", result=result)
    values = {
        "title": "is title",
        "source": "is source",
        "user_id": "ada",
        "pinned": second,
        "published": first,
        "version": 71,
        "actor": "is actor",
        "reason": "is reason",
        "created_at": at(4),
        "changed_at": at(5),
        "deleted_at": at(6),
    }
    overwrite(manual_sql, "videos", f"id = {video_id}", **values)
    derived = {"status": VideoStatus.READY, "current": second, "latest": third}
    expected = {"id": video_id, **values, **derived, **result, "error": {"is": "error"}, "rungs": ("is rung",)}
    detail = await Videos(engine).get(video_id)
    for shown in (detail.video, *(await Videos(engine).list(deleted=True)).items):
        assert_shows(shown, Video, expected)
    manual_sql.run("INSERT INTO removed_versions (job_id, video_id, removed_at, swept_at) VALUES (?, ?, ?, ?)", *(
        _stored(manual_sql, value) for value in (first, video_id, at(7), at(8))
    ))  # fmt: skip
    versions = (await Videos(engine).get(video_id)).versions
    assert [(version.job.id, version.current, version.removed_at) for version in versions] == [
        (third, False, None), (second, True, None), (first, False, at(7)),
    ]  # fmt: skip


async def test_an_upload_in_every_answer(engine: Engine, manual_sql: ManualSql) -> None:
    uploads = Uploads(engine.store, lifetime=60.0, limits=UploadLimits(open=10, unused=10, bytes=1000))
    made = await uploads.create(user_id="eve", name="video", length=None, digest="is digest")
    assert await uploads.find(made.id) == made
    received = await uploads.receive(made, 4, last=True)
    assert await uploads.find(made.id) == received
    finished = await uploads.finish(received, "b" * 64)
    assert await uploads.find(made.id) == finished
    values = {
        "user_id": "ada",
        "name": "is name",
        "length": 81,
        "received": 80,
        "digest": "is digest",
        "sha256": "is sha256",
        "created_at": at(1),
        "expires_at": LATER,
    }
    overwrite(manual_sql, "uploads", "true", **values)
    assert_shows(await uploads.find(made.id), Upload, {"id": made.id, **values})
    manual_sql.run("UPDATE uploads SET sha256 = NULL")
    again = await uploads.receive(await uploads.find(made.id), 81)
    expected = {"id": made.id, **values, "received": 81, "sha256": None, "expires_at": again.expires_at}
    assert_shows(again, Upload, expected)
    finished = await uploads.finish(again, "is sha256")
    assert_shows(finished, Upload, {**expected, "sha256": "is sha256", "expires_at": finished.expires_at})


async def test_a_key_in_the_listing_and_when_it_is_used(engine: Engine, manual_sql: ManualSql) -> None:
    keys = Keys(engine.store, cache_seconds=0.0)
    made = await keys.create("name", scopes=[Scope.READ], user_id="eve", actor="somebody")
    assert await keys.all() == [made.key]
    values = {
        "name": "is name",
        "user_id": "ada",
        "scopes": frozenset({Scope.READ, Scope.WRITE}),
        "parent": "is parent",
        "actor": "is actor",
        "created_at": at(1),
        "expires_at": LATER,
        "used_at": at(2),
    }
    overwrite(manual_sql, "keys", "true", **values)
    expected = {"id": made.key.id, "kind": KeyKind.KEY, "revoked_at": None, **values}
    (listed,) = await keys.all()
    assert_shows(listed, Key, expected)
    assert_shows(await keys.authenticate(made.text), Key, expected)
    overwrite(manual_sql, "keys", "true", revoked_at=at(3), used_at=at(2))
    (listed,) = await keys.all()
    assert_shows(listed, Key, {**expected, "revoked_at": at(3)})


async def test_a_version_of_a_pipeline_in_the_listing_and_when_it_is_pinned(
    engine: Engine, manual_sql: ManualSql
) -> None:
    graph = Graph.of(
        "shots", [StageSpec(name="grab"), StageSpec(name="pack", after=("grab",))], spec={"type": "object"}
    )
    await engine.declare(graph)
    digest = graph.digest
    await a_worker(engine, "holder", metadata={DIGESTS: {"shots": digest}})
    overwrite(manual_sql, "pipelines", "name = 'shots'", declared_at=at(1))
    expected = {
        "name": "shots",
        "digest": digest,
        "declared_at": at(1),
        "stages": ("grab", "pack"),
        "current": True,
        "pinned": False,
        "workers": ("holder",),
        "spec": {"type": "object"},
        "graph": json.loads(json.dumps(graph.document())),
    }
    (listed,) = [each for each in await engine.pipelines() if each.name == "shots"]
    assert_shows(listed, PipelineVersion, expected)
    pinned = await engine.use_pipeline("shots", digest)
    assert_shows(pinned, PipelineVersion, {**expected, "pinned": True})
    assert pinned in await engine.pipelines()

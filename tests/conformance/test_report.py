"""report: a report of a worker renews its leases and stores progress, checkpoints, logs and steps."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, TooLarge, WorkerRefused
from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask, LogLine, Progress, Report, Step, TaskKey, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.core.policy import BACKSTOP_MARGIN
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    lose,
    progress,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
)
from tests.engines import FakeClock, a_worker, done


async def owner_of(engine: Engine, task: ClaimedTask) -> int:
    return (await task_at(engine, task.key)).worker_id or 0


async def say(engine: Engine, task: ClaimedTask, **values: Any) -> None:
    report = await engine.report(await owner_of(engine, task), [progress(task, **values)])
    assert report == Report([Verdict.OK], drain=False)


async def expiry(engine: Engine, task: ClaimedTask) -> datetime | None:
    return (await task_at(engine, task.key)).lease_expires_at


async def a_limited_task(engine: Engine, **limits: float) -> ClaimedTask:
    await declared(engine, "limited", StageSpec(name="main", **{"lease": 30, **limits}))  # type: ignore[arg-type]
    return await a_running_task(engine, "limited")


async def test_a_report_renews_the_lease(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(50)
    await say(engine, task)
    assert await expiry(engine, task) == clock.now + timedelta(seconds=60)
    clock.advance(59)
    assert (await engine.reclaim()).total == 0


async def test_a_report_after_expiry_renews_what_was_not_reclaimed(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(500)
    await say(engine, task)
    assert (await engine.reclaim()).total == 0


async def test_a_report_leaves_the_version_alone_and_writes_no_event(engine: Engine) -> None:
    task = await a_running_task(engine)
    before = await engine.events()
    version = (await task_at(engine, task.key)).version
    await say(engine, task, percent=10, message="a", step="b", checkpoint=1)
    assert (await task_at(engine, task.key)).version == version
    assert (await engine.events(after=before.after)).items == []


async def test_reported_fields_are_stored_and_missing_ones_stay_unchanged(engine: Engine) -> None:
    task = await a_running_task(engine)
    await say(engine, task, percent=25, message="cutting", step="ffmpeg", checkpoint={"frame": 3})
    await say(engine, task, percent=50.5)
    row = await task_at(engine, task.key)
    assert (row.percent, row.message, row.step, row.checkpoint) == (50.5, "cutting", "ffmpeg", {"frame": 3})
    await say(engine, task, checkpoint=[])
    assert (await task_at(engine, task.key)).checkpoint == []


async def test_a_stall_is_an_expiry(engine: Engine, clock: FakeClock) -> None:
    task = await a_limited_task(engine, stall_after=40)
    stalls = clock.now + timedelta(seconds=40)
    clock.advance(20)
    await say(engine, task)
    assert await expiry(engine, task) == stalls
    clock.advance(15)
    await say(engine, task, percent=1)
    assert await expiry(engine, task) == clock.now + timedelta(seconds=30)


@pytest.mark.parametrize(
    "reported",
    [{"percent": 11}, {"message": "other"}, {"step": "other"}, {"checkpoint": {"a": 1}}],
    ids=lambda reported: next(iter(reported)),
)
async def test_anything_new_is_progress(engine: Engine, clock: FakeClock, reported: dict[str, Any]) -> None:
    task = await a_limited_task(engine, stall_after=20)
    await say(engine, task, percent=10, message="same", step="same")
    clock.advance(10)
    await say(engine, task, **reported)
    assert (await task_at(engine, task.key)).progress_at == clock.now
    assert await expiry(engine, task) == clock.now + timedelta(seconds=20)


async def test_saying_the_same_again_is_no_progress(engine: Engine, clock: FakeClock) -> None:
    task = await a_limited_task(engine, stall_after=20)
    await say(engine, task, percent=33.3, message="same", step="same")
    reported = clock.now
    clock.advance(10)
    await say(engine, task, percent=33.3, message="same", step="same")
    assert (await task_at(engine, task.key)).progress_at == reported
    assert await expiry(engine, task) == reported + timedelta(seconds=20)


async def test_a_timeout_is_counted_from_the_claim_whatever_is_said(engine: Engine, clock: FakeClock) -> None:
    task = await a_limited_task(engine, timeout=100, stall_after=90)
    ends = clock.now + timedelta(seconds=100 + BACKSTOP_MARGIN)
    for percent in range(20, 120, 20):
        clock.advance(20)
        await say(engine, task, percent=percent % 100)
        assert await expiry(engine, task) == min(ends, clock.now + timedelta(seconds=30))


@pytest.mark.parametrize("percent", [-0.1, 100.1, float("nan"), float("inf")])
async def test_a_percentage_is_from_0_to_100(engine: Engine, percent: float) -> None:
    task = await a_running_task(engine)
    with pytest.raises(InvalidRequest) as refused:
        await engine.report(await owner_of(engine, task), [progress(task, percent=percent)])
    assert refused.value.field == "percent"


async def test_a_report_with_one_bad_item_changes_nothing(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    before = await task_at(engine, first.key)
    clock.advance(5)
    items = [progress(first, percent=9), progress(second, checkpoint="x" * 65_536)]
    with pytest.raises(TooLarge):
        await engine.report(await owner_of(engine, first), items)
    assert await task_at(engine, first.key) == before


async def test_a_long_message_is_cut_in_the_middle(engine: Engine) -> None:
    task = await a_running_task(engine)
    await say(engine, task, message="a" * 3000 + "b" * 3000, step="nul\x00")
    row = await task_at(engine, task.key)
    assert row.message is not None
    assert row.message.startswith("aaa")
    assert row.message.endswith("bbb")
    assert len(row.message) <= 4096
    assert row.step == "nul\ufffd"


async def test_a_jobs_progress_is_its_stages_by_weight_with_what_runs_now(engine: Engine) -> None:
    await declared(
        engine, "weighed", StageSpec(name="heavy", each="spec.n", weight=3), StageSpec(name="light", weight=1)
    )
    job_id = await submitted(engine, "weighed", {"n": 2})
    worker = await a_worker(engine)
    first, second, _ = await take(engine, worker)
    await engine.complete([done(first)])
    await engine.report(worker, [progress(second, percent=50)])
    assert (await engine.job(job_id)).progress == pytest.approx(100 * 0.75 * 0.75)


# Verdicts.


async def test_every_item_gets_the_verdict_it_deserves(engine: Engine, clock: FakeClock) -> None:
    mine, ended, lost = await running_parts(engine, 3)
    await submitted(engine)
    cancelled = await take_one(engine, await a_worker(engine, "other"))
    worker = await owner_of(engine, mine)
    await engine.complete([done(ended)])
    await engine.cancel(cancelled.key.job_id)
    items = [
        progress(mine, percent=1),
        progress(ended, percent=2),
        Progress(key=lost.key, token=lost.token - 1, percent=3),
        progress(cancelled, percent=4),
        Progress(key=lost.key, token=lost.token + 1, percent=5),
        Progress(key=TaskKey(404, 0, 0), token=1, percent=6),
    ]
    report = await engine.report(worker, items)
    assert report.verdicts == [
        Verdict.OK,
        Verdict.LOST,
        Verdict.LOST,
        Verdict.CANCELLED,
        Verdict.UNKNOWN,
        Verdict.UNKNOWN,
    ]
    assert (await task_at(engine, lost.key)).percent == 0


async def test_a_report_under_a_token_that_was_taken_back_is_lost(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    worker = await owner_of(engine, task)
    await lose(engine, clock)
    assert (await engine.report(worker, [progress(task)])).verdicts == [Verdict.LOST]
    again = await take_one(engine, worker)
    assert (await engine.report(worker, [progress(task), progress(again)])).verdicts == [
        Verdict.LOST,
        Verdict.OK,
    ]


async def test_two_reports_of_one_task_in_one_batch_are_both_accepted(engine: Engine) -> None:
    task = await a_running_task(engine)
    items = [
        progress(task, percent=1, logs=(LogLine(message="first"),)),
        progress(task, percent=2, logs=(LogLine(message="second"),)),
    ]
    report = await engine.report(await owner_of(engine, task), items)
    assert report.verdicts == [Verdict.OK, Verdict.OK]
    entries = (await engine.logs(task.key.job_id)).items
    assert [entry.message for entry in entries] == ["first", "second"]


# Logs.


async def test_log_lines_are_kept_in_order_with_their_task(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    lines = (LogLine(message="a", level="debug"), LogLine(message="b", level="error", metadata={"code": 1}))
    items = [progress(first, logs=lines), progress(second, logs=(LogLine(message="c"),))]
    await engine.report(await owner_of(engine, first), items)
    entries = (await engine.logs(first.key.job_id)).items
    shown = [(entry.part, entry.token, entry.level, entry.message, entry.metadata) for entry in entries]
    assert shown == [(0, 1, "debug", "a", None), (0, 1, "error", "b", {"code": 1}), (1, 1, "info", "c", None)]
    assert {entry.at for entry in entries} == {clock.now}


async def test_a_log_level_that_is_none_is_info(engine: Engine) -> None:
    task = await a_running_task(engine)
    await say(engine, task, logs=(LogLine(message="loud", level="SHOUT"),))
    assert [entry.level for entry in (await engine.logs(task.key.job_id)).items] == ["info"]


async def test_the_logs_of_a_lost_run_are_not_kept(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    worker = await owner_of(engine, task)
    await lose(engine, clock)
    await engine.report(worker, [progress(task, logs=(LogLine(message="late"),))])
    assert (await engine.logs(task.key.job_id)).items == []


# Steps.


async def test_steps_are_kept_in_order_with_their_run(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    own = (
        Step(number=1, argv=["ffmpeg", "-i", "a b"], exit_code=0, seconds=1.5, output="all well"),
        Step(number=2, argv=("ffmpeg",), exit_code=None),
    )
    items = [progress(first, steps=own), progress(second, steps=(Step(number=1, argv=["x"], exit_code=137),))]
    await engine.report(await owner_of(engine, first), items)
    entries = (await engine.steps(first.key.job_id)).items
    shown = [(step.part, step.token, step.number, step.argv, step.exit_code, step.seconds) for step in entries]
    assert shown == [
        (0, 1, 1, ["ffmpeg", "-i", "a b"], 0, 1.5),
        (0, 1, 2, ["ffmpeg"], None, 0.0),
        (1, 1, 1, ["x"], 137, 0.0),
    ]
    assert entries[0].output == "all well"
    assert {step.at for step in entries} == {clock.now}


async def test_a_step_reported_twice_is_kept_once_but_every_run_has_its_own(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    step = Step(number=1, argv=["ffmpeg"], exit_code=0)
    await say(engine, task, steps=(step,))
    await say(engine, task, steps=(step, Step(number=2, argv=["ffmpeg"], exit_code=1)))
    worker = await owner_of(engine, task)
    await lose(engine, clock)
    again = await take_one(engine, worker)
    await say(engine, again, steps=(step,))
    shown = [(entry.token, entry.number) for entry in (await engine.steps(task.key.job_id)).items]
    assert shown == [(1, 1), (1, 2), (2, 1)]


async def test_the_steps_of_a_lost_run_are_not_kept(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    worker = await owner_of(engine, task)
    await lose(engine, clock)
    again = await take_one(engine, worker)
    late = progress(task, steps=(Step(number=1, argv=["late"]),))
    await engine.report(worker, [late, progress(again, steps=(Step(number=1, argv=["in time"]),))])
    assert [entry.argv for entry in (await engine.steps(task.key.job_id)).items] == [["in time"]]


async def test_steps_are_stored_without_passwords_and_in_bounds(engine: Engine) -> None:
    task = await a_running_task(engine)
    address = "https://user:hunter2@host/video"
    long = Step(
        number=1, argv=["ffmpeg", address, *["ü" * 9_000] * 50, "out.mp4"], output=f"\0{address} " * 9_000 + "end"
    )
    await say(engine, task, steps=(long,))
    (entry,) = (await engine.steps(task.key.job_id)).items
    assert entry.argv[:2] == ["ffmpeg", "https://user:***@host/video"]
    assert entry.argv[-1] == "out.mp4"
    assert "…" in entry.argv
    assert len(json.dumps(entry.argv, ensure_ascii=False).encode()) <= 16 * 1024
    assert 64_000 < len(entry.output) <= 64 * 1024
    assert entry.output.endswith(" end")
    assert "hunter2" not in entry.output


# Heartbeats.


async def test_a_report_without_items_is_a_sign_of_life(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    clock.advance(7)
    assert await engine.report(worker) == Report([], drain=False)
    (known,) = await engine.workers()
    assert known.last_heartbeat_at == clock.now


async def test_a_report_of_an_unknown_worker_is_refused(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    with pytest.raises(WorkerRefused, match="not registered"):
        await engine.report(404, [progress(task, percent=5)])
    assert (await task_at(engine, task.key)).percent == 0


async def test_a_draining_worker_learns_it_and_keeps_its_lease(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await engine.drain("worker")
    clock.advance(10)
    report = await engine.report(await owner_of(engine, task), [progress(task)])
    assert report == Report([Verdict.OK], drain=True)
    assert await expiry(engine, task) == clock.now + timedelta(seconds=60)


async def test_a_disabled_worker_should_drain_and_has_lost_its_task(engine: Engine) -> None:
    task = await a_running_task(engine)
    worker = await owner_of(engine, task)
    await engine.disable("worker")
    assert await engine.report(worker, [progress(task)]) == Report([Verdict.LOST], drain=True)
    assert (await task_at(engine, task.key)).status is TaskStatus.READY

"""Schedules on both stores: policies, pause, trigger, backfill, bad schedules, and what is recorded."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reelstate.app import keeper_for, open_engine
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest, NotFound, StoreUnavailable
from reelstate.core.machine import JobStatus
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.schedule import RunOutcome, Schedule, ScheduleRun
from reelstate.engine import Engine
from reelstate.services.purge import purge_rows
from reelstate.services.retention import Ages
from reelstate.services.schedules.ticks import Submitter
from tests.engines import SIMPLE, FakeClock, a_worker, done

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = 3600.0


async def a_schedule(engine: Engine, name: str = "hourly", **options: Any) -> Schedule:
    return await engine.schedules.create(name, "simple", options.pop("timing", "@hourly"), **options)


async def pass_hours(engine: Engine, clock: FakeClock, count: int) -> None:
    """Let hours pass, one by one, with a keeper that looks after each."""
    for _ in range(count):
        clock.advance(HOUR)
        await engine.schedules.run_due()


async def runs(engine: Engine, name: str = "hourly") -> list[ScheduleRun]:
    """The last ten runs, oldest first."""
    return list(reversed((await engine.schedules.get(name)).runs))


async def outcomes(engine: Engine, name: str = "hourly") -> list[tuple[int, str]]:
    """The hour and the outcome of each run."""
    return [(run.tick.hour, str(run.outcome)) for run in await runs(engine, name)]


async def finish_jobs(engine: Engine) -> int:
    """Complete every ready task."""
    worker = await a_worker(engine)
    claimed = (await engine.claim(worker, 100)).tasks
    await engine.complete([done(task) for task in claimed])
    return len(claimed)


async def jobs_of(engine: Engine) -> list[int]:
    return [job.id for job in (await engine.jobs(limit=500)).items]


async def test_a_tick_submits_the_job_of_the_schedule(engine: Engine, clock: FakeClock) -> None:
    made = await a_schedule(engine, spec={"a": 1}, priority="high", user_id="ada")
    assert (made.next_tick, made.next_run_at) == (START + timedelta(hours=1), START + timedelta(hours=1))
    assert await engine.schedules.run_due() == 0
    clock.advance(HOUR)
    assert await engine.schedules.run_due() == 1
    assert await engine.schedules.run_due() == 0
    (run,) = await runs(engine)
    job = (await engine.job(run.job_id or 0)).job
    assert (job.pipeline, job.spec, job.priority, job.user_id) == ("simple", {"a": 1}, 8, "ada")
    assert (run.outcome, run.tick, run.job_status) == ("submitted", START + timedelta(hours=1), "pending")
    repeated = await engine.submit("simple", {"a": 1}, priority="high", user_id="ada",
                                   idempotency_key="schedule:hourly:2026-01-01T01:00:00Z")  # fmt: skip
    assert repeated.id == job.id
    (listed,) = await engine.schedules.all()
    assert (listed.next_tick, listed.last) == (START + timedelta(hours=2), run)


async def test_a_tick_is_run_once_without_its_idempotency_key(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="allow")
    clock.advance(HOUR)
    rows = [engine.schedules.run_due() for _ in range(5)]
    assert sum(await asyncio.gather(*rows)) == 1
    clock.advance(1.0)
    assert (await engine.retain(Ages(idempotency=0.5))).idempotency == 1
    assert await engine.schedules.run_due() == 0
    assert len(await jobs_of(engine)) == 1


async def test_skip_makes_no_job_while_one_is_active(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine)
    await pass_hours(engine, clock, 3)
    assert await outcomes(engine) == [(1, "submitted"), (2, "skipped"), (3, "skipped")]
    assert await finish_jobs(engine) == 1
    await pass_hours(engine, clock, 1)
    assert (await outcomes(engine))[-1] == (4, "submitted")


async def test_a_failed_job_does_not_block_the_next_tick(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine)
    await pass_hours(engine, clock, 1)
    await engine.force((await jobs_of(engine))[0], JobStatus.FAILED, reason="a test")
    await pass_hours(engine, clock, 1)
    assert await outcomes(engine) == [(1, "submitted"), (2, "submitted")]


async def test_queue_one_keeps_one_tick_until_the_job_is_done(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="queue_one")
    await pass_hours(engine, clock, 4)
    assert await outcomes(engine) == [(1, "submitted"), (2, "queued"), (3, "skipped"), (4, "skipped")]
    assert len(await jobs_of(engine)) == 1
    assert await finish_jobs(engine) == 1
    assert await engine.schedules.run_due() == 1
    assert sorted(await outcomes(engine)) == [(1, "submitted"), (2, "submitted"), (3, "skipped"), (4, "skipped")]
    assert await engine.schedules.run_due() == 0
    assert len(await jobs_of(engine)) == 2


async def test_queue_all_runs_every_tick_one_after_the_other(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="queue_all")
    await pass_hours(engine, clock, 4)
    assert [outcome for _, outcome in await outcomes(engine)] == ["submitted", "queued", "queued", "queued"]
    for count in (2, 3, 4):
        assert await finish_jobs(engine) == 1
        await engine.schedules.run_due()
        assert len(await jobs_of(engine)) == count
    order = sorted(await runs(engine), key=lambda run: run.tick)
    assert [run.job_id for run in order] == sorted(run.job_id or 0 for run in order)


async def test_cancel_other_stops_the_active_job(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="cancel_other")
    await pass_hours(engine, clock, 3)
    assert [run.job_status for run in await runs(engine)] == ["cancelled", "cancelled", "pending"]
    first = (await runs(engine))[0].job_id or 0
    assert "schedule hourly" in str((await engine.job(first)).job.reason)


async def test_allow_runs_jobs_beside_each_other(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="allow")
    await pass_hours(engine, clock, 3)
    assert [run.job_status for run in await runs(engine)] == ["pending"] * 3


@pytest.mark.parametrize(
    "catch_up, hours, missed",
    [("latest", [5], 1), ("all", [3, 4, 5], 1), ("none", [], 1)],
)
async def test_catch_up_after_an_outage(
    engine: Engine, clock: FakeClock, catch_up: str, hours: list[int], missed: int
) -> None:
    await a_schedule(engine, catch_up=catch_up, catch_up_window=3 * HOUR, overlap="allow")
    clock.advance(5.5 * HOUR)
    await engine.schedules.run_due()
    found = await outcomes(engine)
    assert sorted(hour for hour, outcome in found if outcome == "submitted") == hours
    (gap,) = [run for run in await runs(engine) if run.outcome is RunOutcome.MISSED]
    assert gap.tick.hour == missed
    assert gap.reason is not None
    assert "2026-01-01T01:00:00Z" in gap.reason
    assert (await engine.schedules.get("hourly")).schedule.next_tick == START + timedelta(hours=6)


async def test_a_window_with_many_ticks_is_caught_up_completely(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, timing="* * * * *", catch_up="all", overlap="allow")
    clock.advance(250 * 60.0)
    assert await engine.schedules.run_due() == 250
    assert len(await jobs_of(engine)) == 250


async def test_a_paused_schedule_runs_nothing_and_resumes_with_the_next_tick(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, catch_up="all")
    paused = await engine.schedules.pause("hourly", "the disk is full")
    assert (paused.paused, paused.note, paused.next_tick) == (True, "the disk is full", None)
    await pass_hours(engine, clock, 3)
    assert await runs(engine) == []
    resumed = await engine.schedules.resume("hourly")
    assert (resumed.paused, resumed.note, resumed.next_tick) == (False, "", START + timedelta(hours=4))
    await pass_hours(engine, clock, 1)
    assert await outcomes(engine) == [(4, "submitted")]


async def test_a_trigger_makes_a_job_at_any_time(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine)
    await pass_hours(engine, clock, 1)
    await engine.schedules.pause("hourly")
    clock.advance(60.0)
    run = await engine.schedules.trigger("hourly")
    assert (run.source, run.outcome, run.job_status) == ("trigger", "submitted", "pending")
    assert run.tick == clock.now
    assert len(await jobs_of(engine)) == 2
    await engine.schedules.trigger("hourly")
    assert len(await jobs_of(engine)) == 3


async def test_a_backfill_is_previewed_and_submits_nothing_twice(engine: Engine, clock: FakeClock) -> None:
    clock.advance(24 * HOUR)
    await a_schedule(engine)
    terms = (START, START + timedelta(hours=5))
    preview = await engine.schedules.backfill("hourly", *terms, dry_run=True)
    assert [tick.hour for tick in preview.ticks] == [0, 1, 2, 3, 4, 5]
    assert (preview.job_ids, await jobs_of(engine)) == ((), [])
    made = await engine.schedules.backfill("hourly", *terms)
    assert len(made.job_ids) == 6
    again = await engine.schedules.backfill("hourly", START, START + timedelta(hours=7))
    assert [tick.hour for tick in again.ticks] == [6, 7]
    assert [tick.hour for tick in again.done] == [0, 1, 2, 3, 4, 5]
    assert len(await jobs_of(engine)) == 8
    assert {run.source for run in await runs(engine)} == {"backfill"}


async def test_a_backfill_runs_one_after_the_other_if_asked(engine: Engine, clock: FakeClock) -> None:
    clock.advance(24 * HOUR)
    await a_schedule(engine)
    made = await engine.schedules.backfill("hourly", START, START + timedelta(hours=3), overlap="queue_all")
    assert (len(made.ticks), len(made.job_ids)) == (4, 1)
    for _ in range(3):
        await finish_jobs(engine)
        await engine.schedules.run_due()
    assert len(await jobs_of(engine)) == 4


async def test_a_skipped_tick_can_be_backfilled(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine)
    await pass_hours(engine, clock, 2)
    made = await engine.schedules.backfill("hourly", START, START + timedelta(hours=2))
    assert [tick.hour for tick in made.ticks] == [0, 2]
    assert [tick.hour for tick in made.done] == [1]


async def test_an_impossible_backfill_is_refused(engine: Engine, clock: FakeClock) -> None:
    clock.advance(24 * HOUR)
    await a_schedule(engine, timing="* * * * *")
    for start, end, options in [
        (START, clock.now + timedelta(seconds=1), {}),
        (clock.now, START, {}),
        (START, START + timedelta(minutes=1001), {}),
        (START, START + timedelta(minutes=1), {"overlap": "skip"}),
        (START, START + timedelta(minutes=1), {"overlap": "nothing"}),
        (datetime(2026, 1, 1), clock.now, {}),  # noqa: DTZ001 - refused for it
    ]:
        with pytest.raises(InvalidRequest):
            await engine.schedules.backfill("hourly", start, end, **options)  # type: ignore[arg-type]
    assert await jobs_of(engine) == []


async def test_jitter_delays_the_job_and_not_the_tick(engine: Engine, clock: FakeClock) -> None:
    made = await a_schedule(engine, jitter=1800.0)
    assert made.next_tick is not None
    assert made.next_run_at is not None
    delay = (made.next_run_at - made.next_tick).total_seconds()
    assert 0 < delay < 1800
    clock.now = made.next_run_at - timedelta(milliseconds=1)
    assert await engine.schedules.run_due() == 0
    clock.advance(0.002)
    assert await engine.schedules.run_due() == 1
    assert [run.tick for run in await runs(engine)] == [made.next_tick]


async def test_a_schedule_ends(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="allow", starts_at=START + timedelta(hours=2), ends_at=START + timedelta(hours=3))
    await pass_hours(engine, clock, 6)
    assert await outcomes(engine) == [(2, "submitted"), (3, "submitted")]
    detail = await engine.schedules.get("hourly")
    assert (detail.schedule.next_tick, detail.upcoming) == (None, ())


async def test_a_bad_schedule_stops_only_itself(engine: Engine, clock: FakeClock) -> None:
    for name in ("a-gone", "b-refused", "c-good"):
        await a_schedule(engine, name, overlap="allow")
    await engine.schedules.update("b-refused", pipeline="parts", spec={"parts": [1]})
    await break_schedule(engine, "a-gone", pipeline="gone")
    await break_schedule(engine, "b-refused", spec='{"parts": "none"}')
    await pass_hours(engine, clock, 2)
    assert await outcomes(engine, "c-good") == [(1, "submitted"), (2, "submitted")]
    for name, reason in (("a-gone", "unknown pipeline 'gone'"), ("b-refused", "spec")):
        found = await runs(engine, name)
        assert [(run.tick.hour, run.outcome) for run in found] == [(1, "failed"), (2, "failed")]
        assert reason in str(found[-1].reason)
    assert len(await jobs_of(engine)) == 2
    await engine.schedules.update("a-gone", pipeline="simple")
    await pass_hours(engine, clock, 1)
    assert (await outcomes(engine, "a-gone"))[-1] == (3, "submitted")


async def test_a_timing_that_manual_sql_broke_stops_only_itself(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, "broken")
    await a_schedule(engine, "good", overlap="allow")
    await break_schedule(engine, "broken", timing="whenever")
    await pass_hours(engine, clock, 2)
    assert [outcome for _, outcome in await outcomes(engine, "broken")] == ["failed"]
    assert [outcome for _, outcome in await outcomes(engine, "good")] == ["submitted"] * 2
    assert (await engine.schedules.update("broken", timing="@hourly")).next_tick == START + timedelta(hours=3)


async def test_a_queued_run_that_is_refused_fails_alone(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="queue_all")
    await pass_hours(engine, clock, 3)
    await break_schedule(engine, "hourly", pipeline="gone")
    await finish_jobs(engine)
    await engine.schedules.run_due()
    assert sorted(await outcomes(engine)) == [(1, "submitted"), (2, "failed"), (3, "failed")]


async def break_schedule(engine: Engine, name: str, **columns: str) -> None:
    """Write columns past every check, as manual SQL could."""
    ((column, value),) = columns.items()
    store = engine.store
    if hasattr(store, "_pool"):
        async with store._pool.connection() as connection:
            await connection.execute(f"UPDATE reelstate.schedules SET {column} = %s WHERE name = %s", [value, name])
    else:
        await store._run_in_thread(  # type: ignore[attr-defined]
            lambda: store._connection.execute(  # type: ignore[attr-defined]
                f"UPDATE schedules SET {column} = ? WHERE name = ?", [value, name]
            )
        )


async def test_a_new_version_of_the_pipeline_is_run_by_the_next_tick(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="allow")
    await pass_hours(engine, clock, 1)
    other = Engine(engine.store)
    await other.declare(Graph.of("simple", [StageSpec(name="renamed")]))
    await pass_hours(engine, clock, 1)
    first, second = [(await engine.job(run.job_id or 0)).job.digest for run in await runs(engine)]
    assert first != second


async def test_wrong_values_are_refused(engine: Engine) -> None:
    await a_schedule(engine)
    wrong: list[dict[str, Any]] = [
        {"name": "hourly"},
        {"name": "a/b"},
        {"name": ""},
        {"name": "x" * 101},
        {"timing": "* * *"},
        {"timezone": "Mars"},
        {"overlap": "perhaps"},
        {"catch_up": "some"},
        {"catch_up_window": 1.0},
        {"jitter": -1.0},
        {"jitter": float("nan")},
        {"priority": 11},
        {"ends_at": START - timedelta(days=1)},
        {"starts_at": START + timedelta(days=2), "ends_at": START + timedelta(days=1)},
        {"starts_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - refused for it
    ]
    for options in wrong:
        with pytest.raises(InvalidRequest):
            await a_schedule(engine, **{"name": "other", **options})
    with pytest.raises(InvalidRequest):
        await engine.schedules.create("other", "gone", "@daily")
    assert [each.name for each in await engine.schedules.all()] == ["hourly"]


async def test_schedules_of_another_owner_are_not_found(engine: Engine) -> None:
    await a_schedule(engine, user_id="ada")
    verbs = engine.schedules
    for call in (
        lambda: verbs.get("hourly", owner="bob"),
        lambda: verbs.update("hourly", owner="bob", priority=1),
        lambda: verbs.pause("hourly", owner="bob"),
        lambda: verbs.resume("hourly", owner="bob"),
        lambda: verbs.trigger("hourly", owner="bob"),
        lambda: verbs.backfill("hourly", START, START, owner="bob"),
        lambda: verbs.delete("hourly", owner="bob"),
    ):
        with pytest.raises(NotFound):
            await call()
    assert await verbs.all(owner="bob") == []
    assert len(await verbs.all(owner="ada")) == 1


async def test_changes_are_in_the_record_of_events(engine: Engine) -> None:
    await a_schedule(engine)
    await engine.schedules.update("hourly", timing="@daily", actor="operator:ada")
    await engine.schedules.pause("hourly", "why not")
    await engine.schedules.resume("hourly")
    await engine.schedules.delete("hourly")
    events = [event for event in (await engine.events()).items if event.entity == "finding"]
    assert [(event.target, event.data["schedule"]) for event in events] == [
        (f"schedule {change}", "hourly") for change in ("created", "updated", "paused", "resumed", "deleted")
    ]
    assert (events[1].actor, events[2].reason) == ("operator:ada", "why not")
    assert (await engine.doctor()).findings == ()


async def test_old_runs_are_deleted_but_not_those_that_wait(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, overlap="queue_one")
    await pass_hours(engine, clock, 3)
    clock.advance(10 * HOUR)
    assert (await engine.retain(Ages(schedule_runs=HOUR))).schedule_runs == 2
    assert await outcomes(engine) == [(2, "queued")]


async def test_a_keeper_that_dies_before_the_commit_has_run_nothing(
    engine: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_schedule(engine)
    clock.advance(HOUR)

    async def die(*_: object) -> None:
        raise StoreUnavailable("the keeper is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Submitter, "submit", die)
        with pytest.raises(StoreUnavailable):
            await engine.schedules.run_due()
    assert await runs(engine) == []
    assert await engine.schedules.run_due() == 1
    assert await outcomes(engine) == [(1, "submitted")]


async def test_the_keeper_runs_ticks(database_url: str) -> None:
    settings = Settings(database_url=database_url, schedules_every=0.05, sweep_every=0.05)
    async with open_engine(database_url, pipelines=[SIMPLE], settings=settings, migrate=False) as engine:
        await engine.schedules.create("often", "simple", "every 1s", overlap="allow")
        keeper = asyncio.create_task(keeper_for(engine, settings, library=False).run())
        try:
            async for event in engine.watch():
                if event.entity == "job":
                    break
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])
        assert (await engine.schedules.get("often")).runs[-1].outcome is RunOutcome.SUBMITTED


async def test_the_schedules_of_a_purged_user_are_deleted(engine: Engine, clock: FakeClock) -> None:
    await a_schedule(engine, "theirs", user_id="ada")
    await a_schedule(engine, "others", user_id="bob")
    await pass_hours(engine, clock, 1)
    (job_id,) = [run.job_id or 0 for run in await runs(engine, "theirs")]
    await engine.cancel(job_id)
    assert (await purge_rows(engine.store, "ada"))["schedules"] == 1
    assert [each.name for each in await engine.schedules.all()] == ["others"]

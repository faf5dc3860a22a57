"""overview: counts, the last hour by minute, and what needs attention, of everybody or of one user."""

from collections import Counter
from datetime import timedelta

import pytest

from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services import activity as activity_module
from reelstate.services import measure as measure_module
from reelstate.services import overview as overview_module
from reelstate.services.activity import MINUTES, ActivityLog, quantile
from reelstate.services.overview import Count, Overview, OverviewTerms, overview, own_overview
from tests.conformance.scenarios import declared, fail_for_good, finish, running_parts, submitted, take_one
from tests.conformance.test_keep import TERMS
from tests.engines import FakeClock, a_worker, failed


async def seen(
    engine: Engine, owner: str | None = None, log: ActivityLog | None = None, queue_age: float = 0.0
) -> Overview:
    log = log or ActivityLog()
    await log.refresh(engine.store)
    terms = OverviewTerms(engine.catalogue, log, queue_age)
    if owner is not None:
        return await own_overview(engine.store, terms, owner)
    return await overview(engine.store, terms, await engine.measure())


def kinds(found: Overview) -> list[str]:
    return [each.kind for each in found.attention if each.kind != "keeper"]


async def test_counts_slots_and_pipelines(engine: Engine, clock: FakeClock) -> None:
    await submitted(engine)
    clock.advance(10)
    await finish(engine, await a_worker(engine, "first", slots=3))
    tasks = await running_parts(engine, 2, user_id="ada")
    waiting = await submitted(engine, user_id="ada")
    clock.advance(30)
    found = await seen(engine)
    assert (found.jobs["completed"], found.jobs["processing"], found.jobs["pending"]) == (Count(1), Count(1), Count(1))
    loads = {load.pipeline: load for load in found.pipelines}
    assert (loads["parts"].running, loads["simple"].ready, loads["simple"].oldest) == (Count(2), Count(1), 30.0)
    assert found.slots is not None
    assert (found.slots.busy, found.slots.workers) == (2, {"active": 2})
    assert [(task.task, task.pipeline) for task in found.oldest] == [(f"{waiting}/main/0", "simple")]
    mine = await seen(engine, "ada")
    assert (mine.jobs["processing"], mine.jobs["pending"], mine.jobs["completed"]) == (Count(1), Count(1), Count(0))
    own = {load.pipeline: (load.ready, load.running) for load in mine.pipelines}
    assert own == {"parts": (Count(0), Count(2)), "simple": (Count(1), Count(0))}
    assert [task.job for task in mine.oldest] == [waiting]
    assert mine.slots is None
    others = await seen(engine, "bob")
    assert (others.pipelines, others.oldest, others.attention) == ([], [], [])
    assert set(others.jobs.values()) == {Count(0)}
    assert len(tasks) == 2


async def test_counts_are_capped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (measure_module, overview_module):
        monkeypatch.setattr(module, "MAX_COUNT", 3)
    for _ in range(5):
        await submitted(engine, user_id="ada")
    assert (await seen(engine)).jobs["pending"] == Count(3, capped=True)
    mine = await seen(engine, "ada")
    assert mine.jobs["pending"] == Count(3, capped=True)
    assert mine.jobs["completed"] == Count(0, capped=True)


async def test_the_last_hour_by_minute(engine: Engine, clock: FakeClock) -> None:
    log = ActivityLog()
    worker = await a_worker(engine)
    await submitted(engine, user_id="ada")
    clock.advance(30)
    await finish(engine, worker)
    first = await seen(engine, log=log)
    assert len(first.activity.minutes) == MINUTES
    assert first.activity.completed[-1] == 1
    clock.advance(60)
    await submitted(engine)
    task = await take_one(engine, worker)
    await fail_for_good(engine, task)
    second = await seen(engine, log=log)
    assert second.activity.completed[-2:] == [1, 0]
    assert second.activity.failed[-2:] == [0, 1]
    assert (second.activity.attempts_done[-2:], second.activity.attempts_failed[-2:]) == ([1, 0], [0, 1])
    assert second.activity.wait_median[-2] is not None
    assert 20 <= second.activity.wait_median[-2] <= 60, "the task waited for 30 s"
    assert second.activity.complete
    mine = await seen(engine, "ada", log)
    assert (mine.activity.completed[-2:], mine.activity.failed[-2:]) == ([1, 0], [0, 0])
    clock.advance(3600)
    assert sum((await seen(engine, log=log)).activity.completed) == 0


async def test_events_are_counted_once_and_skipped_where_there_are_too_many(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await a_worker(engine)
    log = ActivityLog()
    for _ in range(3):
        await submitted(engine)
        await finish(engine, worker)
        await seen(engine, log=log)
    found = await seen(engine, log=log)
    assert found.activity.completed[-1] == 3
    monkeypatch.setattr(activity_module, "MAX_EVENTS", 2)
    for _ in range(3):
        await submitted(engine)
    await finish(engine, worker)
    found = await seen(engine, log=log)
    assert found.activity.completed[-1] == 5, "of three that completed, the last two events were read"
    assert not found.activity.complete


def test_quantiles_lie_in_their_class() -> None:
    waits = Counter({0: 98, 9: 2})
    assert quantile(waits, 0.5) == pytest.approx(0.005, abs=0.002)
    assert 5 <= (quantile(waits, 0.99) or 0) <= 10
    assert quantile(Counter(), 0.5) is None
    assert quantile(Counter({20: 1}), 0.5) == 14400.0


async def test_attention_names_the_jobs_that_stopped(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    jobs = []
    for error in ("it broke", "no such file"):
        jobs.append(await submitted(engine, user_id="ada"))
        await engine.fail([failed(await take_one(engine, worker), retryable=False, error={"message": error})])
    quarantined = await submitted(engine, user_id="bob")
    await engine.quarantine(quarantined, reason="looks odd")
    found = {each.kind: each for each in (await seen(engine)).attention}
    assert found["failed"].jobs == tuple(reversed(jobs))
    assert found["failed"].title == "2 jobs failed in the last 24 hours"
    assert "no such file" in found["failed"].detail
    assert (found["quarantined"].jobs, found["quarantined"].detail) == ((quarantined,), "looks odd")
    mine = {each.kind: each.jobs for each in (await seen(engine, "ada")).attention}
    assert mine == {"failed": tuple(reversed(jobs))}
    clock.now += timedelta(days=2)
    assert kinds(await seen(engine)) == ["quarantined"]


async def test_attention_counts_up_to_a_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_module, "MAX_LISTED", 2)
    for _ in range(4):
        await engine.quarantine(await submitted(engine, user_id="ada"), reason="why")
    for owner in (None, "ada"):
        (found,) = [each for each in (await seen(engine, owner)).attention if each.kind == "quarantined"]
        assert (found.count, found.title) == (Count(2, capped=True), "more than 2 jobs quarantined")


async def test_attention_names_what_no_worker_can_run(engine: Engine) -> None:
    await declared(engine, "fast", StageSpec(name="main", needs=frozenset({"gpu"})))
    await a_worker(engine, "plain", pipelines=["fast", "simple"])
    job = await submitted(engine, "fast")
    (found,) = [each for each in (await seen(engine)).attention if each.kind == "no_worker"]
    assert (found.title, found.jobs, found.pipeline) == ("no worker runs fast with gpu", (job,), "fast")
    await a_worker(engine, "with-gpu", pipelines=["fast"], capabilities=["gpu"])
    assert kinds(await seen(engine)) == []
    await engine.disable("with-gpu")
    assert kinds(await seen(engine)) == ["no_worker"]


async def test_attention_names_a_stuck_queue_unless_it_is_paused(engine: Engine, clock: FakeClock) -> None:
    await a_worker(engine, pipelines=["simple"])
    await submitted(engine)
    clock.advance(601)
    found = await seen(engine, queue_age=600)
    assert kinds(found) == ["stuck"]
    assert "1 tasks are ready, the oldest for 10 min" in [each.detail for each in found.attention]
    await engine.pause(pipeline="simple", reason="new driver", actor="operator:ann")
    paused = [each for each in (await seen(engine, queue_age=600)).attention if each.kind != "keeper"]
    assert [(each.kind, each.title) for each in paused] == [
        ("paused", 'pipeline simple is paused by operator:ann: "new driver"')
    ]


async def test_a_missing_keeper_needs_attention(engine: Engine, clock: FakeClock) -> None:
    await engine.lead("one", swept=True, **TERMS)
    assert [each.kind for each in (await seen(engine)).attention] == []
    clock.advance(61)
    (found,) = (await seen(engine)).attention
    assert (found.kind, found.title) == ("keeper", "no keeper runs")
    assert found.detail.startswith("last sweep 61 s ago")

"""keep: who leads, what follows a pause of all keepers, and how findings are recorded. The time is the test's."""

from datetime import timedelta
from typing import Any

import pytest

from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Reclaimed
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services.keep import MAX_GRACE, Keepers
from tests.conformance.scenarios import (
    LEASE,
    a_running_task,
    declared,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done
from tests.manual_sql import ManualSql

NOTHING = Reclaimed(ready=0, failed=0, stopped=0, quarantined=())
TERMS = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
MACHINE = "this boot"


async def grace_of(engine: Engine, keeper: str = "one", **terms: Any) -> float:
    return (await engine.lead(keeper, **{**TERMS, **terms})).grace


async def leads(engine: Engine, keeper: str, **terms: Any) -> bool:
    return (await engine.lead(keeper, **{**TERMS, **terms})).leads


# Who leads


async def test_the_first_keeper_leads_and_the_second_does_not(engine: Engine) -> None:
    assert await leads(engine, "one")
    assert not await leads(engine, "two")
    assert await leads(engine, "one")
    assert (await engine.keepers()).leader == "one"


async def test_a_leader_that_does_not_renew_is_replaced_when_its_lead_expires(engine: Engine, clock: FakeClock) -> None:
    await leads(engine, "one")
    clock.advance(9.9)
    assert not await leads(engine, "two")
    clock.advance(0.1)
    assert (await engine.keepers()).leader is None
    assert await leads(engine, "two")
    assert not await leads(engine, "one")


async def test_a_leader_that_renews_keeps_the_lead(engine: Engine, clock: FakeClock) -> None:
    for _ in range(5):
        assert await leads(engine, "one")
        clock.advance(6)
        assert not await leads(engine, "two")


async def test_a_keeper_that_leaves_is_replaced_at_once(engine: Engine) -> None:
    await leads(engine, "one")
    await engine.leave("two")
    assert not await leads(engine, "two")
    await engine.leave("one")
    assert await leads(engine, "two")


async def test_a_lead_ends_even_when_the_clock_is_set_back(engine: Engine, clock: FakeClock) -> None:
    await leads(engine, "one")
    clock.advance(-3600)
    assert await leads(engine, "two")


async def test_keepers_go_on_when_their_row_was_deleted(engine: Engine, manual_sql: ManualSql) -> None:
    assert await leads(engine, "one")
    manual_sql.run("DELETE FROM keeper")
    assert await engine.keepers() == Keepers()
    assert await leads(engine, "two")


async def test_the_times_of_the_last_keeper_and_of_the_last_sweep_are_recorded(
    engine: Engine, clock: FakeClock
) -> None:
    assert await engine.keepers() == Keepers()
    await engine.lead("one", **TERMS)
    assert await engine.keepers() == Keepers(leader="one", seen_at=clock.now)
    clock.advance(5)
    await engine.lead("one", swept=True, **TERMS)
    swept = clock.now
    clock.advance(5)
    await engine.lead("two", **TERMS)
    assert await engine.keepers() == Keepers(leader="one", seen_at=clock.now, swept_at=swept)


# The grace after a gap


async def test_a_new_database_has_no_gap(engine: Engine) -> None:
    assert await grace_of(engine) == 0


async def test_a_pause_up_to_the_gap_is_no_gap(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(60)
    assert await grace_of(engine) == 0


async def test_a_longer_pause_of_all_keepers_is_followed_by_a_grace(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(61)
    lead = await engine.lead("two", **TERMS)
    assert (lead.grace, lead.began) == (120, True)
    assert (await engine.keepers()).grace_until == clock.now + timedelta(seconds=120)
    clock.advance(119)
    lead = await engine.lead("one", **{**TERMS, "gap": 1000})
    assert (lead.grace, lead.began) == (1, False)
    clock.advance(1)
    assert await grace_of(engine, gap=1000) == 0


async def test_the_pause_of_one_keeper_is_no_gap(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine, "one")
    for _ in range(3):
        clock.advance(50)
        assert await grace_of(engine, "two") == 0
    assert await grace_of(engine, "one") == 0


async def test_a_restart_neither_forgets_a_grace_nor_begins_it_anew(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(1000)
    await grace_of(engine)
    for restart in range(1, 12):
        clock.advance(10)
        assert await grace_of(engine, f"after restart {restart}") == 120 - 10 * restart
    clock.advance(10)
    assert await grace_of(engine) == 0


async def test_a_restart_loop_can_not_suspend_the_sweep_for_ever(engine: Engine, clock: FakeClock) -> None:
    """A keeper that is here for a moment every 61 seconds: within no hour is there more grace than is allowed."""
    await grace_of(engine)
    graces: list[tuple[float, float]] = []
    for restart in range(1, 600):
        clock.advance(61)
        left = await grace_of(engine, f"after restart {restart}")
        graces.append((61.0 * restart, left))
    covered = union(graces)
    for start, _ in covered:
        within = sum(max(0.0, min(end, start + 3600) - begin) for begin, end in covered if begin >= start)
        assert within <= MAX_GRACE
    assert len(covered) > 5, "after an hour without, there is grace again"


def union(graces: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans of time in which a grace held."""
    spans: list[tuple[float, float]] = []
    for at, left in graces:
        if spans and at <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], at + left))
        elif left:
            spans.append((at, at + left))
    return spans


async def test_a_gap_within_a_grace_makes_it_longer_and_counts_once(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(61)
    await grace_of(engine)
    clock.advance(61)
    assert await grace_of(engine) == 120
    lefts = []
    for _ in range(10):
        clock.advance(61)
        lefts.append(await grace_of(engine))
    assert lefts == [120] * 6 + [112, 51, 0, 0], "120 seconds, and 480 more in steps of 61"


async def test_a_longer_grace_than_is_allowed_is_cut(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(61)
    assert await grace_of(engine, grace=3600.0) == MAX_GRACE


async def test_a_grace_ends_when_the_clock_is_set_back(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    clock.advance(86_400)
    assert await grace_of(engine) == 120
    clock.advance(-86_400)
    assert await grace_of(engine) == 0


async def test_in_the_grace_no_lease_is_taken_back_because_it_expired(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    task = await a_running_task(engine)
    clock.advance(100)
    await grace_of(engine)
    assert await engine.reclaim(gap=60) == NOTHING
    for _ in range(5):
        clock.advance(10)
        await grace_of(engine)
        assert await engine.reclaim(gap=60) == NOTHING
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING
    clock.advance(10)
    await grace_of(engine)
    assert (await engine.reclaim(gap=60)).ready == 1


async def test_a_sweep_that_was_held_up_by_an_outage_takes_nothing(engine: Engine, clock: FakeClock) -> None:
    """The keeper looked for a grace before the outage of the database and runs its statement after it."""
    await grace_of(engine)
    await a_running_task(engine)
    clock.advance(61)
    assert await engine.reclaim(gap=60) == NOTHING
    assert await grace_of(engine) == LEASE


# Dead workers


async def a_local_worker(engine: Engine, name: str = "worker", **options: Any) -> int:
    process = {"machine": options.pop("machine", MACHINE), "pid": 1, "started": 2}
    return await a_worker(engine, name, metadata={"process": process}, **options)


async def status_of_worker(engine: Engine, worker: int) -> str:
    (found,) = [row for row in await engine.workers() if row.id == worker]
    return found.status


async def test_a_dead_worker_loses_its_leases_at_once(engine: Engine, clock: FakeClock) -> None:
    dead, other = await a_local_worker(engine, "dead"), await a_worker(engine, "other")
    await submitted(engine, "parts", {"parts": 3})
    lost = await take_one(engine, dead)
    kept = await take_one(engine, other)
    assert await engine.reclaim(dead=[dead]) == Reclaimed(ready=1, failed=0, stopped=0, quarantined=())
    row = await task_at(engine, lost.key)
    assert (row.status, row.reason, row.lost, row.attempt) == (TaskStatus.READY, "worker died", 1, 1)
    assert (await task_path(engine, lost.key))[-1] == ("running", "ready", "keeper")
    assert (await task_at(engine, kept.key)).status is TaskStatus.RUNNING
    assert await engine.reclaim(dead=[dead]) == NOTHING


async def test_a_dead_worker_is_marked_offline_with_the_reason(engine: Engine) -> None:
    dead, other = await a_local_worker(engine, "dead"), await a_worker(engine, "other")
    await engine.reclaim(dead=[dead])
    assert await status_of_worker(engine, dead) == "offline"
    assert await status_of_worker(engine, other) == "active"
    event = (await engine.worker_history(dead))[-1]
    assert (event.target, event.actor, event.reason) == ("offline", "keeper", "its process is gone")
    await engine.reclaim(dead=[dead])
    assert len(await engine.worker_history(dead)) == event.version


async def test_a_late_report_of_a_dead_worker_is_refused(engine: Engine) -> None:
    dead = await a_local_worker(engine)
    await submitted(engine)
    old = await take_one(engine, dead)
    await engine.reclaim(dead=[dead])
    new = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.complete([done(old, "late")]) == ["lost"]
    assert await engine.complete([done(new, "right")]) == ["ok"]


async def test_in_the_grace_dead_workers_still_lose_their_leases(engine: Engine, clock: FakeClock) -> None:
    await grace_of(engine)
    dead = await a_local_worker(engine, "dead")
    await running_parts(engine, 1)
    await submitted(engine)
    await take(engine, dead)
    clock.advance(100)
    assert await grace_of(engine) == LEASE
    assert (await engine.reclaim(dead=[dead], gap=60)).ready == 1


async def test_expired_leases_stay_when_only_dead_workers_are_swept(engine: Engine, clock: FakeClock) -> None:
    dead = await a_local_worker(engine, "dead")
    await running_parts(engine, 2)
    await submitted(engine)
    await take(engine, dead)
    clock.advance(61)
    assert (await engine.reclaim(dead=[dead], expired=False)).ready == 1
    assert (await engine.reclaim(expired=False)).ready == 0
    assert (await engine.reclaim()).ready == 2


async def test_leases_of_dead_workers_are_reclaimed_in_steps_too(engine: Engine) -> None:
    dead = await a_local_worker(engine)
    await submitted(engine, "parts", {"parts": 5})
    await take(engine, dead)
    assert [(await engine.reclaim(dead=[dead], limit=2)).ready for _ in range(4)] == [2, 2, 1, 0]


async def test_a_stall_or_timeout_of_a_dead_worker_is_a_loss_all_the_same(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "own", StageSpec(name="main", stall_after=10, timeout=20))
    await submitted(engine, "own")
    dead = await a_local_worker(engine)
    task = await take_one(engine, dead)
    clock.advance(30)
    await engine.reclaim(dead=[dead])
    row = await task_at(engine, task.key)
    assert (row.reason, row.lost) == ("worker died", 1)


async def test_a_poison_task_is_quarantined_however_fast_its_workers_are_found_dead(engine: Engine) -> None:
    await declared(engine, "deadly", StageSpec(name="main", attempts=10, isolate_after=1))
    job_id = await submitted(engine, "deadly")
    swept = []
    for number in (1, 2, 3):
        worker = await a_local_worker(engine, f"victim{number}", slots=1)
        await take_one(engine, worker)
        swept.append((await engine.reclaim(dead=[worker])).quarantined)
    assert swept == [(), (), (job_id,)]
    job = (await engine.job(job_id)).job
    assert job.status is JobStatus.QUARANTINED
    assert (job.error["cause"]["type"], job.error["cause"]["message"]) == ("lost", "worker died")
    assert await task_statuses(engine, job_id) == [TaskStatus.ERROR]


async def test_neighbours_are_the_workers_of_this_machine_that_may_hold_something(engine: Engine) -> None:
    active = await a_local_worker(engine, "active")
    draining = await a_local_worker(engine, "draining")
    await engine.drain("draining")
    idle_offline = await a_local_worker(engine, "idle")
    holder = await a_local_worker(engine, "holder")
    await submitted(engine)
    await take_one(engine, holder)
    for worker in (idle_offline, holder):
        await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    await a_local_worker(engine, "far", machine="another boot")
    await a_local_worker(engine, "remote", kind="remote")
    await a_worker(engine, "plain")
    await a_worker(engine, "odd", metadata={"process": "none"})
    await a_worker(engine, "odder", metadata=["process"])
    identity = {"machine": MACHINE, "pid": 1, "started": 2}
    assert await engine.neighbours(MACHINE) == [(active, identity), (draining, identity), (holder, identity)]


# Old instances


async def test_instances_long_offline_are_forgotten_and_their_events_stay(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "long", StageSpec(name="main", lease=86_400))
    old, busy, fresh, alive = [await a_worker(engine, name) for name in ("old", "busy", "fresh", "alive")]
    await submitted(engine, "long")
    await take_one(engine, busy)
    for worker in (old, busy):
        await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    clock.advance(100)
    await engine.move_worker(fresh, WorkerStatus.OFFLINE, actor="worker")
    assert await engine.prune_workers(older=100) == []
    clock.advance(1)
    assert await engine.prune_workers(older=100) == [old]
    assert [worker.id for worker in await engine.workers()] == [busy, fresh, alive]
    assert [event.target for event in await engine.worker_history(old)] == ["active", "offline"]


async def test_a_name_keeps_its_flag_when_its_instances_are_forgotten(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine, "bad")
    await engine.disable("bad")
    await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    clock.advance(11)
    assert await engine.prune_workers(older=10) == [worker]
    with pytest.raises(Exception, match="disabled"):
        await a_worker(engine, "bad")


# Findings


async def finding_events(engine: Engine) -> list[Event]:
    return [event for event in (await engine.events(limit=10_000)).items if event.entity == "finding"]


async def test_a_finding_is_logged_and_recorded_once_while_it_stands(
    engine: Engine, manual_sql: ManualSql, caplog: pytest.LogCaptureFixture
) -> None:
    task = await a_running_task(engine)
    assert await engine.check() == []
    manual_sql.run("DELETE FROM workers")
    (found,) = await engine.check()
    assert (found.check, found.job_id) == ("unknown_worker", task.key.job_id)
    assert await engine.check() == []
    (event,) = await finding_events(engine)
    assert (event.version, event.origin, event.target, event.actor) == (1, None, "found", "keeper")
    assert event.data == {"check": "unknown_worker", "job_id": task.key.job_id, "stage": 0, "part": 0}
    assert event.reason == found.detail
    assert (event.job_id, event.worker_id) == (None, None)
    logged = [record.getMessage().split(" ")[:2] for record in caplog.records]
    assert logged == [["finding", "check=unknown_worker"]]
    await engine.doctor(repair=True)


async def test_what_was_repaired_is_recorded_and_may_be_found_again(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine)
    for _ in range(2):
        await take(engine, await a_worker(engine))
        manual_sql.run("DELETE FROM workers")
        assert len(await engine.check()) == 1
        await engine.doctor(repair=True)
        assert await engine.check() == []
    events = await finding_events(engine)
    assert [(event.version, event.origin, event.target) for event in events] == [
        (1, None, "found"),
        (2, "found", "gone"),
        (3, None, "found"),
        (4, "found", "gone"),
    ]
    assert {event.data["job_id"] for event in events} == {job_id}
    assert "finding" not in {event.entity for event in (await engine.history(job_id)).items}


async def test_each_missing_guard_is_a_finding_of_its_own(engine: Engine, manual_sql: ManualSql) -> None:
    manual_sql.drop_guards()
    missing = await engine.check()
    assert len(missing) > 5
    assert {finding.check for finding in missing} == {"guards"}
    assert [event.version for event in await finding_events(engine)] == list(range(1, len(missing) + 1))
    assert await engine.check() == []
    assert (await engine.doctor(repair=True)).healthy
    await engine.check()
    assert {event.target for event in (await finding_events(engine))[len(missing) :]} == {"gone"}
    assert len(await finding_events(engine)) == 2 * len(missing)


async def test_events_of_findings_are_numbered_without_a_gap_after_old_ones_are_gone(
    engine: Engine, manual_sql: ManualSql
) -> None:
    manual_sql.drop_guards()
    count = len(await engine.check())
    manual_sql.run("DELETE FROM events WHERE entity = 'finding'")
    await engine.doctor(repair=True)
    await engine.check()
    assert [event.version for event in await finding_events(engine)] == list(range(count + 1, 2 * count + 1))


def test_the_record_of_findings_takes_no_number_twice(engine: Engine, manual_sql: ManualSql) -> None:
    insert = "INSERT INTO events (entity, version, target, actor) VALUES ('finding', 1, 'found', 'keeper')"
    manual_sql.run(insert)
    with pytest.raises(Exception, match=r"only ever added|duplicate key"):
        manual_sql.run(insert)

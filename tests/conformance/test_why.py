"""why: each cause that keeps a job or a task from running is named, until it runs."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.pipeline import StageSpec
from reelstate.core.why import CAP, Reason, ReasonKind
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    LEASE,
    declared,
    fail_for_good,
    finish,
    lose,
    progress,
    running_parts,
    submitted,
    take,
    take_one,
)
from tests.conformance.test_bad_job import LOST, lose_pipeline
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql

KEEPER = {"lead": 10.0, "gap": 60.0, "grace": 120.0}


async def reasons(engine: Engine, job_id: int, **asked: Any) -> list[Reason]:
    return list((await engine.why(job_id, **asked)).reasons)


async def kinds(engine: Engine, job_id: int, **asked: Any) -> list[str]:
    return [str(reason.kind) for reason in await reasons(engine, job_id, **asked)]


async def the_reason(engine: Engine, job_id: int, **asked: Any) -> Reason:
    (reason,) = await reasons(engine, job_id, **asked)
    return reason


async def runs_next(engine: Engine, worker: int, job_id: int) -> None:
    """The cause is gone: the next claim takes a task of the job, and the answer is that it runs."""
    assert job_id in {task.key.job_id for task in await take(engine, worker)}
    explained = await engine.why(job_id)
    assert explained.runs
    assert explained.reasons[0].kind is ReasonKind.RUNS


async def sweep(engine: Engine) -> None:
    await engine.lead("keeper", swept=True, **KEEPER)


# It runs, or it is about to


async def test_it_runs(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine, "w7")
    job_id = await submitted(engine)
    task = await take_one(engine, worker)
    clock.advance(5)
    await engine.report(worker, [progress(task, percent=10)])
    clock.advance(40)
    found = await the_reason(engine, job_id)
    text = "main/0: runs on w7, attempt 1 of 3, last progress 40 s ago, its lease is valid for 20 s more"
    assert (found.kind, str(found)) == (ReasonKind.RUNS, text)
    assert found.data["workers"] == ["w7"]
    assert found.data["progress_seconds"] == 40
    assert found.data["lease_expires_at"] == clock.now + timedelta(seconds=20)
    assert await kinds(engine, job_id, stage="main", part=0) == ["runs"]


async def test_many_parts_run_on_some_workers(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 30)
    clock.advance(7)
    found = await the_reason(engine, tasks[0].key.job_id)
    assert (found.tasks, found.more, found.data["progress_seconds"]) == (30, False, 7)
    assert str(found) == "30 tasks of part: run on worker, the slowest with its last progress 7 s ago"


async def test_it_is_ready_and_the_next_claim_takes_it(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    first, second = await submitted(engine), await submitted(engine)
    clock.advance(3)
    found = await the_reason(engine, second)
    assert (found.kind, found.data["before"], found.data["seconds"]) == (ReasonKind.READY, 1, 3)
    assert str(found) == "main/0: ready for 3 s; a worker should claim it next; 1 task before it"
    assert (await the_reason(engine, first)).data["before"] == 0
    await runs_next(engine, worker, second)


# It waits for a stage or for a time


async def test_it_waits_for_a_stage(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine, "fan")
    found = await the_reason(engine, job_id, stage="pack")
    assert str(found) == "pack: waits for stage work (not open yet)"
    assert await kinds(engine, job_id) == ["ready", "stage"]
    await engine.complete([done(await take_one(engine, worker), {"items": [1, 2, 3]})])
    (one, *_) = await take(engine, worker)
    await engine.complete([done(one)])
    found = await the_reason(engine, job_id, stage="pack", part=0)
    assert (found.kind, found.sentence) == (ReasonKind.STAGE, "waits for stage work (1 of 3 done)")
    assert found.data["stages"] == [{"stage": "work", "done": 1, "total": 3}]
    assert await kinds(engine, job_id) == ["runs", "stage"]
    assert await kinds(engine, job_id, stage="work", part=0) == ["done"]
    assert await kinds(engine, job_id, stage="plan") == ["done"]
    await engine.complete([done(task) for task in (await engine.claimed(worker, [])).tasks])
    assert await kinds(engine, job_id, stage="pack") == ["ready"]
    await runs_next(engine, worker, job_id)


async def test_it_is_delayed(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine, delay=7200)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["seconds"]) == (ReasonKind.DELAYED, 7200)
    assert found.sentence == "delayed until 2026-01-01 02:00:00 UTC, in 2 h"
    clock.advance(7200)
    assert await kinds(engine, job_id) == ["due", "keeper"]
    await engine.orchestrate()
    await runs_next(engine, worker, job_id)


async def test_a_retry_is_due_in_a_while_and_then_waits_for_a_keeper(engine: Engine, clock: FakeClock) -> None:
    name = await declared(engine, "flaky", StageSpec(name="main"))
    worker = await a_worker(engine)
    job_id = await submitted(engine, name)
    error = {"type": "ValueError", "message": "no audio\nin the file"}
    await engine.fail([failed(await take_one(engine, worker), error=error, retry_in=12.0)])
    await sweep(engine)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["seconds"], found.data["attempt"]) == (ReasonKind.RETRY, 12, 1)
    assert found.sentence == "retry due in 12 s (attempt 1 of 3 failed: ValueError: no audio in the file)"
    clock.advance(15)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["seconds"]) == (ReasonKind.DUE, -3)
    clock.advance(60)
    assert await kinds(engine, job_id) == ["due", "keeper"]
    await engine.orchestrate()
    await runs_next(engine, worker, job_id)


# It is paused


@pytest.mark.parametrize(
    "target",
    [
        {"everything": True},
        {"pipeline": "simple"},
        {"pipeline": "simple", "stage": "main"},
        {"user_id": "ada"},
    ],
    ids="-".join,
)
async def test_it_is_paused(engine: Engine, target: dict[str, Any]) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine, user_id="ada")
    paused = await engine.pause(**target, reason="new driver", actor="operator:ann")
    other = await engine.pause(pipeline="fan")
    assert other.changed
    found = await the_reason(engine, job_id)
    assert (found.kind, found.sentence) == (ReasonKind.PAUSED, str(paused.pause))
    assert (found.data["pause"], found.data["actor"], found.data["reason"]) == (
        paused.pause.id,
        "operator:ann",
        "new driver",
    )
    assert await take(engine, worker) == []
    assert await kinds(engine, job_id, stage="main", part=0) == ["paused"], "also when it is parked"
    await engine.resume(**target)
    await runs_next(engine, worker, job_id)


async def test_every_pause_that_holds_it_is_named(engine: Engine) -> None:
    job_id = await submitted(engine, user_id="ada")
    for target in ({"user_id": "ada"}, {"pipeline": "simple"}, {"user_id": "bob"}):
        await engine.pause(**target)  # type: ignore[arg-type]
    assert await kinds(engine, job_id) == ["paused", "paused", "no_worker"]


async def test_every_worker_that_could_run_it_is_paused_by_name(engine: Engine) -> None:
    worker = await a_worker(engine, "w7")
    job_id = await submitted(engine)
    paused = await engine.pause(worker="w7", reason="new fan", actor="operator:ann")
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["pauses"], found.data["workers"]) == (
        ReasonKind.WORKERS_PAUSED,
        [paused.pause.id],
        ["w7"],
    )
    assert "new fan" in found.sentence
    other = await a_worker(engine, "w8")
    assert await kinds(engine, job_id) == ["ready"]
    assert await take(engine, worker) == []
    await runs_next(engine, other, job_id)


async def test_a_parked_task_whose_pause_was_lifted_returns(engine: Engine, manual_sql: ManualSql) -> None:
    await a_worker(engine)
    job_id = await submitted(engine, user_id="ada")
    await engine.pause(user_id="ada")
    manual_sql.run("UPDATE pauses SET resumed_at = paused_at")
    assert await kinds(engine, job_id) == ["resuming", "keeper"]
    await engine.settle_pauses()
    assert await kinds(engine, job_id) == ["ready"]


# No worker can run it


async def test_no_live_worker_serves_the_pipeline(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine)
    assert (await the_reason(engine, job_id)).sentence == "no live worker serves pipeline simple"
    await a_worker(engine, "other", pipelines=["fan"])
    assert await kinds(engine, job_id) == ["no_worker"]
    await a_worker(engine, "off")
    await a_worker(engine, "drained")
    await a_worker(engine, "banned")
    await engine.drain("drained")
    await engine.disable("banned")
    clock.advance(46)
    found = await the_reason(engine, job_id)
    assert found.data["obstacles"] == {"disabled": 1, "draining": 1, "silent": 1}
    expected = "no live worker serves pipeline simple (3 could: 1 disabled: banned; 1 draining: drained; 1 silent: off)"
    assert found.sentence == expected
    await engine.reclaim_workers()
    assert (await the_reason(engine, job_id)).data["obstacles"] == {"offline": 3}
    await runs_next(engine, await a_worker(engine, "new"), job_id)


async def test_no_live_worker_has_what_it_needs(engine: Engine) -> None:
    name = await declared(engine, "av1", StageSpec(name="main", needs=frozenset({"encoder:libsvtav1"})))
    job_id = await submitted(engine, name)
    await a_worker(engine, "w1")
    assert (await the_reason(engine, job_id)).sentence == "no live worker has encoder:libsvtav1"
    able = {"capabilities": {"encoder:libsvtav1"}}
    await a_worker(engine, "w2", **able)
    await engine.drain("w2")
    found = await the_reason(engine, job_id)
    assert found.sentence == "no live worker has encoder:libsvtav1 (1 could: 1 draining: w2)"
    assert (found.data["needs"], found.data["could"]) == (["encoder:libsvtav1"], 1)
    worker = await a_worker(engine, "w3", **able)
    await runs_next(engine, worker, job_id)


# Workers could, and do not


async def test_all_slots_are_busy(engine: Engine) -> None:
    worker = await a_worker(engine, "w1", slots=1)
    running = await submitted(engine)
    task = await take_one(engine, worker)
    waiting = [await submitted(engine) for _ in range(3)]
    urgent = await submitted(engine, priority="critical")
    found = await the_reason(engine, waiting[2])
    assert (found.kind, found.data["before"], found.data["slots"]) == (ReasonKind.BUSY, 3, 1)
    assert found.sentence == "1 worker could run it, with 1 slot, all busy; 3 tasks before it"
    assert (await the_reason(engine, urgent)).data["before"] == 0
    await engine.complete([done(task)])
    assert await kinds(engine, running) == ["completed"]
    assert await kinds(engine, waiting[2]) == ["ready"]
    await runs_next(engine, worker, waiting[2])


async def test_tasks_before_it_are_counted_over_all_lanes_of_the_workers(engine: Engine) -> None:
    await a_worker(engine, "w1", slots=1)
    await submitted(engine, "fan", priority="critical")
    await a_worker(engine, "w2", pipelines=["parts"])
    await submitted(engine, "parts", {"parts": 20}, priority="critical")
    job_id = await submitted(engine)
    assert (await the_reason(engine, job_id)).data["before"] == 21
    await engine.drain("w1")
    await a_worker(engine, "w3", pipelines=["simple"])
    assert (await the_reason(engine, job_id)).data["before"] == 0


async def test_handlers_that_do_not_stop_hold_the_slots(engine: Engine) -> None:
    worker = await a_worker(engine, "w1", slots=2)
    await engine.report(worker, stuck=2)
    job_id = await submitted(engine)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["stuck"]) == (ReasonKind.STUCK, 2)
    await engine.report(worker, stuck=1)
    assert await kinds(engine, job_id) == ["ready"]
    await runs_next(engine, worker, job_id)


async def test_it_is_kept_for_a_worker_that_its_lane_prefers(engine: Engine, clock: FakeClock) -> None:
    name = await declared(engine, "pictures", StageSpec(name="main", prefers=frozenset({"gpu"})))
    job_id = await submitted(engine, name)
    cpu = await a_worker(engine, "cpu")
    assert await kinds(engine, job_id) == ["ready"]
    gpu = await a_worker(engine, "gpu", capabilities={"gpu"}, slots=1)
    clock.advance(12)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["seconds"], found.data["workers"]) == (ReasonKind.PREFERRED, 48, ["gpu"])
    assert await take(engine, cpu) == []
    clock.advance(48)
    await engine.report(gpu)
    await engine.report(cpu)
    assert await kinds(engine, job_id) == ["ready"]
    await runs_next(engine, cpu, job_id)


async def test_an_isolated_task_waits_for_an_empty_worker(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine, "w1")
    job_id = await submitted(engine)
    await take_one(engine, worker)
    await lose(engine, clock)
    other = await submitted(engine, "fan")
    assert [task.key.job_id for task in await take(engine, worker, pipelines=["fan"])] == [other]
    await engine.report(worker)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["lost"], found.data["workers"]) == (ReasonKind.ISOLATED, 1, ["w1"])
    await engine.cancel(other)
    assert await kinds(engine, job_id) == ["ready"]
    await runs_next(engine, worker, job_id)
    behind = await submitted(engine)
    assert await kinds(engine, behind) == ["behind_isolated"]
    assert await take(engine, worker) == []


# Its worker was lost, or it makes no progress


async def test_its_lease_has_expired_and_a_keeper_takes_it_back(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine, "w7")
    job_id = await submitted(engine)
    await take_one(engine, worker)
    clock.advance(LEASE + 12)
    await sweep(engine)
    explained = await engine.why(job_id)
    assert not explained.runs
    (found,) = explained.reasons
    assert (found.kind, found.data["seconds"], found.data["workers"]) == (ReasonKind.LEASE_EXPIRED, 12, ["w7"])
    clock.advance(70)
    expired, keeper = await reasons(engine, job_id)
    assert (expired.kind, keeper.kind, keeper.data["seconds"]) == (ReasonKind.LEASE_EXPIRED, ReasonKind.KEEPER, 70)
    assert "for 1 min 10 s" in keeper.sentence
    await engine.reclaim()
    await engine.report(worker)
    assert await kinds(engine, job_id) == ["ready"]


async def test_after_an_outage_keepers_take_back_no_lease_for_a_while(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine)
    await sweep(engine)
    await take_one(engine, await a_worker(engine))
    clock.advance(1000)
    await engine.lead("keeper", swept=True, **KEEPER)
    expired, keeper = await reasons(engine, job_id)
    assert (expired.kind, keeper.kind, keeper.data["seconds"]) == (ReasonKind.LEASE_EXPIRED, ReasonKind.KEEPER, 60)


async def test_a_run_without_progress_is_flagged_and_still_runs(engine: Engine, clock: FakeClock) -> None:
    name = await declared(engine, "slow", StageSpec(name="main", stall_after=10.0, stall_action="flag"))
    worker = await a_worker(engine)
    job_id = await submitted(engine, name)
    await take_one(engine, worker)
    clock.advance(11)
    await engine.flag_stalled()
    clock.advance(4)
    runs, flagged = await reasons(engine, job_id)
    assert (runs.kind, flagged.kind, flagged.data["seconds"]) == (ReasonKind.RUNS, ReasonKind.FLAGGED, 4)
    assert "no progress for 10 s" in flagged.sentence


# It has stopped or finished


async def test_it_has_failed_for_good(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine)
    await fail_for_good(engine, await take_one(engine, worker))
    found = await the_reason(engine, job_id)
    assert (found.kind, found.sentence) == (ReasonKind.FAILED, "failed for good at main/0: it broke")
    task = (await reasons(engine, job_id, stage="main", part=0))[1]
    assert task.sentence == "failed for good, attempt 1 of 3: it broke"
    await engine.retry(job_id)
    await runs_next(engine, worker, job_id)


async def test_other_tasks_of_a_failed_job_run_on(engine: Engine) -> None:
    tasks = await running_parts(engine, 3)
    job_id = tasks[0].key.job_id
    await fail_for_good(engine, tasks[0])
    assert await kinds(engine, job_id) == ["runs", "failed"]


async def test_it_is_quarantined_with_a_reason(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine)
    await engine.quarantine(job_id, reason="look at it", actor="operator:ann")
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["reason"], found.data["actor"]) == (
        ReasonKind.QUARANTINED,
        "look at it",
        "operator:ann",
    )
    task = (await reasons(engine, job_id, stage="main", part=0))[1]
    assert task.sentence == "it waits, because its job is quarantined"
    await engine.retry(job_id)
    await runs_next(engine, worker, job_id)


async def test_it_is_cancelled_completed_or_archived(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    cancelled, completed = await submitted(engine), await submitted(engine)
    await engine.cancel(cancelled, reason="not needed", actor="user:ada")
    await finish(engine, worker)
    found = await the_reason(engine, cancelled)
    assert (found.kind, found.sentence) == (ReasonKind.CANCELLED, "cancelled by user:ada: not needed")
    assert await kinds(engine, completed) == ["completed"]
    clock.advance(400 * 86_400)
    await engine.archive(older=1)
    assert await kinds(engine, completed) == ["archived", "completed"]
    assert await kinds(engine, cancelled, stage="main", part=0) == ["archived", "cancelled"]


# What is stored is wrong


async def test_its_pipeline_can_not_be_read(engine: Engine, manual_sql: ManualSql, clock: FakeClock) -> None:
    await declared(engine, LOST, StageSpec(name="first"))
    job_id = await submitted(engine, LOST)
    row = manual_sql.run(f"SELECT id, name, digest, graph FROM pipelines WHERE name = '{LOST}'")[0]
    await lose_pipeline(engine, manual_sql)
    assert await kinds(engine, job_id) == ["unreadable"]
    await take(engine, await a_worker(engine, pipelines=[LOST]))
    found = await the_reason(engine, job_id)
    assert found.sentence == "its pipeline is missing or unreadable: run `reel doctor`"
    overriding = "OVERRIDING SYSTEM VALUE" if manual_sql.postgres else ""
    graph = row[3] if isinstance(row[3], str) else json.dumps(row[3])
    text = f"INSERT INTO pipelines (id, name, digest, graph) {overriding} VALUES (?, ?, ?, ?)"
    manual_sql.run(text, *row[:3], graph)
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["seconds"]) == (ReasonKind.UNREADABLE, 300)
    clock.advance(301)
    await engine.orchestrate()
    await runs_next(engine, await a_worker(engine, "other", pipelines=[LOST]), job_id)


async def test_a_task_that_the_database_refuses_to_lease(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    job_id, good = await submitted(engine), await submitted(engine)
    manual_sql.run(f"UPDATE tasks SET attempt = max_attempts WHERE job_id = {job_id}")
    found = await the_reason(engine, job_id)
    assert (found.kind, found.data["spent"]) == (ReasonKind.UNREADABLE, 1)
    assert [task.key.job_id for task in await take(engine, worker)] == [good]
    manual_sql.run(f"UPDATE tasks SET max_attempts = 100 WHERE job_id = {job_id}")
    await runs_next(engine, worker, job_id)


async def test_a_task_in_a_state_that_has_no_cause(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine)
    manual_sql.run_unguarded(f"UPDATE tasks SET status = 'new', ready_at = NULL WHERE job_id = {job_id}")
    found = await the_reason(engine, job_id)
    assert (found.kind, found.tasks) == (ReasonKind.UNREADABLE, 1)
    assert await kinds(engine, job_id, stage="main", part=0) == ["unreadable"]
    await engine.doctor(repair=True)


# How it answers


async def test_a_job_of_many_parts_has_a_handful_of_reasons(engine: Engine) -> None:
    name = await declared(engine, "many", StageSpec(name="part", each="spec.parts"))
    job_id = await submitted(engine, name, {"parts": 3 * CAP})
    worker = await a_worker(engine, "w1", slots=20)
    tasks = await take(engine, worker, 20)
    await engine.fail([failed(task, retry_in=60.0) for task in tasks[:10]])
    runs, retry, ready = await reasons(engine, job_id)
    assert (runs.kind, runs.tasks) == (ReasonKind.RUNS, 10)
    assert (retry.kind, retry.tasks, retry.part) == (ReasonKind.RETRY, 10, 0)
    assert (ready.kind, ready.tasks, ready.more, ready.part) == (ReasonKind.READY, CAP, True, 20)
    assert str(ready).startswith("1,000 or more tasks of part: ready")
    last = await the_reason(engine, job_id, stage="part", part=3 * CAP - 1)
    assert (last.kind, last.data["before"]) == (ReasonKind.READY, CAP)
    assert "1,000 or more tasks before it" in last.sentence


async def test_an_owner_learns_of_own_jobs_only_and_no_names_of_workers(engine: Engine) -> None:
    worker = await a_worker(engine, "secret-host", slots=1)
    await submitted(engine)
    await take_one(engine, worker)
    job_id = await submitted(engine, user_id="ada")
    found = await the_reason(engine, job_id, owner="ada")
    assert found.kind is ReasonKind.BUSY
    assert "workers" not in found.data
    for obstacle in (None, "drain", "pause", "stuck"):
        if obstacle == "drain":
            await engine.drain("secret-host")
        elif obstacle == "pause":
            await engine.enable("secret-host")
            await engine.pause(worker="secret-host", reason="secret-host burns")
        elif obstacle == "stuck":
            await engine.resume(worker="secret-host")
            await engine.report(worker, stuck=1)
        assert "secret" not in str(await reasons(engine, job_id, owner="ada"))
        assert "secret" in str(await reasons(engine, job_id))
    with pytest.raises(NotFound):
        await engine.why(job_id, owner="bob")


async def test_mistakes_are_refused(engine: Engine) -> None:
    job_id = await submitted(engine)
    with pytest.raises(NotFound):
        await engine.why(7)
    with pytest.raises(InvalidRequest, match="no stage 'encode'"):
        await engine.why(job_id, stage="encode")
    with pytest.raises(InvalidRequest, match="part"):
        await engine.why(job_id, part=0)
    with pytest.raises(NotFound, match="main/7"):
        await engine.why(job_id, stage="main", part=7)


# The explanation and the decision

CAPABILITIES = [frozenset[str](), frozenset({"gpu"}), frozenset({"h264"}), frozenset({"gpu", "h264"})]
PIPELINES = ["simple", "fan", "needy", "picky"]
CLAIMABLE = {ReasonKind.READY, ReasonKind.PREFERRED}


async def random_store(engine: Engine, clock: FakeClock, chance: random.Random) -> tuple[list[int], dict[int, str]]:
    """Bring a store into a random state; return its jobs and its workers."""
    await declared(engine, "needy", StageSpec(name="main", needs=frozenset({"h264"}), isolate_after=1))
    await declared(engine, "picky", StageSpec(name="main", prefers=frozenset({"gpu"}), isolate_after=1))
    workers: dict[int, str] = {}
    for number in range(chance.randint(1, 4)):
        served = chance.sample(PIPELINES, chance.randint(1, 4))
        slots, capabilities = chance.randint(1, 3), chance.choice(CAPABILITIES)
        worker = await a_worker(engine, f"w{number}", slots=slots, capabilities=capabilities, pipelines=served)
        workers[worker] = f"w{number}"
    jobs: list[int] = []
    for _ in range(chance.randint(3, 14)):
        match chance.choice(["submit"] * 4 + ["claim"] * 3 + ["lose", "fail", "wait", "stuck"]):
            case "submit":
                user, priority = chance.choice(["ada", "bob"]), chance.randint(3, 5)
                jobs.append(await submitted(engine, chance.choice(PIPELINES), user_id=user, priority=priority))
            case "claim":
                await take(engine, chance.choice(list(workers)), 1)
            case "lose":
                clock.advance(61)
                await engine.reclaim()
            case "fail":
                if tasks := await take(engine, chance.choice(list(workers)), 1):
                    await engine.fail([failed(tasks[0])])
            case "wait":
                clock.advance(chance.randint(1, 40))
            case "stuck":
                await engine.report(chance.choice(list(workers)), stuck=chance.randint(0, 1))
    targets: list[dict[str, Any]] = [
        {"user_id": "ada"},
        {"pipeline": "simple"},
        {"pipeline": "fan", "stage": "plan"},
        {"worker": "w0"},
        {"everything": True},
    ]
    for target in targets:
        if chance.random() < 0.15:
            await engine.pause(**target)
    for name in workers.values():
        if chance.random() < 0.15:
            await (engine.drain if chance.random() < 0.5 else engine.disable)(name)
    return jobs, workers


@pytest.mark.parametrize("seed", range(25))
async def test_what_is_explained_as_ready_is_claimed_and_nothing_else(
    engine: Engine, clock: FakeClock, seed: int
) -> None:
    chance = random.Random(seed)
    jobs, workers = await random_store(engine, clock, chance)
    for worker in await engine.workers():
        if worker.status != "offline" and worker.enabled:
            await engine.report(worker.id)
    first = {job_id: await reasons(engine, job_id) for job_id in jobs}
    ready = {
        job_id: found
        for job_id, found in first.items()
        if any(reason.kind in CLAIMABLE and reason.data["before"] == 0 for reason in found)
    }
    waiting = set(jobs) - {
        job_id for job_id, found in first.items() if any(reason.kind in CLAIMABLE for reason in found)
    }
    claimed: set[int] = set()
    able = {worker.id: worker for worker in await engine.workers()}
    for worker_id in chance.sample(list(workers), len(workers)):
        worker = able[worker_id]
        if worker.enabled and worker.status == "active" and worker.slots - worker.stuck > worker.running:
            claimed |= {task.key.job_id for task in await take(engine, worker_id, 1)}
    assert not claimed & waiting, {job_id: first[job_id] for job_id in claimed & waiting}
    assert not ready or claimed, ready


# It waits for a limit


async def test_a_full_limit(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("customers", per="spec.customer", running=1)
    jobs = [await submitted(engine, spec={"customer": "acme"}) for _ in range(3)]
    task = await take_one(engine, worker)
    await engine.limits.admit()
    found = await the_reason(engine, jobs[2])
    text = "main/0: waits for limit customers=acme 1/1 running; 1 task before it"
    assert (found.kind, str(found), found.data["before"]) == (ReasonKind.LIMIT, text, 1)
    await engine.complete([done(task)])
    await runs_next(engine, worker, jobs[1])


async def test_a_limit_of_starts(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("rate", starts=1, period=3600)
    jobs = [await submitted(engine) for _ in range(2)]
    await engine.complete([done(await take_one(engine, worker))])
    clock.advance(30)
    assert await take(engine, worker) == []
    found = await the_reason(engine, jobs[1])
    assert str(found).startswith("main/0: waits for limit rate 1/1 starts in 1 h, the next in 59 min")
    clock.advance(3600)
    await runs_next(engine, worker, jobs[1])


async def test_its_turn(engine: Engine) -> None:
    await engine.limits.set("users", per="user")
    job_id = await submitted(engine, user_id="ada")
    assert await kinds(engine, job_id) == ["limit", "no_worker"], "its limits are not looked at yet"
    worker = await a_worker(engine)
    jobs = [await submitted(engine, user_id="ada") for _ in range(2)]
    await take_one(engine, worker)
    found = await reasons(engine, jobs[1])
    assert str(found[0]).startswith("main/0: waits for its turn under limit users=ada; admitted when a worker asks")
    await runs_next(engine, worker, jobs[1])


async def test_a_pause_of_what_waits_for_a_limit(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    jobs = [await submitted(engine, user_id="ada") for _ in range(2)]
    task = await take_one(engine, worker)
    await engine.pause(user_id="ada")
    assert await kinds(engine, jobs[1]) == ["paused"]
    await engine.resume(user_id="ada")
    await engine.complete([done(task)])
    await runs_next(engine, worker, jobs[1])

"""workers: an instance registers, lives by its heartbeat, drains, goes; a name is enabled or not."""

from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition, NotFound, TooLarge, WorkerRefused
from reelstate.core.machine import TaskStatus, WorkerStatus
from reelstate.core.model import Verdict, Worker
from reelstate.engine import Engine
from reelstate.services import claim
from reelstate.services.keys import Keys, Scope
from tests.conformance.scenarios import (
    a_running_task,
    fail_for_good,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
)
from tests.engines import FakeClock, a_worker, done

ACTIVE, DRAINING, OFFLINE = WorkerStatus.ACTIVE, WorkerStatus.DRAINING, WorkerStatus.OFFLINE


async def worker_at(engine: Engine, worker_id: int) -> Worker:
    (found,) = [worker for worker in await engine.workers() if worker.id == worker_id]
    return found


async def worker_path(engine: Engine, worker_id: int) -> list[tuple[str | None, str, str]]:
    return [(event.origin, event.target, event.actor) for event in await engine.worker_history(worker_id)]


async def test_a_worker_is_known_as_it_described_itself(engine: Engine, clock: FakeClock) -> None:
    worker = await engine.register(
        "encoder-1",
        hostname="box",
        software="1.2",
        slots=4,
        capabilities={"gpu", "h264"},
        pipelines={"fan"},
        kind="remote",
        metadata={"cpu": "x"},
    )
    known = await worker_at(engine, worker)
    assert (known.name, known.hostname, known.software, known.kind) == ("encoder-1", "box", "1.2", "remote")
    assert (known.slots, known.capabilities, known.pipelines) == (4, frozenset({"gpu", "h264"}), frozenset({"fan"}))
    assert (known.metadata, known.registered_at, known.last_heartbeat_at) == ({"cpu": "x"}, clock.now, None)
    assert (known.status, known.enabled, known.version, known.shown) == (ACTIVE, True, 1, "idle")
    assert await worker_path(engine, worker) == [(None, "active", "worker")]


async def test_every_start_is_a_new_instance(engine: Engine) -> None:
    first, second = await a_worker(engine, "same"), await a_worker(engine, "same")
    assert first != second
    assert [worker.id for worker in await engine.workers()] == [first, second]


@pytest.mark.parametrize(
    "field, options",
    [
        ("name", {"name": ""}),
        ("name", {"name": "two words"}),
        ("name", {"name": "x" * 129}),
        ("name", {"name": "nul\x00"}),
        ("slots", {"slots": 0}),
        ("kind", {"kind": "cloud"}),
        ("hostname", {"hostname": "h" * 256}),
        ("hostname", {"hostname": "h\x00"}),
        ("software", {"software": "\ud800"}),
        ("metadata", {"metadata": {"a": object()}}),
    ],
)
async def test_a_bad_registration_is_refused_by_the_name_of_its_field(
    engine: Engine, field: str, options: dict[str, Any]
) -> None:
    given = {"name": "worker", **options}
    with pytest.raises(InvalidRequest) as refused:
        await a_worker(engine, **given)
    assert refused.value.field == field
    assert await engine.workers() == []


async def test_metadata_have_a_largest_size(engine: Engine) -> None:
    with pytest.raises(TooLarge):
        await a_worker(engine, metadata="x" * 10_240)


async def test_idle_and_busy_follow_from_the_leases(engine: Engine) -> None:
    worker = await a_worker(engine)
    await submitted(engine)
    task = await take_one(engine, worker)
    known = await worker_at(engine, worker)
    assert (known.shown, known.running) == ("busy", 1)
    await engine.complete([done(task)])
    assert (await worker_at(engine, worker)).shown == "idle"


# Silence and return.


async def test_a_silent_worker_is_offline(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    clock.advance(45)
    assert await engine.reclaim_workers(stale_after=45) == []
    clock.advance(1)
    assert await engine.reclaim_workers(stale_after=45) == [worker]
    assert (await worker_at(engine, worker)).shown == "offline"
    assert (await worker_path(engine, worker))[-1] == ("active", "offline", "keeper")
    assert await engine.reclaim_workers(stale_after=45) == []


async def test_a_worker_that_has_reported_is_not_taken_for_dead(engine: Engine, clock: FakeClock) -> None:
    silent, alive = await a_worker(engine, "silent"), await a_worker(engine, "alive")
    clock.advance(40)
    await engine.report(alive)
    clock.advance(10)
    assert await engine.reclaim_workers(stale_after=45) == [silent]
    assert (await worker_at(engine, alive)).status is ACTIVE


async def test_a_draining_worker_can_die_too(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.drain("worker")
    clock.advance(60)
    assert await engine.reclaim_workers() == [worker]
    assert (await worker_path(engine, worker))[-1] == ("draining", "offline", "keeper")


async def test_a_heartbeat_brings_an_offline_worker_back(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    clock.advance(60)
    await engine.reclaim_workers()
    await engine.report(worker)
    known = await worker_at(engine, worker)
    assert (known.status, known.last_heartbeat_at, known.version) == (ACTIVE, clock.now, 3)
    assert (await worker_path(engine, worker))[-1] == ("offline", "active", "worker")


async def test_a_heartbeat_of_a_live_worker_writes_no_event(engine: Engine) -> None:
    worker = await a_worker(engine)
    for _ in range(3):
        await engine.report(worker)
    assert (await worker_at(engine, worker)).version == 1
    assert len(await worker_path(engine, worker)) == 1


async def test_an_offline_worker_that_comes_back_in_time_keeps_its_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(50)
    (worker,) = await engine.reclaim_workers()
    await engine.report(worker)
    assert await engine.complete([done(task)]) == [Verdict.OK]


# Drain and sign off.


async def test_a_drained_name_takes_nothing_new_and_finishes_what_it_runs(engine: Engine) -> None:
    first, second = await a_worker(engine, "box"), await a_worker(engine, "box")
    other = await a_worker(engine, "other")
    await submitted(engine)
    task = await take_one(engine, first)
    assert sorted(await engine.drain("box", reason="upgrade")) == [first, second]
    assert (await worker_at(engine, first)).shown == "draining"
    assert (await worker_at(engine, other)).shown == "idle"
    assert await engine.complete([done(task)]) == [Verdict.OK]
    assert (await worker_path(engine, second))[-1] == ("active", "draining", "operator")


async def test_draining_twice_has_one_effect(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.drain("worker")
    assert await engine.drain("worker") == []
    assert (await worker_at(engine, worker)).version == 2


async def test_draining_an_unknown_name_does_nothing(engine: Engine) -> None:
    assert await engine.drain("nobody") == []


async def test_an_operator_may_take_back_a_drain(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.drain("worker")
    assert await engine.move_worker(worker, ACTIVE, actor="operator") is True
    await submitted(engine)
    assert len(await take(engine, worker)) == 1


async def test_a_worker_signs_off(engine: Engine) -> None:
    worker = await a_worker(engine)
    assert await engine.move_worker(worker, DRAINING, actor="worker", reason="SIGTERM") is True
    assert await engine.move_worker(worker, OFFLINE, actor="worker") is True
    assert [target for _, target, _ in await worker_path(engine, worker)] == ["active", "draining", "offline"]


async def test_signing_off_twice_is_a_no_op_and_an_unknown_worker_is_not_found(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.move_worker(worker, OFFLINE, actor="worker")
    assert await engine.move_worker(worker, OFFLINE, actor="keeper") is False
    with pytest.raises(NotFound):
        await engine.move_worker(worker + 1, OFFLINE, actor="worker")


@pytest.mark.parametrize("target, actor", [(ACTIVE, "operator"), (DRAINING, "operator"), (ACTIVE, "keeper")])
async def test_an_offline_worker_changes_only_as_the_machine_allows(
    engine: Engine, target: WorkerStatus, actor: str
) -> None:
    worker = await a_worker(engine)
    await engine.move_worker(worker, OFFLINE, actor="worker")
    with pytest.raises(InvalidTransition):
        await engine.move_worker(worker, target, actor=actor)
    assert (await worker_at(engine, worker)).version == 2


# Enabled is a flag of the name.


async def test_disabling_a_name_releases_its_tasks_without_counting_an_attempt(engine: Engine) -> None:
    tasks = await running_parts(engine, 2)
    assert await engine.disable("worker", actor="operator:ada") == 2
    row = await task_at(engine, tasks[0].key)
    assert (row.status, row.attempt, row.lost, row.worker_id) == (TaskStatus.READY, 0, 0, None)
    assert (await task_path(engine, tasks[0].key))[-1] == ("running", "ready", "operator:ada")
    assert await engine.complete([done(task) for task in tasks]) == [Verdict.LOST] * 2
    (worker,) = await engine.workers()
    assert (worker.shown, worker.enabled, worker.status) == ("disabled", False, ACTIVE)


async def test_what_a_disabled_worker_ran_in_a_failed_job_waits_as_new(engine: Engine) -> None:
    bad, other = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    assert await engine.disable("worker") == 1
    assert (await task_at(engine, other.key)).status is TaskStatus.NEW


async def test_other_names_go_on(engine: Engine) -> None:
    task = await a_running_task(engine)
    await a_worker(engine, "other")
    assert await engine.disable("other") == 0
    assert await engine.complete([done(task)]) == [Verdict.OK]


async def test_an_instance_of_a_disabled_name_is_refused(engine: Engine) -> None:
    await engine.disable("banned")
    with pytest.raises(WorkerRefused, match="disabled"):
        await a_worker(engine, "banned")
    assert await engine.workers() == []
    await engine.enable("banned")
    assert (await worker_at(engine, await a_worker(engine, "banned"))).shown == "idle"


async def test_neither_time_nor_a_heartbeat_enables_a_name(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.disable("worker")
    clock.advance(60)
    await engine.reclaim_workers()
    assert (await worker_at(engine, worker)).shown == "disabled"
    assert (await engine.report(worker)).drain is True
    assert (await worker_at(engine, worker)).shown == "disabled"
    with pytest.raises(WorkerRefused):
        await engine.claim(worker)


async def test_an_enabled_name_works_again(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.disable("worker")
    await engine.enable("worker")
    await submitted(engine)
    assert len(await take(engine, worker)) == 1
    assert (await engine.report(worker)).drain is False


async def test_enabling_a_name_brings_back_those_that_drain(engine: Engine) -> None:
    draining, working, gone = [await a_worker(engine) for _ in range(3)]
    await engine.drain("worker", actor="operator:ada")
    await engine.move_worker(working, ACTIVE, actor="operator:ada")
    await engine.move_worker(gone, OFFLINE, actor="worker")
    assert await engine.enable("worker", actor="operator:ada", reason="patched") == [draining]
    assert [worker.status for worker in await engine.workers()] == [ACTIVE, ACTIVE, OFFLINE]
    assert ("draining", "active", "operator:ada") in await worker_path(engine, draining)
    await submitted(engine)
    assert len(await take(engine, draining)) == 1
    assert (await engine.doctor()).findings == ()


async def test_only_an_operator_brings_back_those_that_drain(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.drain("worker")
    assert await engine.enable("worker", actor="keeper") == []
    assert (await worker_at(engine, worker)).status is DRAINING


async def test_an_engine_remembers_no_workers_that_are_gone(engine: Engine, clock: FakeClock) -> None:
    leaving, pruned, staying = [await a_worker(engine, name) for name in ("leaving", "pruned", "staying")]
    await engine.move_worker(leaving, OFFLINE, actor="worker")
    clock.advance(60)
    await engine.report(staying)
    assert await engine.reclaim_workers(stale_after=45) == [pruned]
    assert engine._claims.last_answer(pruned) is not None, "it may come back"
    clock.advance(10)
    await engine.prune_workers(older=5)
    assert [engine._claims.filter_of(each) is not None for each in (leaving, pruned, staying)] == [False, False, True]
    assert len(engine._claims) == 1


async def test_an_engine_remembers_a_limited_number_of_workers_and_the_others_still_claim(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "MAX_WORKERS", 3)
    first, second, *others = [await a_worker(engine, f"worker-{number}") for number in range(3)]
    await submitted(engine)
    await take_one(engine, first)
    others.append(await a_worker(engine, "another"))
    assert [engine._claims.last_answer(each) is not None for each in (first, second, *others)] == [
        True,
        False,
        True,
        True,
    ]
    await submitted(engine)
    await take_one(engine, second)
    assert len(engine._claims) == len(engine._claims._filters) + 1 == 3


async def test_a_worker_whose_key_is_revoked_claims_nothing_more(engine: Engine) -> None:
    keys = Keys(engine.store)
    await keys.create("worker", scopes=[Scope.WORKER])
    worker = await a_worker(engine)
    job = await submitted(engine)
    await take_one(engine, worker)
    assert await engine.revoke("worker") == (1, 1)
    assert await take(engine, worker) == [], "a server may know its key for a moment longer"
    assert [task.key.job_id for task in await take(engine, await a_worker(engine, "other"))] == [job]

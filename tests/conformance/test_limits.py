"""limits: never more tasks than a limit permits, turns of keys, and nothing else waits for that."""

from collections.abc import Sequence
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound, StoreUnavailable, UnknownPipeline
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimedTask, TaskKey
from reelstate.engine import Engine
from reelstate.pipelines.declaration import Pipeline
from reelstate.services.limits import admission, claiming
from tests.conformance.scenarios import finish, lose, released, status_of, submitted, take, take_one
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql


def jobs_of(tasks: Sequence[ClaimedTask]) -> list[int]:
    return [task.key.job_id for task in tasks]


async def of_user(engine: Engine, user: str, count: int = 1, **options: Any) -> list[int]:
    return [await submitted(engine, user_id=user, **options) for _ in range(count)]


async def test_no_more_tasks_run_than_a_limit_permits(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("two", pipeline="simple", running=2)
    jobs = [await submitted(engine) for _ in range(5)]
    first = await take(engine, worker)
    assert jobs_of(first) == jobs[:2]
    assert await take(engine, worker) == []
    await engine.complete([done(first[0])])
    assert jobs_of(await take(engine, worker)) == jobs[2:3]


async def test_a_limit_holds_for_tasks_that_were_there_before(engine: Engine) -> None:
    worker = await a_worker(engine)
    jobs = [await submitted(engine) for _ in range(5)]
    running = await take(engine, worker, 2)
    await engine.limits.set("three", pipeline="simple", running=3)
    assert jobs_of(await take(engine, worker)) == jobs[2:3]
    await engine.complete([done(task) for task in running])
    assert jobs_of(await take(engine, worker)) == jobs[3:]


async def test_tasks_beyond_a_new_limit_go_on_and_count(engine: Engine) -> None:
    worker = await a_worker(engine)
    jobs = [await submitted(engine) for _ in range(4)]
    running = await take(engine, worker, 3)
    await engine.limits.set("one", running=1)
    await engine.complete([done(task) for task in running[:2]])
    assert await take(engine, worker) == []
    await engine.complete([done(running[2])])
    assert jobs_of(await take(engine, worker)) == jobs[3:]


async def test_each_key_has_the_limit_and_a_full_one_blocks_no_other(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("customers", per="spec.customer.id", running=1)
    acme = [await submitted(engine, spec={"customer": {"id": "acme"}}, priority=9) for _ in range(30)]
    other = await submitted(engine, spec={"customer": {"id": 7}})
    without = await submitted(engine, spec={"customer": "acme"})
    assert sorted(jobs_of(await take(engine, worker))) == sorted([acme[0], other, without])


async def test_two_limits_hold_at_once(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("all", pipeline="simple", running=3)
    await engine.limits.set("users", per="user", running=2)
    ada, bob = await of_user(engine, "ada", 4), await of_user(engine, "bob", 4)
    taken = await take(engine, worker)
    assert sorted(jobs_of(taken)) == sorted([ada[0], ada[1], bob[0]]) or sorted(jobs_of(taken)) == sorted(
        [ada[0], bob[0], bob[1]]
    )
    fan = await submitted(engine, "fan", user_id="bob")
    assert len(await take(engine, worker)) == (1 if bob[1] not in jobs_of(taken) else 0)
    await engine.complete([done(task) for task in taken])
    assert len(await take(engine, worker)) == 3
    assert await status_of(engine, fan) is not None


async def test_no_more_tasks_start_in_any_period_than_a_limit_permits(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("rate", pipeline="simple", starts=2, period=60)
    jobs = [await submitted(engine) for _ in range(6)]
    first = await take_one(engine, worker)
    clock.advance(40)
    second = await take(engine, worker)
    assert jobs_of([first, *second]) == jobs[:2]
    await engine.complete([done(first), *(done(task) for task in second)])
    clock.advance(19)
    assert await take(engine, worker) == []
    clock.advance(2)
    assert jobs_of(await take(engine, worker)) == jobs[2:3]
    clock.advance(40)
    assert jobs_of(await take(engine, worker)) == jobs[3:4]


async def test_an_admitted_task_that_starts_late_counts_from_its_start(engine: Engine, clock: FakeClock) -> None:
    await engine.limits.set("rate", starts=1, period=60)
    jobs = [await submitted(engine) for _ in range(2)]
    await engine.limits.admit()
    clock.advance(59)
    worker = await a_worker(engine)
    assert jobs_of(await take(engine, worker)) == jobs[:1]
    clock.advance(59)
    assert await take(engine, worker) == []
    clock.advance(2)
    assert jobs_of(await take(engine, worker)) == jobs[1:]


async def test_users_take_turns(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("turns", per="user")
    ada = await of_user(engine, "ada", 6)
    assert jobs_of([await take_one(engine, worker), await take_one(engine, worker)]) == ada[:2]
    bob = await of_user(engine, "bob", 2)
    order = [(await take_one(engine, worker)).key.job_id for _ in range(6)]
    assert order[:2] in ([ada[2], bob[0]], [bob[0], ada[2]]), "bob waits for one turn at most"
    assert sorted(order[:4]) == sorted([*ada[2:4], *bob])
    assert order[4:] == ada[4:]


async def test_a_user_of_twice_the_weight_has_twice_the_turns(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("turns", per="user", weights={"ada": 2})
    ada, bob = await of_user(engine, "ada", 12), await of_user(engine, "bob", 12)
    taken = [(await take_one(engine, worker)).key.job_id for _ in range(9)]
    assert len(set(taken) & set(ada)) == 6
    assert len(set(taken) & set(bob)) == 3


async def test_the_more_urgent_key_comes_first(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", pipeline="simple", running=1)
    await engine.limits.set("users", per="user")
    await of_user(engine, "ada", 3)
    urgent = await of_user(engine, "bob", 2, priority=9)
    for expected in urgent:
        task = await take_one(engine, worker)
        assert task.key.job_id == expected
        await engine.complete([done(task)])


ENDINGS = ["done", "failed", "retried", "released", "lost", "cancelled", "cancelled before it was claimed"]


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_task_that_ends_in_any_way_makes_room(engine: Engine, clock: FakeClock, ending: str) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    first, second = await submitted(engine), await submitted(engine)
    if ending == "cancelled before it was claimed":
        await engine.limits.admit()
        await engine.cancel(first)
    else:
        task = await take_one(engine, worker)
        assert task.key.job_id == first
        if ending == "done":
            await engine.complete([done(task)])
        elif ending in ("failed", "retried"):
            await engine.fail([failed(task, retryable=ending == "retried", retry_in=60)])
        elif ending == "released":
            await engine.release([released(task)])
        elif ending == "lost":
            await lose(engine, clock)
            worker = await a_worker(engine, "next")
        elif ending == "cancelled":
            await engine.cancel(first)
    again = ending in ("released", "lost")
    assert jobs_of(await take(engine, worker)) == [first if again else second]


async def test_a_task_to_be_tried_again_waits_for_room(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    first, second = await submitted(engine), await submitted(engine)
    task = await take_one(engine, worker)
    await engine.fail([failed(task, retry_in=5)])
    other = await take_one(engine, worker)
    assert other.key.job_id == second
    clock.advance(6)
    await engine.orchestrate()
    assert await take(engine, worker) == []
    await engine.complete([done(other)])
    assert jobs_of(await take(engine, worker)) == [first]


async def test_a_limit_of_a_stage_leaves_the_other_stages_alone(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("work", pipeline="fan", stage="work", running=2)
    job = await submitted(engine, "fan")
    task = await take_one(engine, worker)
    await engine.complete([done(task, {"items": [1, 2, 3]})])
    parts = await take(engine, worker)
    assert len(parts) == 2
    other = await submitted(engine, "fan")
    assert jobs_of(await take(engine, worker)) == [other]
    await engine.complete([done(part) for part in parts])
    assert jobs_of(await take(engine, worker)) == [job]


async def test_a_limit_per_job_keeps_a_large_job_from_taking_the_fleet(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("jobs", pipeline="fan", per="job", running=2)
    jobs = [await submitted(engine, "fan") for _ in range(2)]
    for task in await take(engine, worker):
        await engine.complete([done(task, {"items": [1, 2, 3, 4]})])
    assert sorted(jobs_of(await take(engine, worker))) == sorted([*jobs, *jobs])


async def test_a_limit_of_a_user_leaves_other_users_alone(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("ada", user_id="ada", running=1)
    ada, bob = await of_user(engine, "ada", 3), await of_user(engine, "bob", 2)
    assert sorted(jobs_of(await take(engine, worker))) == sorted([ada[0], *bob])


async def test_more_room_is_used_at_once_and_less_is_kept(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("some", running=1)
    jobs = [await submitted(engine) for _ in range(5)]
    first = await take(engine, worker)
    await engine.limits.set("some", running=3)
    more = await take(engine, worker)
    assert jobs_of(first + more) == jobs[:3]
    await engine.limits.set("some", running=2)
    await engine.complete([done(first[0])])
    assert await take(engine, worker) == []
    await engine.complete([done(more[0])])
    assert jobs_of(await take(engine, worker)) == jobs[3:4]


async def test_what_waits_for_a_limit_runs_when_it_is_removed(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    jobs = [await submitted(engine) for _ in range(4)]
    first = await take(engine, worker)
    await engine.limits.remove("one")
    assert jobs_of(first + await take(engine, worker)) == jobs
    await engine.complete([done(task) for task in first])


async def test_another_limit_goes_on_when_one_is_removed(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    await engine.limits.set("users", per="user", running=2)
    ada = await of_user(engine, "ada", 5)
    first = await take(engine, worker)
    await engine.limits.remove("one")
    assert jobs_of(first + await take(engine, worker)) == ada[:2]
    assert await take(engine, worker) == []


async def test_a_limit_that_selects_other_tasks_now_replaces_the_one_of_its_name(engine: Engine) -> None:
    worker = await a_worker(engine)
    first = await engine.limits.set("name", pipeline="simple", running=1)
    jobs = [await submitted(engine) for _ in range(3)]
    second = await engine.limits.set("name", pipeline="fan", running=1)
    assert jobs_of(await take(engine, worker)) == jobs
    assert [each.id for each in await engine.limits.all()] == [second.id]
    assert [each.id for each in await engine.limits.all(removed=True)] == [second.id, first.id]


async def test_paused_tasks_take_no_room(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    ada, bob = await of_user(engine, "ada", 2, priority=9), await of_user(engine, "bob", 2)
    await engine.limits.admit()
    await engine.pause(user_id="ada")
    task = await take_one(engine, worker)
    assert task.key.job_id == bob[0]
    await engine.resume(user_id="ada")
    assert await take(engine, worker) == []
    await engine.complete([done(task)])
    assert jobs_of(await take(engine, worker)) == ada[:1]


@pytest.mark.parametrize("target", [{"everything": True}, {"pipeline": "simple"}], ids=str)
async def test_a_paused_pipeline_admits_nothing(engine: Engine, target: dict[str, Any]) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    await engine.pause(**target)
    job = await submitted(engine)
    assert await take(engine, worker) == []
    await engine.resume(**target)
    assert jobs_of(await take(engine, worker)) == [job]


async def test_a_hint_at_a_task_that_waits_is_not_followed(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    first, second = await submitted(engine), await submitted(engine)
    assert jobs_of(await take(engine, worker)) == [first]
    assert await take(engine, worker, hints=[TaskKey(second, 0, 0)]) == []


async def test_a_delayed_job_comes_under_a_limit_that_was_set_meanwhile(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    delayed = [await submitted(engine, delay=100) for _ in range(2)]
    await engine.limits.set("one", running=1)
    clock.advance(120)
    await engine.limits.settle()
    await engine.orchestrate()
    assert jobs_of(await take(engine, worker)) == delayed[:1]
    assert await take(engine, worker) == []


async def test_whole_jobs_complete_under_a_limit(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    jobs = [await submitted(engine, "fan") for _ in range(2)]
    await finish(engine, worker, {"plan": {"items": [1, 2]}})
    assert [await status_of(engine, job) for job in jobs] == [JobStatus.COMPLETED] * 2


async def test_a_limit_has_a_record(engine: Engine, clock: FakeClock) -> None:
    set_at = clock.now
    record = await engine.limits.set("customers", per="spec.customer", running=4, actor="operator:ann", reason="fair")
    assert str(record.limit) == "customers: 4 running per spec.customer"
    assert (record.created_at, record.actor, record.reason, record.declared) == (set_at, "operator:ann", "fair", False)
    clock.advance(10)
    changed = await engine.limits.set("customers", per="spec.customer", running=5, actor="operator:bob")
    assert (changed.id, changed.limit.running, changed.actor) == (record.id, 5, "operator:bob")
    removed = await engine.limits.remove("customers", actor="operator:ann", reason="no more")
    assert (removed.removed_at, removed.reason) == (clock.now, "no more")
    assert await engine.limits.all() == []
    with pytest.raises(NotFound, match="customers"):
        await engine.limits.remove("customers")


async def test_the_status_of_a_limit_names_its_keys(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("users", per="user", running=2)
    await of_user(engine, "ada", 5)
    await of_user(engine, "bob", 1)
    await take(engine, worker)
    status = await engine.limits.get("users")
    assert [(use.key, use.running, use.waiting) for use in status.uses] == [("ada", 2, 3), ("bob", 1, 0)]
    with pytest.raises(NotFound):
        await engine.limits.get("other")


async def test_keys_without_tasks_are_forgotten(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("jobs", per="job", running=1)
    await submitted(engine)
    await engine.complete([done(task) for task in await take(engine, worker)])
    waiting = [await submitted(engine) for _ in range(2)]
    await engine.limits.admit()
    await engine.limits.prune()
    uses = (await engine.limits.get("jobs")).uses
    assert sorted(use.key for use in uses) == sorted(map(str, waiting))
    assert sorted(jobs_of(await take(engine, worker))) == waiting


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "limits nothing"),
    ({"running": 0}, "pause"),
    ({"running": 10**9}, "running"),
    ({"starts": 5}, "period"),
    ({"starts": 5, "period": float("nan")}, "period"),
    ({"starts": 10**6, "period": 60}, "starts"),
    ({"running": 1, "stage": "main"}, "pipeline"),
    ({"running": 1, "per": "customer"}, "per"),
    ({"running": 1, "per": "spec.a'b"}, "per"),
    ({"running": 1, "weights": {"ada": 2}}, "key"),
    ({"per": "user", "weights": {"ada": 0}}, "weights"),
    ({"per": "user", "weights": {"ada": float("inf")}}, "weights"),
    ({"running": 1, "pipeline": "simple", "stage": "mian"}, "main"),
]


@pytest.mark.parametrize("options, named", BAD, ids=str)
async def test_what_no_limit_can_be_is_refused(engine: Engine, options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        await engine.limits.set("bad", **options)
    with pytest.raises(InvalidRequest, match="name"):
        await engine.limits.set("no name", running=1)
    assert await engine.limits.all() == []


async def test_a_limit_of_an_unknown_pipeline_is_refused(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline, match="simple"):
        await engine.limits.set("typo", pipeline="simpel", running=1)


async def test_a_wrong_count_is_found_and_repaired(engine: Engine, manual_sql: ManualSql) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    jobs = [await submitted(engine) for _ in range(2)]
    first = await take_one(engine, worker)
    manual_sql.run("UPDATE limit_keys SET admitted = 5")
    await engine.complete([done(first)])
    assert await take(engine, worker) == []
    diagnosis = await engine.doctor(repair=True)
    assert [finding.check for finding in diagnosis.repaired] == ["limits"]
    assert jobs_of(await take(engine, worker)) == jobs[1:]


async def test_a_pipeline_brings_its_limits_and_an_operator_changes_them(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.declare(limited_pipeline(running=1))
    assert [str(each.limit) for each in await engine.limits.all()] == ["limited.one: 1 running in limited.main"]
    jobs = [await submitted(engine, "limited") for _ in range(3)]
    first = await take(engine, worker, pipelines=["limited"])
    assert jobs_of(first) == jobs[:1]
    await engine.limits.set("limited.one", pipeline="limited", stage="main", running=2)
    await engine.declare(limited_pipeline(running=1))
    assert jobs_of(await take(engine, worker, pipelines=["limited"])) == jobs[1:2]


def limited_pipeline(*, running: int) -> Pipeline:
    pipeline = Pipeline("limited")

    @pipeline.stage
    def main(_: object) -> None: ...

    pipeline.limit("one", stage=main, running=running)
    return pipeline


async def test_a_task_that_was_added_without_knowing_the_limit_comes_under_it(
    engine: Engine, manual_sql: ManualSql
) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    first, second = await submitted(engine), await submitted(engine)
    task = await take_one(engine, worker)
    # As a transaction leaves it that began before the limit was set.
    manual_sql.run(
        "UPDATE tasks SET queue = NULL, lane = (SELECT l.id FROM lanes AS l WHERE l.pipeline = 'simple')"
        f" WHERE job_id = {second}"
    )
    assert await take(engine, worker) == []
    await engine.limits.settle()
    assert await take(engine, worker) == []
    assert task.key.job_id == first
    await engine.complete([done(task)])
    assert jobs_of(await take(engine, worker)) == [second]


async def test_a_lane_without_a_worker_keeps_no_other_lane_waiting(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_QUEUES", 2)
    worker = await a_worker(engine)
    await engine.limits.set("turns", per="user")
    for number in range(5):
        await submitted(engine, "fan", user_id=f"u{number}")
    bob = await of_user(engine, "bob", 4)
    assert [(await take_one(engine, worker, pipelines=["simple"])).key.job_id for _ in bob] == bob


async def test_a_lower_limit_holds_for_tasks_that_were_admitted_and_not_claimed(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("some", running=3)
    jobs = [await submitted(engine) for _ in range(4)]
    await engine.limits.admit()
    await engine.limits.set("some", running=1)
    assert jobs_of(await take(engine, worker)) == jobs[:1]


async def test_leased_tasks_are_returned_though_the_admission_of_more_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await a_worker(engine)
    await engine.limits.set("one", running=1)
    jobs = [await submitted(engine) for _ in range(2)]
    await engine.limits.admit()

    async def fails(*_: object, **__: object) -> None:
        raise StoreUnavailable("the server is gone", hint="start it")

    with monkeypatch.context() as patch:
        patch.setattr(claiming, "admit", fails)
        assert jobs_of(await take(engine, worker)) == jobs[:1]
        with pytest.raises(StoreUnavailable):
            await take(engine, worker)

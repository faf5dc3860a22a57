"""pause: workers claim nothing of a paused target, everything else goes on, and a resume brings its tasks back."""

from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.core.errors import InvalidRequest, NotFound, UnknownPipeline
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import TaskKey
from reelstate.engine import Engine
from reelstate.services import pause as pause_service
from tests.conformance.scenarios import finish, lose, status_of, submitted, take, take_one, task_at
from tests.engines import FakeClock, a_worker, done

TARGETS: list[dict[str, Any]] = [
    {"everything": True},
    {"pipeline": "simple"},
    {"pipeline": "simple", "stage": "main"},
    {"user_id": "ada"},
    {"worker": "worker"},
]
UNTOUCHED = [{"pipeline": "fan"}, {"pipeline": "fan", "stage": "work"}, {"user_id": "bob"}, {"worker": "other"}]


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_nothing_of_a_paused_target_is_claimed_until_it_is_resumed(
    engine: Engine, target: dict[str, Any]
) -> None:
    worker = await a_worker(engine)
    before = await submitted(engine, user_id="ada")
    paused = await engine.pause(**target, reason="new driver", actor="operator:ann")
    assert (paused.changed, paused.released) == (True, 0)
    after = await submitted(engine, user_id="ada")
    assert await take(engine, worker) == []
    assert await take(engine, worker) == [], "also when its tasks are parked"
    assert await take(engine, worker, hints=[TaskKey(after, 0, 0)]) == [], "also when a hint names them"
    await engine.resume(**target)
    assert [task.key.job_id for task in await take(engine, worker)] == [before, after]


@pytest.mark.parametrize("target", UNTOUCHED, ids=str)
async def test_other_work_goes_on(engine: Engine, target: dict[str, Any]) -> None:
    worker, _ = await a_worker(engine), await a_worker(engine, "other")
    job = await submitted(engine, user_id="ada")
    await engine.pause(**target)
    assert [task.key.job_id for task in await take(engine, worker)] == [job]


async def test_a_paused_worker_leaves_the_work_to_others(engine: Engine) -> None:
    paused, other = await a_worker(engine), await a_worker(engine, "other")
    job = await submitted(engine)
    await engine.pause(worker="worker")
    assert await take(engine, paused) == []
    assert [task.key.job_id for task in await take(engine, other)] == [job]


async def test_tasks_of_a_paused_user_do_not_block_the_head_of_the_lane(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.pause(user_id="ada")
    for _ in range(30):
        await submitted(engine, user_id="ada", priority="critical")
    jobs = [await submitted(engine, user_id="bob") for _ in range(3)]
    assert [(await take_one(engine, worker)).key.job_id for _ in jobs] == jobs
    assert await take(engine, worker) == []


async def test_a_paused_stage_waits_and_the_other_stages_of_its_lane_run(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.pause(pipeline="fan", stage="work")
    job = await submitted(engine, "fan")
    assert await finish(engine, worker, {"plan": {"items": [1, 2]}}) == ["plan"]
    other = await submitted(engine, "fan")
    assert [task.key.job_id for task in await take(engine, worker)] == [other]
    await engine.resume(pipeline="fan", stage="work")
    assert await finish(engine, worker) == ["work", "work", "pack"]
    assert await status_of(engine, job) is JobStatus.COMPLETED


async def test_running_work_goes_on(engine: Engine) -> None:
    worker = await a_worker(engine)
    job = await submitted(engine)
    task = await take_one(engine, worker)
    await engine.pause(everything=True)
    await engine.complete([done(task)])
    assert await status_of(engine, job) is JobStatus.COMPLETED


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_now_releases_running_tasks_without_counting_an_attempt(engine: Engine, target: dict[str, Any]) -> None:
    worker, other = await a_worker(engine), await a_worker(engine, "other")
    mine = await submitted(engine, user_id="ada")
    task = await take_one(engine, worker)
    await submitted(engine, "fan", user_id="bob")
    await take_one(engine, other)
    paused = await engine.pause(**target, release_running=True, reason="now")
    assert paused.released == (2 if target == {"everything": True} else 1)
    found = await task_at(engine, TaskKey(mine, 0, 0))
    assert (found.status, found.attempt, found.reason) == (TaskStatus.READY, 0, str(paused.pause))
    assert await take(engine, worker) == []
    await engine.resume(**target)
    assert (await take_one(engine, worker)).token == task.token + 1


async def test_a_pause_has_a_record(engine: Engine, clock: FakeClock) -> None:
    paused_at = clock.now
    first = await engine.pause(user_id="ada", reason="unpaid", actor="operator:ann")
    again = await engine.pause(user_id="ada", reason="another", actor="operator:bob")
    assert (again.pause, again.changed) == (first.pause, False)
    assert str(first.pause) == 'jobs of user ada are paused by operator:ann: "unpaid"'
    assert await engine.pauses() == [first.pause]
    clock.advance(10)
    lifted = await engine.resume(user_id="ada", reason="paid", actor="operator:bob")
    assert (lifted.paused_at, lifted.resumed_at, lifted.resumed_by) == (paused_at, clock.now, "operator:bob")
    assert (lifted.reason, lifted.resumed_reason) == ("unpaid", "paid")
    assert await engine.pauses() == []
    second = await engine.pause(user_id="ada")
    assert await engine.pauses(lifted=True) == [second.pause, lifted]


async def test_a_mistake_is_refused(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline):
        await engine.pause(pipeline="simpel")
    with pytest.raises(InvalidRequest, match="no stage"):
        await engine.pause(pipeline="simple", stage="encode")
    with pytest.raises(NotFound):
        await engine.pause(worker="nobody")
    for target in (
        {},
        {"stage": "main"},
        {"pipeline": "simple", "user_id": "ada"},
        {"everything": True, "worker": "w"},
    ):
        with pytest.raises(InvalidRequest, match="one thing"):
            await engine.pause(**target)
    with pytest.raises(NotFound, match="ada"):
        await engine.resume(user_id="ada")
    assert await engine.pauses(lifted=True) == []


async def test_a_task_that_two_pauses_hold_waits_for_both(engine: Engine) -> None:
    worker = await a_worker(engine)
    await submitted(engine, user_id="ada")
    await engine.pause(user_id="ada")
    await engine.pause(pipeline="simple", stage="main")
    await engine.resume(user_id="ada")
    assert await take(engine, worker) == []
    await engine.resume(pipeline="simple", stage="main")
    assert len(await take(engine, worker)) == 1


async def test_parked_tasks_can_be_operated_and_have_their_lane_again(engine: Engine) -> None:
    worker = await a_worker(engine)
    job, other = await submitted(engine, user_id="ada"), await submitted(engine, user_id="ada")
    await engine.pause(user_id="ada")
    await engine.quarantine(job, reason="look at it")
    await engine.cancel(other)
    await engine.resume(user_id="ada")
    await engine.retry(job)
    assert [task.key.job_id for task in await take(engine, worker)] == [job]
    assert await status_of(engine, other) is JobStatus.CANCELLED


@pytest.mark.parametrize(
    "target", [{"pipeline": "simple"}, {"user_id": "ada"}, {"pipeline": "simple", "stage": "main"}]
)
async def test_a_paused_isolated_task_does_not_empty_workers(
    engine: Engine, clock: FakeClock, target: dict[str, Any]
) -> None:
    worker = await a_worker(engine)
    job = await submitted(engine, user_id="ada")
    await take_one(engine, worker)
    await lose(engine, clock)
    await engine.pause(**target)
    await submitted(engine, "fan")
    assert len(await take(engine, worker)) == 1, "it runs something"
    await submitted(engine, "fan")
    claim = await engine.claim(worker, 10)
    assert (len(claim.tasks), claim.isolated_waiting) == (1, False)
    await engine.complete([done(task, {"items": []}) for task in (await engine.claimed(worker, [])).tasks])
    await finish(engine, worker)
    await engine.resume(**target)
    assert [task.key.job_id for task in await take(engine, worker)] == [job]


async def test_a_keeper_returns_tasks_where_the_resume_was_interrupted(
    engine: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await a_worker(engine)
    await submitted(engine, user_id="ada")
    await engine.pause(user_id="ada")

    async def interrupted(_: object) -> int:
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(pause_service, "settle", interrupted)
        await engine.resume(user_id="ada")
    assert await take(engine, worker) == []
    assert await engine.settle_pauses() == 1
    assert len(await take(engine, worker)) == 1
    clock.advance(pause_service.SETTLE_AFTER)
    assert await engine.settle_pauses() == 0
    await submitted(engine, user_id="ada")
    assert len(await take(engine, worker)) == 1


async def test_a_pause_is_in_force_for_every_process(engine: Engine, database_url: str, clock: FakeClock) -> None:
    await submitted(engine)
    await engine.pause(pipeline="simple")
    async with open_engine(database_url, migrate=False, clock=clock) as other:
        worker = await a_worker(other, "other", pipelines=["simple"])
        assert await take(other, worker) == []
        await engine.resume(pipeline="simple")
        assert len(await take(other, worker)) == 1

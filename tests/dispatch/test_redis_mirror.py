"""The mirror of ready tasks: updated after commits, reconciled with the store, never required."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from reelstate.connections.redis import RedisClient, RedisSettings
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import ClaimedTask, Submission, TaskKey
from reelstate.dispatch.dispatch import Wakeup
from reelstate.dispatch.hints import ASK_STORE, ClaimFilter, Lane, ReadyTask
from reelstate.dispatch.mirror import Mirror
from reelstate.engine import Engine
from reelstate.services.mirror import mirror_ready, source_of
from tests.dispatch.redis_engines import ANYTHING, Statements, dispatch_of, hinted, redis_engine
from tests.engines import a_worker, done
from tests.manual_sql import ManualSql
from tests.waiting import until


@pytest.fixture(params=["sorted", "streams"])
async def engine(
    request: pytest.FixtureRequest, database_url: str, redis_settings: RedisSettings
) -> AsyncIterator[Engine]:
    """An engine on each store and with each queue in turn."""
    options = {"redis_prefix": redis_settings.prefix, "redis_queue": request.param}
    async with redis_engine(database_url, redis_settings.url, **options) as engine:
        yield engine


@pytest.fixture
async def small(postgres_database: str, redis_settings: RedisSettings) -> AsyncIterator[Engine]:
    """An engine whose mirror has room for ten tasks."""
    options = {"redis_prefix": redis_settings.prefix, "redis_mirror": 10}
    async with redis_engine(postgres_database, redis_settings.url, **options) as engine:
        yield engine


async def ready(engine: Engine) -> set[TaskKey]:
    return {each.key for each in await mirror_ready(engine.store, None, 100_000)}


async def mirrored(engine: Engine) -> bool:
    return await hinted(engine) == await ready(engine)


async def keys_of(redis: RedisClient) -> list[str]:
    return [str(key) for key in await redis.client.keys("*") if str(key).startswith(redis.key())]


async def test_what_is_submitted_is_hinted_at_and_what_is_claimed_is_not(engine: Engine) -> None:
    dispatch_of(engine).queue.taken_milliseconds = 3_600_000  # so that it comes back by no other way
    worker = await a_worker(engine)
    job = (await engine.submit("parts", {"parts": 5})).job_id
    await until(lambda: mirrored(engine), "the parts are mirrored")
    hints = await dispatch_of(engine).take_hints(ANYTHING, 2)
    assert hints.keys == [TaskKey(job, 0, 0), TaskKey(job, 0, 1)]
    assert not hints.look
    dispatch_of(engine).settle_hints(ANYTHING, hints, None)
    tasks: list[ClaimedTask] = []

    async def claimed() -> bool:
        tasks.extend((await engine.claim(worker, 10)).tasks)
        return sorted(task.key for task in tasks) == [TaskKey(job, 0, part) for part in range(5)]

    await until(claimed, "what was given back is claimed with the rest")
    await until(lambda: mirrored(engine), "nothing is mirrored any more")
    assert await hinted(engine) == set()


@pytest.mark.parametrize("way", ["verb", "sql"])
async def test_hints_follow_a_changed_priority(engine: Engine, database_url: str, way: str) -> None:
    """At once after the verb; after manual SQL with the next comparison."""
    first, second, third = [(await engine.submit("simple")).job_id for _ in range(3)]
    await until(lambda: mirrored(engine), "they are mirrored")
    if way == "verb":
        await engine.reprioritise(third, 9)
        await engine.reprioritise(first, 1)
    else:
        ManualSql(database_url).run(f"UPDATE jobs SET priority = 9 WHERE id = {third}")
        ManualSql(database_url).run(f"UPDATE jobs SET priority = 1 WHERE id = {first}")
        await engine.mirror()

    async def in_order() -> bool:
        return [key.job_id for key in await dispatch_of(engine).queue.peek(3)] == [third, second, first]

    await until(in_order, "the hints are in the new order")
    assert await mirrored(engine)


async def test_a_task_that_falls_behind_the_horizon_has_no_hint(small: Engine) -> None:
    jobs = [each.job_id for each in await small.submit_many([Submission(pipeline="simple")] * 12)]
    await small.mirror()
    assert TaskKey(jobs[0], 0, 0) in await hinted(small)
    await small.reprioritise(jobs[0], 1)

    async def is_gone() -> bool:
        return TaskKey(jobs[0], 0, 0) not in await hinted(small)

    await until(is_gone, "its hint is gone")


async def test_a_hint_is_given_after_the_commit_and_not_for_what_was_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequest):
        await engine.submit_many([Submission(pipeline="simple"), Submission(pipeline="simple", priority=99)])
    await engine.submit("simple", delay=60.0)
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    assert await hinted(engine) == {TaskKey(job, 0, 0)}


async def test_while_busy_tasks_are_claimed_without_hints_and_mirrored_again_afterwards(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit("parts", {"parts": 30})
    await until(lambda: mirrored(engine), "the parts are mirrored")
    assert len((await engine.claim(worker, 20)).tasks) == 20
    queue = dispatch_of(engine).queue

    async def is_busy() -> bool:
        return queue.is_busy

    await until(is_busy, "a worker got many at once")
    job = (await engine.submit("simple")).job_id
    claimed = [task.key for task in (await engine.claim(worker, 100)).tasks]
    assert len(claimed) == 11
    assert TaskKey(job, 0, 0) in claimed
    later = (await engine.submit("simple", priority="low")).job_id

    async def believed() -> bool:
        hints = await dispatch_of(engine).take_hints(ANYTHING, 1)
        dispatch_of(engine).settle_hints(ANYTHING, hints, None)
        return hints.keys == [TaskKey(later, 0, 0)] and not hints.look

    await until(believed, "there is a mirror again, and the store is not asked")
    assert await hinted(engine) == {TaskKey(later, 0, 0)}


async def test_what_was_claimed_without_a_hint_and_is_ready_again_is_hinted_at(engine: Engine) -> None:
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    dispatch = dispatch_of(engine)
    dispatch.tasks_claimed([TaskKey(job, 0, 0)])
    dispatch.tasks_ready([job])
    other = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "both are mirrored")
    assert await hinted(engine) == {TaskKey(job, 0, 0), TaskKey(other, 0, 0)}


async def test_what_is_reclaimed_is_hinted_at_again(engine: Engine) -> None:
    worker = await a_worker(engine)
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    assert len((await engine.claim(worker)).tasks) == 1
    await until(lambda: mirrored(engine), "nothing is mirrored any more")
    assert await hinted(engine) == set()
    assert (await engine.reclaim(dead=[worker], expired=False)).ready == 1
    await until(lambda: mirrored(engine), "it is mirrored again")
    assert await hinted(engine) == {TaskKey(job, 0, 0)}


async def test_an_idle_worker_does_not_ask_the_store(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = await a_worker(engine)
    await engine.claim(worker)  # learns which lanes there are
    asked = Statements(engine, monkeypatch)
    for _ in range(50):
        assert (await engine.claim(worker, 4)).tasks == []
    assert asked.counted.total() <= 1, "one look of its own may be due"


async def test_reconciling_adds_missing_and_removes_wrong_hints(engine: Engine) -> None:
    await engine.submit_many([Submission(pipeline="simple")] * 20)
    await until(lambda: mirrored(engine), "they are mirrored")
    queue = dispatch_of(engine).queue
    waiting = await mirror_ready(engine.store, None, 100)
    await queue.remove([each.key for each in waiting[:5]])
    await queue.add([type(each)(each.key._replace(part=7), each.priority, each.number, each.lane) for each in waiting])
    assert not await mirrored(engine)
    await engine.mirror()
    assert await mirrored(engine)
    assert await queue.size() == 20


async def test_keys_that_redis_evicted_are_created_again(engine: Engine) -> None:
    await engine.submit_many([Submission(pipeline="simple")] * 5)
    await until(lambda: mirrored(engine), "they are mirrored")
    redis = dispatch_of(engine).redis
    keys = await keys_of(redis)
    assert len(keys) >= 4
    for key in keys:
        await redis.client.delete(key)
        await engine.mirror()
        worker = await a_worker(engine)
        tasks = (await engine.claim(worker, 1)).tasks
        assert len(tasks) == 1, f"without {key}"
        await engine.complete([done(task) for task in tasks])
        await engine.submit("simple")
        await until(lambda: mirrored(engine), f"the mirror is complete again without {key}")


async def test_after_flushall_the_next_claim_fills_the_mirror_again(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.submit_many([Submission(pipeline="simple")] * 50)
    await until(lambda: mirrored(engine), "they are mirrored")
    redis = dispatch_of(engine).redis
    await redis.client.delete(*await keys_of(redis))
    assert len((await engine.claim(worker, 3)).tasks) == 3, "the store is asked instead"

    async def all_are_known() -> bool:
        return await ready(engine) <= await hinted(engine)  # what was claimed meanwhile may be there, too

    await until(all_are_known, "they are mirrored again")
    assert len(await ready(engine)) == 47


async def test_a_wrong_hint_costs_one_claim_and_is_removed(engine: Engine) -> None:
    worker = await a_worker(engine)
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    await engine.cancel(job)
    assert await hinted(engine) == {TaskKey(job, 0, 0)}, "Redis does not know of it"
    assert (await engine.claim(worker)).tasks == []
    await until(lambda: mirrored(engine), "the hint is gone")


async def test_what_is_taken_back_from_a_dead_worker_is_hinted_at_again(engine: Engine) -> None:
    dead = await a_worker(engine)
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    assert [task.key.job_id for task in (await engine.claim(dead)).tasks] == [job]
    await until(lambda: mirrored(engine), "its hint is gone")
    assert await hinted(engine) == set()
    assert (await engine.reclaim(dead=[dead], expired=False)).ready == 1
    await until(lambda: mirrored(engine), "it is mirrored again")
    assert {key.job_id for key in await hinted(engine)} == {job}


async def test_a_worker_that_drains_takes_no_hint_from_others(engine: Engine) -> None:
    dispatch_of(engine).queue.taken_milliseconds = 3_600_000  # so that it comes back by no other way
    worker, other = await a_worker(engine), await a_worker(engine, "other")
    await engine.drain("worker")
    job = (await engine.submit("simple")).job_id
    await until(lambda: mirrored(engine), "it is mirrored")
    assert (await engine.claim(worker)).tasks == []

    async def claimed() -> bool:
        return [task.key.job_id for task in (await engine.claim(other)).tasks] == [job]

    await until(claimed, "another worker gets it at once")


async def holds_ten(engine: Engine) -> bool:
    return len(await hinted(engine)) == 10


async def test_more_than_the_mirror_holds_is_given_out_in_order_all_the_same(small: Engine) -> None:
    worker = await a_worker(small)
    made = await small.submit_many([Submission(pipeline="simple", priority=number % 3) for number in range(35)])
    order = sorted(range(35), key=lambda number: (-(number % 3), number))
    await until(lambda: holds_ten(small), "what is too much is cut off")
    found = []
    while tasks := (await small.claim(worker, 4)).tasks:
        found += [task.key.job_id for task in tasks]
        await small.complete([done(task) for task in tasks])
    assert found == [made[number].job_id for number in order]
    await until(lambda: mirrored(small), "the mirror is in order again")


async def test_beyond_the_mirror_new_work_that_is_urgent_comes_first(small: Engine) -> None:
    worker = await a_worker(small)
    await small.submit_many([Submission(pipeline="simple", priority=5)] * 20)
    await until(lambda: holds_ten(small), "what is too much is cut off")
    late = (await small.submit("simple", priority=5)).job_id
    urgent = (await small.submit("simple", priority=8)).job_id

    async def urgent_is_known() -> bool:
        return TaskKey(urgent, 0, 0) in await hinted(small)

    await until(urgent_is_known, "the urgent one is mirrored")
    assert TaskKey(late, 0, 0) not in await hinted(small), "it stands behind others that are not mirrored"
    assert [task.key.job_id for task in (await small.claim(worker)).tasks] == [urgent]


async def test_an_unmarked_mirror_is_not_used(engine: Engine) -> None:
    await engine.submit("simple")
    dispatch = dispatch_of(engine)
    await until(lambda: mirrored(engine), "it is mirrored")
    await dispatch.queue.clear()
    assert await dispatch.take_hints(ANYTHING, 1) == ASK_STORE
    await until(lambda: mirrored(engine), "it is mirrored again")


async def test_two_engines_may_reconcile_at_once(engine: Engine) -> None:
    await engine.submit_many([Submission(pipeline="simple")] * 100)
    await asyncio.gather(*(engine.mirror() for _ in range(5)))
    await until(lambda: mirrored(engine), "every task is hinted at")


async def test_a_worker_is_not_handed_what_it_can_not_run(engine: Engine) -> None:
    dispatch = dispatch_of(engine)
    lane = Lane("simple", frozenset({"gpu"}), frozenset())
    await dispatch.queue.add([ReadyTask(TaskKey(1 << 30, 0, 0), 5, 77, lane)])
    assert (await dispatch.take_hints(ANYTHING, 5)).hints == []
    able = ClaimFilter(ANYTHING.pipelines, frozenset({"gpu"}))
    assert (await dispatch.take_hints(able, 5)).keys == [TaskKey(1 << 30, 0, 0)]


async def test_a_mirror_full_of_what_an_idle_worker_can_not_run_is_not_read_again_and_again(
    small: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await small.submit_many([Submission(pipeline="simple", priority=8)] * 20)
    await until(lambda: holds_ten(small), "what is too much is cut off")
    worker = await a_worker(small, "other", pipelines=["parts"])
    await small.claim(worker)
    listener = small.dispatch.listen([Wakeup.WORK])
    while await listener.wait(0.2):
        pass
    asked = Statements(small, monkeypatch)
    for _ in range(20):
        assert (await small.claim(worker)).tasks == []
        await listener.wait(0.02)
    listener.close()
    assert asked.counted["read"] == 0, "what is mirrored is as it was"
    beyond = (await small.submit("parts", {"parts": 1})).job_id
    assert [task.key.job_id for task in (await small.claim(worker)).tasks] == [beyond], "the store is asked"


async def test_one_of_many_processes_fills_a_lost_mirror(small: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    await small.submit_many([Submission(pipeline="simple")] * 5)
    await until(lambda: mirrored(small), "they are mirrored")
    dispatch, source = dispatch_of(small), source_of(small.store, small.catalogue)
    asked = Statements(small, monkeypatch)
    await dispatch.queue.clear()
    fleet = [Mirror(type(dispatch.queue)(dispatch.redis), 10) for _ in range(8)]
    added = await asyncio.gather(*(mirror.fill(source, ("channel", "")) for mirror in fleet))
    assert sorted(added) == [0] * 7 + [5]
    assert asked.counted["read"] == 1
    await dispatch.queue.clear()
    assert await fleet[0].fill(source, ("channel", "")) == 5, "a later process may fill it"

"""One suite for every dispatch: two engines on one store, as two processes have them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.connections.redis import RedisSettings
from reelstate.core.model import ClaimedTask, Release, Submission, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.policy import Backoff
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.engine import Engine
from tests.dispatch.conftest import wait_for
from tests.engines import FAN, PARTS, SIMPLE, a_worker, done, failed
from tests.waiting import INTERVAL, until

KINDS = {
    "poll": {"dispatch": "poll"},
    "notify": {"dispatch": "database"},
    "sorted": {"dispatch": "redis", "redis_queue": "sorted"},
    "streams": {"dispatch": "redis", "redis_queue": "streams"},
    "hybrid": {"dispatch": "hybrid"},
}
NEEDY = Graph.of("needy", [StageSpec(name="main", needs=frozenset({"gpu"}))])
PICKY = Graph.of("picky", [StageSpec(name="main", prefers=frozenset({"gpu"}))])
RETRIED = Graph.of("retried", [StageSpec(name="main", attempts=3, backoff=Backoff(base=0.05, cap=0.05))])
Open = Callable[..., Awaitable[Engine]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(kind: str, redis_settings: RedisSettings) -> Settings:
    place = {"redis_url": redis_settings.url, "redis_prefix": redis_settings.prefix, "redis_timeout": 5.0}
    options: dict[str, Any] = {**KINDS[kind], **place}
    return Settings(**options)


@pytest.fixture
async def opened(settings: Settings, postgres_database: str) -> AsyncIterator[Open]:
    """Opens engines as different processes would."""
    async with AsyncExitStack() as stack:

        async def another() -> Engine:
            graphs = [SIMPLE, FAN, PARTS, NEEDY, PICKY, RETRIED]
            return await stack.enter_async_context(open_engine(postgres_database, pipelines=graphs, settings=settings))

        yield another


@pytest.fixture
async def here(opened: Open) -> Engine:
    return await opened()


@pytest.fixture
async def there(opened: Open) -> Engine:
    return await opened()


async def claimed(engine: Engine, worker: int, count: int = 1, **options: Any) -> list[ClaimedTask]:
    """Claim `count` tasks, waiting for wake-ups or polling."""
    found: list[ClaimedTask] = []
    listener = engine.dispatch.listen()
    try:
        async with asyncio.timeout(300):
            while len(found) < count:
                found += (await engine.claim(worker, count - len(found), **options)).tasks
                if len(found) < count:
                    await listener.wait(0.1)
    finally:
        listener.close()
    return found


async def test_a_wakeup_reaches_its_own_process(here: Engine) -> None:
    listener = here.dispatch.listen(EVERY_WAKEUP)
    here.dispatch.notify(Wakeup.STATE)
    assert Wakeup.STATE in await wait_for(listener, Wakeup.STATE)


async def test_a_wakeup_reaches_other_processes(here: Engine, there: Engine, kind: str) -> None:
    if kind == "poll":
        pytest.skip("it has none between processes")
    listener = there.dispatch.listen(EVERY_WAKEUP)
    await wait_for(listener, Wakeup.WORK)  # a new listener may have missed some
    for wakeup in Wakeup:
        here.dispatch.notify(wakeup)
        assert await wait_for(listener, wakeup) == {wakeup}


async def test_what_one_submits_another_claims(here: Engine, there: Engine) -> None:
    worker = await a_worker(there)
    jobs = [(await here.submit("simple")).job_id for _ in range(3)]
    assert [task.key.job_id for task in await claimed(there, worker, 3)] == jobs


async def test_the_stages_that_a_completion_opens_are_claimed_elsewhere(here: Engine, there: Engine) -> None:
    one, other = await a_worker(here), await a_worker(there)
    job = (await here.submit("fan")).job_id
    (plan,) = await claimed(there, other)
    assert await there.complete([done(plan, {"items": [1, 2, 3]})]) == [Verdict.OK]
    parts = await claimed(here, one, 3)
    assert [(task.key.job_id, task.input) for task in parts] == [(job, 1), (job, 2), (job, 3)]


async def test_what_is_released_or_due_again_is_claimed_elsewhere(here: Engine, there: Engine) -> None:
    one, other = await a_worker(here), await a_worker(there)
    await here.submit("retried")
    (task,) = await claimed(here, one)
    assert await here.release([Release(key=task.key, token=task.token)]) == [Verdict.OK]
    (again,) = await claimed(there, other)
    assert await there.fail([failed(again)]) == [Verdict.OK]

    async def due() -> bool:
        return bool((await there.orchestrate()).ready)

    await until(due)
    (third,) = await claimed(here, one)
    assert third.key == task.key
    assert third.attempt == 2


async def test_reclaimed_work_wakes_idle_workers_of_other_processes(here: Engine, there: Engine, kind: str) -> None:
    dead, idle = await a_worker(here), await a_worker(there)
    await here.submit("retried")
    (task,) = await claimed(here, dead)
    if kind == "poll":  # it has no wake-ups between processes
        listener = here.dispatch.listen((Wakeup.WORK,))
    else:
        listener = there.dispatch.listen((Wakeup.WORK,))
        await wait_for(listener, Wakeup.WORK)  # a new listener may have missed some
    assert (await here.reclaim(dead=[dead], expired=False)).ready == 1
    assert await wait_for(listener, Wakeup.WORK) == {Wakeup.WORK}
    (again,) = await claimed(there, idle)
    assert (again.key, again.lost) == (task.key, 1)


async def test_a_worker_gets_nothing_that_it_can_not_run(here: Engine, there: Engine) -> None:
    plain = await a_worker(here)
    able = await a_worker(there, "able", capabilities=["gpu"])
    await here.submit("needy", priority=10)
    job = (await here.submit("simple", priority=0)).job_id
    assert [task.key.job_id for task in await claimed(here, plain)] == [job]
    assert (await here.claim(plain)).tasks == []
    assert [task.pipeline for task in await claimed(there, able)] == ["needy"]


async def test_what_prefers_another_worker_is_kept_for_it_and_not_forever(here: Engine, there: Engine) -> None:
    plain = await a_worker(here)
    able = await a_worker(there, "able", capabilities=["gpu"])
    await here.submit("picky")
    for _ in range(3):
        assert (await here.claim(plain)).tasks == []
    assert [task.pipeline for task in await claimed(there, able)] == ["picky"]
    await here.submit("picky")
    assert [task.pipeline for task in await claimed(here, plain, gpu_grace=0.0)] == ["picky"]


async def test_urgent_work_comes_first(here: Engine, kind: str) -> None:
    worker = await a_worker(here)
    priorities = [3, 5, 9, 0, 7, 6]
    await here.submit_many([Submission(pipeline="simple", spec=each, priority=each) for each in priorities])
    found = [(await claimed(here, worker))[0].spec for _ in priorities]
    if kind == "streams":
        assert [set(found[:2]), set(found[2:4]), set(found[4:])] == [{7, 9}, {5, 6}, {0, 3}]
    else:
        assert found == [9, 7, 6, 5, 3, 0]


async def test_an_isolated_task_is_found_and_runs_alone(here: Engine, there: Engine) -> None:
    worker, other = await a_worker(here, slots=4), await a_worker(there, slots=4)
    job = (await here.submit("simple")).job_id
    (task,) = await claimed(here, worker)
    await here.reclaim(dead=[worker], expired=False)
    more = (await here.submit("simple")).job_id
    assert [(each.key, each.lost) for each in await claimed(there, other)] == [(task.key, 1)]
    assert (await there.claim(other, 2)).tasks == [], "nothing beside an isolated task"
    assert await there.complete([done((await _held(there, job, task))[0])]) == [Verdict.OK]
    assert [each.key.job_id for each in await claimed(there, other)] == [more]


async def _held(engine: Engine, job: int, task: ClaimedTask) -> list[ClaimedTask]:
    """The task as its present holder has it."""
    (row,) = (await engine.tasks(job)).items
    return [ClaimedTask(task.key, row.token, 2, 3, 1, 60.0, None, None, "simple", "main", {})]


async def test_many_claimers_get_every_task_once(here: Engine, there: Engine) -> None:
    workers = [(engine, await a_worker(engine)) for engine in (here, there) for _ in range(4)]
    jobs = [each.job_id for each in await here.submit_many([Submission(pipeline="simple")] * 200)]
    found: list[int] = []

    async def work(engine: Engine, worker: int) -> None:
        async with asyncio.timeout(300):
            while len(found) < len(jobs):
                tasks = (await engine.claim(worker, 7)).tasks
                found.extend(task.key.job_id for task in tasks)
                if tasks:
                    assert set(await engine.complete([done(task) for task in tasks])) == {Verdict.OK}
                else:
                    await asyncio.sleep(INTERVAL)  # the others hold the rest, and give no signal

    await asyncio.gather(*(work(*each) for each in workers))
    assert sorted(found) == jobs


async def test_an_empty_claim_returns_nothing_and_an_invalid_one_is_refused(here: Engine) -> None:
    worker = await a_worker(here)
    assert (await here.claim(worker, 5)).tasks == []
    with pytest.raises(Exception, match="limit: 0 is not a number of tasks"):
        await here.claim(worker, 0)
    with pytest.raises(Exception, match="worker 77 is not registered"):
        await here.claim(77)


async def test_what_was_submitted_right_before_the_end_of_a_process_is_found(
    there: Engine, settings: Settings, postgres_database: str
) -> None:
    worker = await a_worker(there)
    async with open_engine(postgres_database, pipelines=[SIMPLE], settings=settings) as brief:
        job = (await brief.submit("simple")).job_id
    assert [task.key.job_id for task in await claimed(there, worker)] == [job]


async def test_a_cancelled_task_is_not_claimed_although_it_was_hinted_at(here: Engine) -> None:
    worker = await a_worker(here)
    job = (await here.submit("simple")).job_id
    other = (await here.submit("simple")).job_id
    await here.cancel(job)
    assert [task.key.job_id for task in await claimed(here, worker)] == [other]
    assert (await here.claim(worker, 5)).tasks == []

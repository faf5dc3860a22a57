"""The loop: who does what and how often, and that nothing ends it but a cancel."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.core.errors import NotFound, StoreError, StoreFull, StoreUnavailable
from reelstate.core.machine import TaskStatus
from reelstate.core.model import Progress, Task
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.keeper import JITTER, LEAVE_TIMEOUT, PRUNE_EVERY, Keeper, add_jitter
from reelstate.runtime.process_identity import own_machine, own_process
from tests.engines import FakeClock, a_worker, engine_at
from tests.keeper.counting_engine import TIMEOUT, CountingEngine
from tests.keeper.test_process_identity import TELL
from tests.postgres import PostgresServer

FAST = Settings(orchestrate_every=0.01, sweep_every=0.01, check_every=0.02)
HERE = pytest.mark.skipif(own_machine() is None, reason="there is no /proc here")


@pytest.fixture
def watched(engine: Engine) -> CountingEngine:
    return CountingEngine(engine)


@asynccontextmanager
async def running(keeper: Keeper) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(keeper.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def the_task(engine: Engine, job_id: int) -> Task:
    (task,) = (await engine.tasks(job_id)).items
    return task


async def a_leased_job(engine: Engine, worker: int | None = None) -> int:
    job_id = (await engine.submit("simple")).job_id
    await engine.claim(worker or await a_worker(engine))
    return job_id


async def statuses(engine: Engine, job_id: int) -> dict[str, int]:
    tasks = (await engine.tasks(job_id, limit=10_000)).items
    return {status: [task.status for task in tasks].count(status) for status in {task.status for task in tasks}}


# What is done, and when


def test_the_duties_read_like_a_table(watched: CountingEngine) -> None:
    settings = Settings(orchestrate_every=1, sweep_every=5, check_every=300)
    table = [(duty.name, duty.interval, duty.leader_only) for duty in Keeper(watched, settings).duties]
    assert table == [
        ("sweep", 5, False),
        ("orchestrate", 1, True),
        ("relax", 5, True),
        ("check", 300, True),
        ("prune", PRUNE_EVERY, True),
        ("prune states", PRUNE_EVERY, True),
    ]


async def test_a_keeper_alone_does_everything(watched: CountingEngine) -> None:
    async with running(Keeper(watched, FAST)):
        for verb, times in {
            "orchestrate": 3,
            "reclaim": 3,
            "reclaim_workers": 3,
            "check": 2,
            "prune_workers": 1,
            "prune_states": 1,
        }.items():
            await watched.times(verb, times - watched.done[verb])
    assert watched.done["prune_workers"] == 1


async def test_states_are_kept_as_long_as_the_setting_says(watched: CountingEngine, clock: FakeClock) -> None:
    async with await watched.state_manager("nightly", 0, 1) as manager:
        await manager.set_finished("copy")
    clock.advance(100)
    async with running(Keeper(watched, replace(FAST, keep_states=101))):
        await watched.times("prune_states", 1)
    assert (await watched.state_store.find_job("nightly")).tasks == 1
    async with running(Keeper(watched, replace(FAST, keep_states=99))):
        await watched.times("prune_states", 1)
    with pytest.raises(NotFound):
        await watched.state_store.find_job("nightly")


async def test_pauses_vary_a_little() -> None:
    pauses = [add_jitter(5.0) for _ in range(200)]
    assert len(set(pauses)) > 100
    assert 5 * (1 - JITTER) <= min(pauses) < 4.8
    assert 5.2 < max(pauses) <= 5 * (1 + JITTER)


async def test_what_becomes_due_is_made_ready(watched: CountingEngine, clock: FakeClock) -> None:
    job_id = (await watched.submit("simple", delay=30)).job_id
    async with running(Keeper(watched, FAST)):
        await watched.times("orchestrate", 2)
        assert (await the_task(watched, job_id)).status is TaskStatus.NEW
        clock.advance(31)
        await watched.times("orchestrate", 2)
        assert (await the_task(watched, job_id)).status is TaskStatus.READY


async def test_an_expired_lease_is_taken_back_and_its_worker_marked(watched: CountingEngine, clock: FakeClock) -> None:
    job_id = await a_leased_job(watched)
    async with running(Keeper(watched, FAST)):
        for _ in range(4):
            await watched.times("reclaim_workers", 2)
            assert (await the_task(watched, job_id)).status is TaskStatus.RUNNING
            clock.advance(15.5)
        await watched.times("reclaim_workers", 2)
    assert (await the_task(watched, job_id)).reason == "lease expired"
    assert [worker.status for worker in await watched.workers()] == ["offline"]


@pytest.mark.parametrize("action", ["recover", "flag"])
async def test_a_run_without_progress_is_recovered_or_flagged_as_the_deployment_says(
    watched: CountingEngine, clock: FakeClock, caplog: pytest.LogCaptureFixture, action: str
) -> None:
    worker = await a_worker(watched)
    job_id = await a_leased_job(watched, worker)
    keeper = Keeper(watched, Settings(stall_after=100, stall_action=action))
    caplog.set_level(logging.WARNING)
    for _ in range(10):
        await keeper.duties[0].run()
        assert (await watched.job(job_id)).job.flagged is None
        clock.advance(10)
        task = await the_task(watched, job_id)
        assert task.status is TaskStatus.RUNNING
        await watched.report(worker, [Progress(key=task.key, token=task.token)])
    await keeper.duties[0].run()
    task, job = await the_task(watched, job_id), (await watched.job(job_id)).job
    if action == "recover":
        assert (task.status, task.reason, job.flagged) == (TaskStatus.READY, "stalled", None)
    else:
        assert task.status is TaskStatus.RUNNING
        assert job.flagged == f"task {task.key} of stage main has reported no progress for 100 s"
        assert f"job flagged job={job_id} " in caplog.text


async def test_nothing_stalls_unless_the_deployment_or_the_stage_says_so(
    watched: CountingEngine, clock: FakeClock
) -> None:
    worker = await a_worker(watched)
    job_id = await a_leased_job(watched, worker)
    keeper = Keeper(watched, Settings(stall_action="flag"))
    await keeper.duties[0].run()
    for _ in range(100):
        clock.advance(50)
        task = await the_task(watched, job_id)
        await watched.report(worker, [Progress(key=task.key, token=task.token)])
    await keeper.duties[0].run()
    assert (await the_task(watched, job_id)).status is TaskStatus.RUNNING
    assert (await watched.job(job_id)).job.flagged is None


async def test_after_a_gap_nothing_is_taken_back_for_the_grace(
    watched: CountingEngine, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = await a_leased_job(watched)
    await Keeper(watched, FAST).duties[0].run()
    clock.advance(100)
    async with running(Keeper(watched, FAST)):
        for _ in range(3):
            await watched.times("lead", 2)
            assert (await the_task(watched, job_id)).status is TaskStatus.RUNNING
            assert [worker.status for worker in await watched.workers()] == ["active"]
            clock.advance(15)
        clock.advance(16)
        await watched.times("reclaim", 2)
    assert (await the_task(watched, job_id)).status is TaskStatus.READY
    warnings = {record.getMessage() for record in caplog.records if "no keeper was here" in record.getMessage()}
    assert warnings == {"no keeper was here for a while: leases that ran out have 60 s of grace"}


async def test_one_sweep_takes_back_no_more_than_its_limit(watched: CountingEngine, clock: FakeClock) -> None:
    job_id = (await watched.submit("parts", {"parts": 1200})).job_id
    worker = await a_worker(watched, slots=2000)
    await watched.claim(worker, 1200)
    keeper = Keeper(watched, Settings())
    for _ in range(5):
        await keeper.duties[0].run()
        clock.advance(15)
    left = []
    for _ in range(3):
        left.append((await statuses(watched, job_id)).get("running", 0))
        await keeper.duties[0].run()
    assert left == [1200, 700, 200]
    assert await statuses(watched, job_id) == {"ready": 1200}


async def test_it_is_on_record_that_sweeps_go_through(watched: CountingEngine, clock: FakeClock) -> None:
    keeper = Keeper(watched, Settings())
    sweep = keeper.duties[0]
    await sweep.run()
    assert (await watched.keepers()).swept_at is None
    clock.advance(5)
    watched.faults["reclaim"] = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        await sweep.run()
    swept = clock.now
    assert (await watched.keepers()).swept_at == swept
    clock.advance(5)
    with pytest.raises(ValueError, match="broken"):
        await sweep.run()
    assert (await watched.keepers()).swept_at == swept
    assert (await watched.keepers()).seen_at == clock.now


# The lead


async def test_one_leads_and_the_other_takes_over_at_once_when_it_stops(engine: Engine) -> None:
    first, second = CountingEngine(engine), CountingEngine(engine)
    leader, other = Keeper(first, FAST), Keeper(second, FAST)
    async with running(leader) as task:
        await first.times("orchestrate", 1)
        async with running(other):
            await second.times("lead", 3)
            assert (leader.leads, other.leads) == (True, False)
            assert second.done.keys() == {"lead"}
            task.cancel()
            await asyncio.wait({task})
            await second.times("orchestrate", 1)
            assert (leader.leads, other.leads) == (False, True)
            assert (await engine.keepers()).leader == other.name
    assert (await engine.keepers()).leader is None


async def test_a_leader_that_died_is_replaced_when_its_lead_ends(watched: CountingEngine, clock: FakeClock) -> None:
    settings = Settings(sweep_every=0.01, orchestrate_every=0.01, check_every=100)
    await Keeper(watched, Settings(sweep_every=5)).duties[0].run()
    keeper = Keeper(watched, settings)
    async with running(keeper):
        clock.advance(9)
        await watched.times("lead", 2)
        assert not keeper.leads
        clock.advance(1)
        await watched.times("orchestrate", 1)
        assert keeper.leads


async def test_one_that_lost_the_lead_stops_its_duties(watched: CountingEngine) -> None:
    keeper = Keeper(watched, FAST)
    async with running(keeper):
        await watched.times("orchestrate", 1)
        await usurp(watched, keeper)
        await watched.times("lead", 2)
        assert not keeper.leads
        seen = watched.done["orchestrate"]
        await watched.times("lead", 5)
        assert watched.done["orchestrate"] <= seen + 1


async def usurp(engine: Engine, keeper: Keeper) -> None:
    """Take the lead from a keeper that tries to have it back all the time."""
    while not (await Engine.lead(engine, "another", lead=1000.0, gap=60.0, grace=0.0)).leads:
        await engine.leave(keeper.name)


async def test_of_many_keepers_at_once_one_leads(database_url: str) -> None:
    terms = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
    async with engine_at(database_url) as first, engine_at(database_url) as second:
        answers = await asyncio.gather(
            *((first, second)[number % 2].lead(f"keeper {number}", **terms) for number in range(20))
        )
    assert [answer.leads for answer in answers].count(True) == 1


class Usurper(CountingEngine):
    """Whoever asks leads."""

    async def lead(self, keeper: str, **terms: Any) -> Any:
        await super().leave((await self.keepers()).leader or "")
        return await super().lead(keeper, **terms)


async def test_two_keepers_that_both_lead_do_no_harm(database_url: str, clock: FakeClock) -> None:
    """Both sweep, orchestrate and prune the same leases and retries; each task is moved once by one of them."""
    graph = Graph.of("flaky", [StageSpec(name="part", each="spec.parts", attempts=20)])
    settings = Settings(sweep_every=0.01, orchestrate_every=0.01, check_every=0.05, sweep_limit=40)
    async with (
        engine_at(database_url, clock, [graph]) as first,
        engine_at(database_url, clock, [graph]) as second,
    ):
        keepers = [Usurper(first), Usurper(second)]
        job_id = (await first.submit("flaky", {"parts": 300})).job_id
        await first.claim(await a_worker(first, slots=1000), 300)
        async with running(Keeper(keepers[0], settings)), running(Keeper(keepers[1], settings)):
            for _ in range(5):
                await asyncio.gather(*(keeper.times("lead", 1) for keeper in keepers))
                clock.advance(15)
            async with asyncio.timeout(TIMEOUT):
                while (await statuses(first, job_id)).keys() != {TaskStatus.READY}:
                    await asyncio.gather(*(keeper.times("reclaim", 1) for keeper in keepers))
        assert {(task.version, task.lost) for task in (await first.tasks(job_id, limit=500)).items} == {(3, 1)}
        assert all(keeper.done["reclaim"] for keeper in keepers)
        assert not [verb for keeper in keepers for verb in keeper.done if verb.startswith("failed")]
        assert (await first.doctor()).findings == ()


# Dead neighbours


@pytest.fixture
def neighbour() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-c", TELL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, {"process": json.loads(process.stdout.readline())}
        process.kill()


@HERE
async def test_the_leases_of_a_killed_neighbour_are_taken_back_by_a_keeper_that_does_not_lead(
    watched: CountingEngine, neighbour: tuple[subprocess.Popen[str], dict[str, Any]], clock: FakeClock
) -> None:
    process, metadata = neighbour
    await Engine.lead(watched, "another", lead=1000.0, gap=60.0, grace=120.0)
    clock.advance(100)
    await Engine.lead(watched, "another", lead=1000.0, gap=60.0, grace=120.0)
    job_id = await a_leased_job(watched, await a_worker(watched, metadata=metadata))
    keeper = Keeper(watched, FAST)
    async with running(keeper):
        await watched.times("lead", 2)
        assert (await the_task(watched, job_id)).status is TaskStatus.RUNNING
        process.kill()
        await watched.times("reclaim", 1)
        assert not keeper.leads
    task = await the_task(watched, job_id)
    assert (task.status, task.reason, task.attempt) == (TaskStatus.READY, "worker died", 1)
    assert [worker.status for worker in await watched.workers()] == ["offline"]
    assert watched.done["reclaim"] == 1, "the dead are buried once"


@HERE
async def test_a_stopped_neighbour_keeps_its_leases(
    watched: CountingEngine, neighbour: tuple[subprocess.Popen[str], dict[str, Any]]
) -> None:
    process, metadata = neighbour
    job_id = await a_leased_job(watched, await a_worker(watched, metadata=metadata))
    process.send_signal(signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    await Keeper(watched, FAST).duties[0].run()
    assert (await the_task(watched, job_id)).status is TaskStatus.RUNNING


@HERE
async def test_the_dead_and_the_expired_share_the_limit_of_a_sweep(watched: CountingEngine, clock: FakeClock) -> None:
    own: Any = own_process()
    dead = await a_worker(watched, "dead", metadata={"process": {**own, "started": own["started"] - 1}})
    living = await a_worker(watched, "living", metadata={"process": own})
    job_id = (await watched.submit("parts", {"parts": 10})).job_id
    await watched.claim(dead, 4)
    await watched.claim(living, 6)
    keeper = Keeper(watched, Settings(sweep_limit=3, keeper_gap=1000))
    for _ in range(5):
        await Engine.lead(watched, "another", lead=10.0, gap=1000.0, grace=120.0)
        clock.advance(15)
    ready = []
    for _ in range(4):
        await keeper.duties[0].run()
        ready.append((await statuses(watched, job_id))["ready"])
    assert ready == [3, 6, 9, 10]
    reasons = [task.reason for task in (await watched.tasks(job_id)).items]
    assert (reasons.count("worker died"), reasons.count("lease expired")) == (4, 6)


# What goes wrong


class Deaf(CountingEngine):
    """A verb that is through at the very moment of its cancel, and does not pass it on."""

    async def orchestrate(self, **options: Any) -> Any:
        result = await super().orchestrate(**options)
        if self.done["orchestrate"] == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return result


async def test_a_cancel_that_a_verb_swallowed_still_ends_the_keeper(engine: Engine) -> None:
    deaf = Deaf(engine)
    task = asyncio.create_task(Keeper(deaf, Settings(sweep_every=0.01)).run())
    await deaf.times("orchestrate", 1)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=300)
    task.cancel()
    assert done == {task}
    assert (await engine.keepers()).leader is None


@pytest.mark.parametrize(
    "fault, traced", [(StoreFull("no room", hint="make some"), False), (StoreError("who knows"), True)]
)
async def test_a_verb_that_fails_is_logged_once_and_tried_again_and_stops_no_other(
    watched: CountingEngine, caplog: pytest.LogCaptureFixture, fault: Exception, traced: bool
) -> None:
    caplog.set_level(logging.INFO, "reelstate.keeper")
    watched.faults["orchestrate"] = fault
    async with running(Keeper(watched, FAST)) as task:
        await watched.times("failed orchestrate", 5)
        await watched.times("reclaim", 5)
        del watched.faults["orchestrate"]
        await watched.times("orchestrate", 2)
        assert not task.done()
    failures = [record for record in caplog.records if record.getMessage().startswith("orchestrate")]
    assert [record.getMessage() for record in failures] == [
        f"orchestrate failed: {fault}; it is tried again every 0.01 s",
        "orchestrate works again",
    ]
    assert bool(failures[0].exc_info) == traced


async def test_an_outage_is_logged_once_whatever_meets_it(
    watched: CountingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    away = StoreUnavailable("the server is gone", hint="start it")
    async with running(Keeper(watched, FAST)):
        await watched.times("orchestrate", 1)
        watched.faults |= dict.fromkeys(["lead", "orchestrate", "relax", "check"], away)
        for verb in ("lead", "orchestrate", "check"):
            await watched.times(f"failed {verb}", 3)
        watched.faults.clear()
        await watched.times("lead", 2)
        await watched.times("orchestrate", 2)
    messages = [record.getMessage() for record in caplog.records if record.name == "reelstate.keeper"]
    assert len(messages) == 2
    assert "the server is gone (start it); the keeper goes on when it is back" in messages[0]
    assert messages[1] == "the database is back"


async def test_a_keeper_goes_on_when_a_crashed_server_is_back(caplog: pytest.LogCaptureFixture) -> None:
    with PostgresServer() as server:
        async with (
            opened(server.new_database(), database_timeout=0.3) as engine,
            running(Keeper(engine, FAST)) as task,
        ):
            await engine.times("orchestrate", 3)
            await asyncio.to_thread(server.stop, "immediate")
            await engine.times("failed lead", 2)
            await asyncio.to_thread(server.start)
            await engine.times("lead", 2)
            await engine.times("reclaim", 2)
            await engine.times("orchestrate", 2)
            await engine.times("check", 2)
            assert not task.done()
            assert (await engine.doctor()).findings == ()
    messages = [record.getMessage() for record in caplog.records if record.name == "reelstate.keeper"]
    assert len([message for message in messages if "the keeper goes on" in message]) == 1
    assert "the database is back" in messages


@asynccontextmanager
async def opened(url: str, *, database_timeout: float) -> AsyncIterator[CountingEngine]:
    async with open_engine(url, timeout=database_timeout, migrate=True) as engine:
        yield CountingEngine(engine)


async def test_a_keeper_stops_soon_even_while_the_database_is_away() -> None:
    with PostgresServer() as server:
        async with opened(server.new_database(), database_timeout=3600) as engine:
            task = asyncio.create_task(Keeper(engine, FAST).run())
            await engine.times("orchestrate", 1)
            await asyncio.to_thread(server.stop, "immediate")
            task.cancel()
            async with asyncio.timeout(LEAVE_TIMEOUT + 300):
                await asyncio.wait({task})
            assert task.cancelled()

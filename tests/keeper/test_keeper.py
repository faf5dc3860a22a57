"""The keeper: which duties it runs and how often, leadership, and recovery from every error but a cancellation."""

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
from itertools import pairwise
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
from tests.keeper.test_process_identity import PRINT_IDENTITY
from tests.postgres import PostgresServer

FAST = Settings(orchestrate_every=0.01, sweep_every=0.01, check_every=0.02)
NEEDS_PROC = pytest.mark.skipif(own_machine() is None, reason="there is no /proc here")


@pytest.fixture
def counting(engine: Engine) -> CountingEngine:
    return CountingEngine(engine)


@asynccontextmanager
async def run_keeper(keeper: Keeper) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(keeper.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def load_task(engine: Engine, job_id: int) -> Task:
    (task,) = (await engine.tasks(job_id)).items
    return task


async def lease_job(engine: Engine, worker: int | None = None) -> int:
    job_id = (await engine.submit("simple")).job_id
    await engine.claim(worker or await a_worker(engine))
    return job_id


async def count_statuses(engine: Engine, job_id: int) -> dict[str, int]:
    tasks = (await engine.tasks(job_id, limit=10_000)).items
    return {status: [task.status for task in tasks].count(status) for status in {task.status for task in tasks}}


# Duties


def test_duties_with_their_intervals_and_owners(counting: CountingEngine) -> None:
    settings = Settings(orchestrate_every=1, sweep_every=5, check_every=300)
    table = [(duty.name, duty.interval, duty.leader_only) for duty in Keeper(counting, settings).duties]
    assert table == [
        ("sweep", 5, False),
        ("orchestrate", 1, True),
        ("schedules", 1, True),
        ("relax", 5, True),
        ("settle pauses", 5, True),
        ("settle limits", 5, True),
        ("admit", 1, True),
        ("prune limits", PRUNE_EVERY, True),
        ("check", 300, True),
        ("prune", PRUNE_EVERY, True),
        ("prune states", PRUNE_EVERY, True),
        ("archive", 3600, True),
    ]


async def test_a_single_keeper_runs_every_duty(counting: CountingEngine) -> None:
    async with run_keeper(Keeper(counting, FAST)):
        for verb, times in {
            "orchestrate": 3,
            "reclaim": 3,
            "reclaim_workers": 3,
            "check": 2,
            "prune_workers": 1,
            "prune_states": 1,
        }.items():
            await counting.wait_for(verb, times - counting.done[verb])
    assert counting.done["prune_workers"] == 1


async def test_states_are_kept_as_long_as_configured(counting: CountingEngine, clock: FakeClock) -> None:
    async with await counting.state_manager("nightly", 0, 1) as manager:
        await manager.set_finished("copy")
    clock.advance(100)
    async with run_keeper(Keeper(counting, replace(FAST, keep_states=101))):
        await counting.wait_for("prune_states", 1)
    assert (await counting.state_store.find_job("nightly")).tasks == 1
    async with run_keeper(Keeper(counting, replace(FAST, keep_states=99))):
        await counting.wait_for("prune_states", 1)
    with pytest.raises(NotFound):
        await counting.state_store.find_job("nightly")


async def test_intervals_have_jitter() -> None:
    intervals = [add_jitter(5.0) for _ in range(200)]
    assert len(set(intervals)) > 100
    assert 5 * (1 - JITTER) <= min(intervals) < 4.8
    assert 5.2 < max(intervals) <= 5 * (1 + JITTER)


async def test_a_due_task_is_made_ready(counting: CountingEngine, clock: FakeClock) -> None:
    job_id = (await counting.submit("simple", delay=30)).job_id
    async with run_keeper(Keeper(counting, FAST)):
        await counting.wait_for("orchestrate", 2)
        assert (await load_task(counting, job_id)).status is TaskStatus.NEW
        clock.advance(31)
        await counting.wait_for("orchestrate", 2)
        assert (await load_task(counting, job_id)).status is TaskStatus.READY


async def test_an_expired_lease_is_reclaimed_and_its_worker_marked_offline(
    counting: CountingEngine, clock: FakeClock
) -> None:
    job_id = await lease_job(counting)
    async with run_keeper(Keeper(counting, FAST)):
        for _ in range(4):
            await counting.wait_for("reclaim_workers", 2)
            assert (await load_task(counting, job_id)).status is TaskStatus.RUNNING
            clock.advance(15.5)
        await counting.wait_for("reclaim_workers", 2)
    assert (await load_task(counting, job_id)).reason == "lease expired"
    assert [worker.status for worker in await counting.workers()] == ["offline"]


@pytest.mark.parametrize("action", ["recover", "flag"])
async def test_a_run_without_progress_is_recovered_or_flagged_as_configured(
    counting: CountingEngine, clock: FakeClock, caplog: pytest.LogCaptureFixture, action: str
) -> None:
    worker = await a_worker(counting)
    job_id = await lease_job(counting, worker)
    keeper = Keeper(counting, Settings(stall_after=100, stall_action=action))
    caplog.set_level(logging.WARNING)
    for _ in range(10):
        await keeper.duties[0].run()
        assert (await counting.job(job_id)).job.flagged is None
        clock.advance(10)
        task = await load_task(counting, job_id)
        assert task.status is TaskStatus.RUNNING
        await counting.report(worker, [Progress(key=task.key, token=task.token)])
    await keeper.duties[0].run()
    task, job = await load_task(counting, job_id), (await counting.job(job_id)).job
    if action == "recover":
        assert (task.status, task.reason, job.flagged) == (TaskStatus.READY, "stalled", None)
    else:
        assert task.status is TaskStatus.RUNNING
        assert job.flagged == f"task {task.key} of stage main has reported no progress for 100 s"
        assert f"job flagged job={job_id} " in caplog.text


async def test_no_run_stalls_without_a_configured_limit(counting: CountingEngine, clock: FakeClock) -> None:
    worker = await a_worker(counting)
    job_id = await lease_job(counting, worker)
    keeper = Keeper(counting, Settings(stall_action="flag"))
    await keeper.duties[0].run()
    for _ in range(100):
        clock.advance(50)
        task = await load_task(counting, job_id)
        await counting.report(worker, [Progress(key=task.key, token=task.token)])
    await keeper.duties[0].run()
    assert (await load_task(counting, job_id)).status is TaskStatus.RUNNING
    assert (await counting.job(job_id)).job.flagged is None


async def test_after_a_gap_no_lease_is_reclaimed_during_the_grace(
    counting: CountingEngine, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = await lease_job(counting)
    await Keeper(counting, FAST).duties[0].run()
    clock.advance(100)
    async with run_keeper(Keeper(counting, FAST)):
        for _ in range(3):
            await counting.wait_for("lead", 2)
            assert (await load_task(counting, job_id)).status is TaskStatus.RUNNING
            assert [worker.status for worker in await counting.workers()] == ["active"]
            clock.advance(15)
        clock.advance(16)
        await counting.wait_for("reclaim", 2)
    assert (await load_task(counting, job_id)).status is TaskStatus.READY
    warnings = {record.getMessage() for record in caplog.records if "no keeper ran" in record.getMessage()}
    assert warnings == {"no keeper ran for a while; expired leases get grace seconds=60"}


async def test_one_sweep_reclaims_no_more_than_its_limit(counting: CountingEngine, clock: FakeClock) -> None:
    job_id = (await counting.submit("parts", {"parts": 1200})).job_id
    worker = await a_worker(counting, slots=2000)
    await counting.claim(worker, 1200)
    keeper = Keeper(counting, Settings())
    for _ in range(5):
        await keeper.duties[0].run()
        clock.advance(15)
    left = []
    for _ in range(3):
        left.append((await count_statuses(counting, job_id)).get("running", 0))
        await keeper.duties[0].run()
    assert left == [1200, 700, 200]
    assert await count_statuses(counting, job_id) == {"ready": 1200}


async def test_successful_sweeps_are_recorded(counting: CountingEngine, clock: FakeClock) -> None:
    keeper = Keeper(counting, Settings())
    sweep = keeper.duties[0]
    await sweep.run()
    assert (await counting.keepers()).swept_at is None
    clock.advance(5)
    counting.faults["reclaim"] = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        await sweep.run()
    swept = clock.now
    assert (await counting.keepers()).swept_at == swept
    clock.advance(5)
    with pytest.raises(ValueError, match="broken"):
        await sweep.run()
    assert (await counting.keepers()).swept_at == swept
    assert (await counting.keepers()).seen_at == clock.now


# Leadership


async def test_another_keeper_leads_at_once_when_the_leader_stops(engine: Engine) -> None:
    first, second = CountingEngine(engine), CountingEngine(engine)
    leader, other = Keeper(first, FAST), Keeper(second, FAST)
    async with run_keeper(leader) as task:
        await first.wait_for("orchestrate", 1)
        async with run_keeper(other):
            await second.wait_for("lead", 3)
            assert (leader.leads, other.leads) == (True, False)
            assert second.done.keys() == {"lead"}
            task.cancel()
            await asyncio.wait({task})
            await second.wait_for("orchestrate", 1)
            assert (leader.leads, other.leads) == (False, True)
            assert (await engine.keepers()).leader == other.name
    assert (await engine.keepers()).leader is None


async def test_a_dead_leader_is_replaced_when_its_lead_expires(counting: CountingEngine, clock: FakeClock) -> None:
    settings = Settings(sweep_every=0.01, orchestrate_every=0.01, check_every=100)
    await Keeper(counting, Settings(sweep_every=5)).duties[0].run()
    keeper = Keeper(counting, settings)
    async with run_keeper(keeper):
        clock.advance(9)
        await counting.wait_for("lead", 2)
        assert not keeper.leads
        clock.advance(1)
        await counting.wait_for("orchestrate", 1)
        assert keeper.leads


async def test_a_keeper_that_lost_the_lead_stops_its_duties(counting: CountingEngine) -> None:
    keeper = Keeper(counting, FAST)
    async with run_keeper(keeper):
        await counting.wait_for("orchestrate", 1)
        await take_lead(counting, keeper)
        await counting.wait_for("lead", 2)
        assert not keeper.leads
        seen = counting.done["orchestrate"]
        await counting.wait_for("lead", 5)
        assert counting.done["orchestrate"] <= seen + 1


async def take_lead(engine: Engine, keeper: Keeper) -> None:
    """Take the lead from a keeper that keeps asking for it."""
    while not (await Engine.lead(engine, "another", lead=1000.0, gap=60.0, grace=0.0)).leads:
        await engine.leave(keeper.name)


async def test_of_many_concurrent_keepers_one_leads(database_url: str) -> None:
    options = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
    async with engine_at(database_url) as first, engine_at(database_url) as second:
        answers = await asyncio.gather(
            *((first, second)[number % 2].lead(f"keeper {number}", **options) for number in range(20))
        )
    assert [answer.leads for answer in answers].count(True) == 1


class AlwaysLeading(CountingEngine):
    """An engine that gives the lead to every keeper that asks."""

    async def lead(self, keeper: str, **terms: Any) -> Any:
        await super().leave((await self.keepers()).leader or "")
        return await super().lead(keeper, **terms)


async def test_two_leaders_at_once_do_no_harm(database_url: str, clock: FakeClock) -> None:
    """Both sweep, orchestrate and prune the same leases and retries; each task is moved once by one of them."""
    graph = Graph.of("flaky", [StageSpec(name="part", each="spec.parts", attempts=20)])
    settings = Settings(sweep_every=0.01, orchestrate_every=0.01, check_every=0.05, sweep_limit=40)
    async with (
        engine_at(database_url, clock, [graph]) as first,
        engine_at(database_url, clock, [graph]) as second,
    ):
        keepers = [AlwaysLeading(first), AlwaysLeading(second)]
        job_id = (await first.submit("flaky", {"parts": 300})).job_id
        await first.claim(await a_worker(first, slots=1000), 300)
        async with run_keeper(Keeper(keepers[0], settings)), run_keeper(Keeper(keepers[1], settings)):
            for _ in range(5):
                await asyncio.gather(*(keeper.wait_for("lead", 1) for keeper in keepers))
                clock.advance(15)
            async with asyncio.timeout(TIMEOUT):
                while (await count_statuses(first, job_id)).keys() != {TaskStatus.READY}:
                    await asyncio.gather(*(keeper.wait_for("reclaim", 1) for keeper in keepers))
        assert {(task.version, task.lost) for task in (await first.tasks(job_id, limit=500)).items} == {(3, 1)}
        assert all(keeper.done["reclaim"] for keeper in keepers)
        assert not [verb for keeper in keepers for verb in keeper.done if verb.startswith("failed")]
        assert (await first.doctor()).findings == ()


# Dead workers of the same machine


@pytest.fixture
def local_process() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-c", PRINT_IDENTITY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, {"process": json.loads(process.stdout.readline())}
        process.kill()


@NEEDS_PROC
async def test_a_keeper_that_does_not_lead_reclaims_the_leases_of_a_killed_local_worker(
    counting: CountingEngine, local_process: tuple[subprocess.Popen[str], dict[str, Any]], clock: FakeClock
) -> None:
    process, metadata = local_process
    await Engine.lead(counting, "another", lead=1000.0, gap=60.0, grace=120.0)
    clock.advance(100)
    await Engine.lead(counting, "another", lead=1000.0, gap=60.0, grace=120.0)
    job_id = await lease_job(counting, await a_worker(counting, metadata=metadata))
    keeper = Keeper(counting, FAST)
    async with run_keeper(keeper):
        await counting.wait_for("lead", 2)
        assert (await load_task(counting, job_id)).status is TaskStatus.RUNNING
        process.kill()
        await counting.wait_for("reclaim", 1)
        assert not keeper.leads
    task = await load_task(counting, job_id)
    assert (task.status, task.reason, task.attempt) == (TaskStatus.READY, "worker died", 1)
    assert [worker.status for worker in await counting.workers()] == ["offline"]
    assert counting.done["reclaim"] == 1, "a dead worker is reclaimed once"


@NEEDS_PROC
async def test_a_stopped_local_worker_keeps_its_leases(
    counting: CountingEngine, local_process: tuple[subprocess.Popen[str], dict[str, Any]]
) -> None:
    process, metadata = local_process
    job_id = await lease_job(counting, await a_worker(counting, metadata=metadata))
    process.send_signal(signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    await Keeper(counting, FAST).duties[0].run()
    assert (await load_task(counting, job_id)).status is TaskStatus.RUNNING


@NEEDS_PROC
async def test_dead_workers_and_expired_leases_share_the_limit_of_a_sweep(
    counting: CountingEngine, clock: FakeClock
) -> None:
    own: Any = own_process()
    dead = await a_worker(counting, "dead", metadata={"process": {**own, "started": own["started"] - 1}})
    living = await a_worker(counting, "living", metadata={"process": own})
    job_id = (await counting.submit("parts", {"parts": 10})).job_id
    await counting.claim(dead, 4)
    await counting.claim(living, 6)
    keeper = Keeper(counting, Settings(sweep_limit=3, keeper_gap=1000))
    for _ in range(5):
        await Engine.lead(counting, "another", lead=10.0, gap=1000.0, grace=120.0)
        clock.advance(15)
    ready = []
    for _ in range(4):
        await keeper.duties[0].run()
        ready.append((await count_statuses(counting, job_id))["ready"])
    assert ready == [3, 6, 9, 10]
    reasons = [task.reason for task in (await counting.tasks(job_id)).items]
    assert (reasons.count("worker died"), reasons.count("lease expired")) == (4, 6)


# Errors


class SwallowingEngine(CountingEngine):
    """An engine whose first `orchestrate` swallows a cancellation."""

    async def orchestrate(self, **options: Any) -> Any:
        result = await super().orchestrate(**options)
        if self.done["orchestrate"] == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return result


async def test_a_swallowed_cancellation_still_ends_the_keeper(engine: Engine) -> None:
    swallowing = SwallowingEngine(engine)
    task = asyncio.create_task(Keeper(swallowing, Settings(sweep_every=0.01)).run())
    await swallowing.wait_for("orchestrate", 1)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=300)
    task.cancel()
    assert done == {task}
    assert (await engine.keepers()).leader is None


@pytest.mark.parametrize(
    "fault, traced", [(StoreFull("disk full", hint="free some space"), False), (StoreError("unexpected"), True)]
)
async def test_a_failing_duty_is_logged_once_and_retried_and_stops_no_other(
    counting: CountingEngine, caplog: pytest.LogCaptureFixture, fault: Exception, traced: bool
) -> None:
    caplog.set_level(logging.INFO, "reelstate.keeper")
    counting.faults["orchestrate"] = fault
    async with run_keeper(Keeper(counting, FAST)) as task:
        await counting.wait_for("failed orchestrate", 5)
        await counting.wait_for("reclaim", 5)
        del counting.faults["orchestrate"]
        await counting.wait_for("orchestrate", 2)
        assert not task.done()
    failures = [record for record in caplog.records if "duty=orchestrate" in record.getMessage()]
    assert [record.getMessage() for record in failures] == [
        f"duty failed duty=orchestrate retry_in=0.01 error={fault}",
        "duty recovered duty=orchestrate",
    ]
    assert bool(failures[0].exc_info) == traced


async def test_an_outage_is_logged_once_for_all_duties(
    counting: CountingEngine, caplog: pytest.LogCaptureFixture
) -> None:
    unreachable = StoreUnavailable("the server is gone", hint="start it")
    async with run_keeper(Keeper(counting, FAST)):
        await counting.wait_for("orchestrate", 1)
        verbs = ["lead", "orchestrate", "relax", "settle_pauses", "settle_limits", "admit", "check"]
        counting.faults |= dict.fromkeys(verbs, unreachable)
        for verb in ("lead", "orchestrate", "check"):
            await counting.wait_for(f"failed {verb}", 3)
        counting.faults.clear()
        await counting.wait_for("lead", 2)
        await counting.wait_for("orchestrate", 2)
    messages = [record.getMessage() for record in caplog.records if record.name == "reelstate.keeper"]
    assert len(messages) == 2
    assert messages[0].startswith("database unreachable duty=")
    assert messages[0].endswith("error=the server is gone (start it)")
    assert messages[1] == "database reconnected"


async def test_a_keeper_continues_when_a_crashed_server_is_restarted(caplog: pytest.LogCaptureFixture) -> None:
    with PostgresServer() as server:
        async with (
            open_counting(server.new_database(), database_timeout=0.3) as engine,
            run_keeper(Keeper(engine, FAST)) as task,
        ):
            await engine.wait_for("orchestrate", 3)
            await asyncio.to_thread(server.stop, "immediate")
            await engine.wait_for("failed lead", 2)
            await asyncio.to_thread(server.start)
            await engine.wait_for("lead", 2)
            await engine.wait_for("reclaim", 2)
            await engine.wait_for("orchestrate", 2)
            await engine.wait_for("check", 2)
            assert not task.done()
            assert (await engine.doctor()).findings == ()
    messages = [record.getMessage() for record in caplog.records if record.name == "reelstate.keeper"]
    outages = [message.split(" duty=")[0] for message in messages if message.startswith("database ")]
    assert outages[:2] == ["database unreachable", "database reconnected"]
    # On a busy machine a connection may take longer than the timeout, which is an outage of its own.
    assert all(one != other for one, other in pairwise(outages)), "an outage is logged once"


@asynccontextmanager
async def open_counting(url: str, *, database_timeout: float) -> AsyncIterator[CountingEngine]:
    async with open_engine(url, timeout=database_timeout, migrate=True) as engine:
        yield CountingEngine(engine)


async def test_a_keeper_stops_soon_while_the_database_is_unreachable() -> None:
    with PostgresServer() as server:
        async with open_counting(server.new_database(), database_timeout=3600) as engine:
            task = asyncio.create_task(Keeper(engine, FAST).run())
            await engine.wait_for("orchestrate", 1)
            await asyncio.to_thread(server.stop, "immediate")
            task.cancel()
            async with asyncio.timeout(LEAVE_TIMEOUT + 300):
                await asyncio.wait({task})
            assert task.cancelled()

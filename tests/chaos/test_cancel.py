import time

from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission
from reelstate.services.operate.operation import Operation
from tests.chaos.fleet import Fleet

WAKEUP_TIMEOUT = 50.0
"""Seconds: before the next heartbeat."""
HEARTBEAT = 2.0
STYLES = ("loop", "thread", "process")


async def test_a_cancelled_job_is_stopped_in_every_kind_of_handler_and_frees_its_slot(fleet: Fleet) -> None:
    """With wake-ups long before the next heartbeat; without them at the next heartbeat."""
    fleet.worker("notified", worker_concurrency=3, heartbeat=60, stale_after=180)
    fleet.worker("polling", worker_concurrency=3, heartbeat=HEARTBEAT, dispatch="poll")
    await fleet.wait_ready("notified", "polling")
    jobs = await submit_each_style_twice(fleet, gate="never", grandchild=True)
    await fleet.wait_until(lambda: len(fleet.runs()) == 6, "every slot is taken")
    held = await fleet.leases_by_worker(*jobs)
    assert {name: len(tasks) for name, tasks in held.items()} == {"notified": 3, "polling": 3}
    pids = {run.job: {run.pid, *run.grandchildren} for run in fleet.runs(stage="run") if run.grandchildren}
    assert len(pids) == 2

    cancelled_at = time.time()
    await fleet.engine.cancel_many(Operation(job_ids=jobs, actor="operator"))
    stopped = {name: [task.job_id for task in tasks] for name, tasks in held.items()}
    await fleet.wait_until(lambda: all_stopped(fleet, stopped["notified"], pids), "the notified worker stops")
    stop_seconds = time.time() - cancelled_at
    await fleet.wait_until(lambda: all_stopped(fleet, stopped["polling"], pids), "the polling worker stops")

    assert stop_seconds < WAKEUP_TIMEOUT
    assert {(await fleet.engine.job(job)).job.status for job in jobs} == {JobStatus.CANCELLED}
    following = await submit_each_style_twice(fleet, gate="later")
    await fleet.wait_until(lambda: count_started(fleet, following) == 6, "all slots work again")
    fleet.open_gates("later")
    for job in following:
        await fleet.wait_status(job)


async def submit_each_style_twice(fleet: Fleet, **spec: object) -> list[int]:
    """Submit six jobs so that each of two workers with three slots gets one of each style."""
    made = await fleet.engine.submit_many([Submission(pipeline=name, spec=spec) for name in STYLES * 2])
    return [each.job_id for each in made]


def all_stopped(fleet: Fleet, jobs: list[int], pids: dict[int, set[int]]) -> bool:
    stopped = {run.job for run in fleet.runs("stopped")}
    alive = set(fleet.processes())
    return all(alive.isdisjoint(pids[job]) if job in pids else job in stopped for job in jobs)


def count_started(fleet: Fleet, jobs: list[int]) -> int:
    return sum(run.job in jobs for run in fleet.runs())

import time

from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission
from reelstate.services.operate.operation import Operation
from tests.chaos.fleet import Fleet

WITH_BELL = 50.0
"""Seconds: before the next heartbeat."""
HEARTBEAT = 2.0
STYLES = ("loop", "thread", "process")


async def test_a_cancelled_job_is_stopped_in_every_kind_of_handler_and_its_slot_is_free_again(fleet: Fleet) -> None:
    """With a bell, although the next heartbeat is far; without one, with the heartbeat."""
    fleet.worker("belled", worker_concurrency=3, heartbeat=60, stale_after=180)
    fleet.worker("polling", worker_concurrency=3, heartbeat=HEARTBEAT, dispatch="poll")
    await fleet.ready("belled", "polling")
    jobs = await one_of_each_kind_for_both(fleet, gate="never", grandchild=True)
    await fleet.sees(lambda: len(fleet.runs()) == 6, "every slot is taken")
    held = await fleet.held(*jobs)
    assert {name: len(tasks) for name, tasks in held.items()} == {"belled": 3, "polling": 3}
    pids = {run.job: {run.pid, *run.grandchildren} for run in fleet.runs(stage="run") if run.grandchildren}
    assert len(pids) == 2

    cancelled_at = time.time()
    await fleet.engine.cancel_many(Operation(job_ids=jobs, actor="operator"))
    stopped = {name: [task.job_id for task in tasks] for name, tasks in held.items()}
    await fleet.sees(lambda: all_stopped(fleet, stopped["belled"], pids), "the belled worker stops")
    by_bell = time.time() - cancelled_at
    await fleet.sees(lambda: all_stopped(fleet, stopped["polling"], pids), "the polling worker stops")

    assert by_bell < WITH_BELL
    assert {(await fleet.engine.job(job)).job.status for job in jobs} == {JobStatus.CANCELLED}
    following = await one_of_each_kind_for_both(fleet, gate="later")
    await fleet.sees(lambda: started(fleet, following) == 6, "all slots work again")
    fleet.open("later")
    for job in following:
        await fleet.rests(job)


async def one_of_each_kind_for_both(fleet: Fleet, **spec: object) -> list[int]:
    """Six jobs in an order in which each of two workers with three slots gets one of each kind."""
    made = await fleet.engine.submit_many([Submission(pipeline=name, spec=spec) for name in STYLES * 2])
    return [each.job_id for each in made]


def all_stopped(fleet: Fleet, jobs: list[int], pids: dict[int, set[int]]) -> bool:
    said = {run.job for run in fleet.runs("stopped")}
    living = set(fleet.processes())
    return all(living.isdisjoint(pids[job]) if job in pids else job in said for job in jobs)


def started(fleet: Fleet, jobs: list[int]) -> int:
    return sum(run.job in jobs for run in fleet.runs())

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from tests.chaos.fleet import Fleet

CROWD = 50
HEALTHY = {"first": "never"}
"""Its first run waits until the worker is killed; the next one completes, unless the worker is killed again."""
POISON = {"kill": CROWD}


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.prove)], indirect=True)
async def test_a_job_that_kills_its_worker_is_quarantined_and_the_others_complete(fleet: Fleet) -> None:
    *healthy, poison = await fleet.submit_each("crowd", [{"parts": [each]} for each in [*[HEALTHY] * 49, POISON]])
    fleet.up(worker_concurrency=CROWD)
    await fleet.wait_status(poison, JobStatus.QUARANTINED)
    for job in healthy:
        await fleet.wait_status(job)

    assert len(fleet.runs(job=poison)) == 3
    assert {len(fleet.runs(job=job)) for job in healthy} <= {2, 3}, "isolated after the second loss"
    await require_error(fleet, poison, part=0)


@pytest.mark.parametrize("dialect", ["postgres", pytest.param("sqlite", marks=pytest.mark.prove)], indirect=True)
async def test_a_job_with_a_part_that_kills_its_worker_is_quarantined_and_its_other_parts_are_done(
    fleet: Fleet,
) -> None:
    job = await fleet.submit("crowd", parts=[*[HEALTHY] * 49, POISON])
    fleet.up(worker_concurrency=CROWD)
    await fleet.wait_status(job, JobStatus.QUARANTINED)

    tasks = await fleet.tasks(job)
    assert [task.status for task in tasks] == [*[TaskStatus.DONE] * 49, TaskStatus.ERROR]
    assert {task.lost for task in tasks[:-1]} <= {1, 2}, "isolated after the second loss"
    assert tasks[-1].lost == 3
    await require_error(fleet, job, part=49)


async def require_error(fleet: Fleet, job: int, part: int) -> None:
    error = (await fleet.engine.job(job)).job.error
    assert error["task"] == f"{job}/0/{part}"
    assert error["cause"]["last_message"] == "about to break"
    assert error["cause"]["worker"] in {worker.id for worker in await fleet.engine.workers()}
    assert error["cause"]["message"] == "worker died"

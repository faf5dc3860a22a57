from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import Fleet

GRACE = 3.0
"""Seconds; a task that prefers a GPU waits at least so long for one that is idle."""
NEVER = 3600.0
"""A grace that no test waits for: a task that this worker runs has waited for no GPU."""


async def test_a_task_that_prefers_a_gpu_waits_for_one_only_for_the_grace(fleet: Fleet) -> None:
    plain = fleet.worker("plain", worker_capabilities="encoder:av1", gpu_grace=NEVER)
    gpu = fleet.worker("gpu", worker_capabilities="gpu", gpu_grace=NEVER)
    await fleet.wait_ready("plain", "gpu")
    for _ in range(5):
        job = await fleet.submit("prefer")
        await fleet.wait_status(job)
        assert [run.pid for run in fleet.runs(job=job)] == [gpu.pid], "an idle worker with a GPU was passed over"

    coded = await fleet.submit("codec")
    await fleet.wait_status(coded)
    assert [run.pid for run in fleet.runs(job=coded)] == [plain.pid], "the GPU lacks the codec"

    busy = [await fleet.submit("prefer", gate="busy") for _ in range(2)]
    await fleet.wait_until(lambda: all(fleet.runs(job=job) for job in busy), "both slots of the GPU are taken")
    assert {run.pid for job in busy for run in fleet.runs(job=job)} == {gpu.pid}
    over = await fleet.submit("prefer")
    await fleet.wait_status(over)
    assert [run.pid for run in fleet.runs(job=over)] == [plain.pid], "the GPU is busy"

    fleet.open_gates("busy")
    for job in busy:
        await fleet.wait_status(job)
    hasty = fleet.worker("hasty", gpu_grace=GRACE)
    await fleet.wait_ready("hasty")
    await fleet.freeze(gpu)
    left = await fleet.submit("prefer")
    await fleet.wait_status(left)
    assert await wait_seconds(fleet, left) >= GRACE
    assert [run.pid for run in fleet.runs(job=left)] == [hasty.pid]


async def wait_seconds(fleet: Fleet, job: int) -> float:
    """Return the seconds between ready and claimed."""
    (task,) = await fleet.tasks(job, TaskStatus.DONE)
    assert task.ready_at
    assert task.claimed_at
    return (task.claimed_at - task.ready_at).total_seconds()

import signal

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import POLL, Fleet

GRACE = 3.0


async def test_a_task_that_prefers_a_gpu_waits_for_one_only_for_the_grace(fleet: Fleet) -> None:
    plain = fleet.worker("plain", worker_capabilities="encoder:av1", gpu_grace=GRACE)
    gpu = fleet.worker("gpu", worker_capabilities="gpu", gpu_grace=GRACE)
    await fleet.wait_ready("plain", "gpu")
    for _ in range(5):
        job = await fleet.submit("prefer")
        await fleet.wait_status(job)
        assert [run.pid for run in fleet.runs(job=job)] == [gpu.pid], "an idle worker with a GPU was passed over"

    coded = await fleet.submit("codec")
    await fleet.wait_status(coded)
    assert await wait_seconds(fleet, coded) < GRACE, "the task waited for a GPU without the codec"
    assert [run.pid for run in fleet.runs(job=coded)] == [plain.pid]

    gpu.freeze()
    left = await fleet.submit("prefer")
    await fleet.wait_status(left)
    assert GRACE <= await wait_seconds(fleet, left) < GRACE + 1.2 * POLL + 1
    assert [run.pid for run in fleet.runs(job=left)] == [plain.pid]

    gpu.send(signal.SIGCONT)
    busy = [await fleet.submit("prefer", gate="busy") for _ in range(2)]
    await fleet.wait_until(lambda: all(fleet.runs(job=job) for job in busy), "both slots of the GPU are taken")
    assert {run.pid for job in busy for run in fleet.runs(job=job)} == {gpu.pid}
    over = await fleet.submit("prefer")
    await fleet.wait_status(over)
    assert await wait_seconds(fleet, over) < GRACE, "the task waited for a busy GPU"


async def wait_seconds(fleet: Fleet, job: int) -> float:
    """Return the seconds between ready and claimed."""
    (task,) = await fleet.tasks(job, TaskStatus.DONE)
    assert task.ready_at
    assert task.claimed_at
    return (task.claimed_at - task.ready_at).total_seconds()

import signal

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import POLL, Fleet

GRACE = 3.0


async def test_a_task_that_prefers_a_gpu_goes_there_first_but_never_waits_for_long(fleet: Fleet) -> None:
    plain = fleet.worker("plain", worker_capabilities="encoder:av1", gpu_grace=GRACE)
    gpu = fleet.worker("gpu", worker_capabilities="gpu", gpu_grace=GRACE)
    await fleet.ready("plain", "gpu")
    for _ in range(5):
        job = await fleet.submit("prefer")
        await fleet.rests(job)
        assert [run.pid for run in fleet.runs(job=job)] == [gpu.pid], "an idle worker with a GPU is there"

    coded = await fleet.submit("codec")
    await fleet.rests(coded)
    assert await waited(fleet, coded) < GRACE, "a GPU without the codec is no reason to wait"
    assert [run.pid for run in fleet.runs(job=coded)] == [plain.pid]

    gpu.freeze()
    left = await fleet.submit("prefer")
    await fleet.rests(left)
    assert GRACE <= await waited(fleet, left) < GRACE + 1.2 * POLL + 1
    assert [run.pid for run in fleet.runs(job=left)] == [plain.pid]

    gpu.send(signal.SIGCONT)
    busy = [await fleet.submit("prefer", gate="busy") for _ in range(2)]
    await fleet.sees(lambda: all(fleet.runs(job=job) for job in busy), "both slots of the GPU are taken")
    assert {run.pid for job in busy for run in fleet.runs(job=job)} == {gpu.pid}
    over = await fleet.submit("prefer")
    await fleet.rests(over)
    assert await waited(fleet, over) < GRACE, "a busy GPU is no reason to wait"


async def waited(fleet: Fleet, job: int) -> float:
    """Seconds between being ready and being claimed."""
    (task,) = await fleet.tasks(job, TaskStatus.DONE)
    assert task.ready_at
    assert task.claimed_at
    return (task.claimed_at - task.ready_at).total_seconds()

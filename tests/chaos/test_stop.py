import signal
import time

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Task
from tests.chaos.fleet import HEARTBEAT, Fleet

GRACE = 8.0
QUICK = 60


async def test_a_stopped_worker_finishes_short_tasks_and_releases_the_others(fleet: Fleet) -> None:
    worker = fleet.worker("worker", worker_grace=GRACE, worker_prefetch=20)
    quick: list[dict[str, str]] = [{}] * QUICK
    held = [{"gate": "never"}] * 9
    job = await fleet.submit("long", work=[*quick, {"gate": "soon"}, *held])
    await fleet.wait_until(lambda: len(fleet.runs()) == QUICK + 2, "both slots are taken")
    await fleet.wait_for(
        lambda: has_more_leases(fleet, job, 2), "some tasks are prefetched, because earlier ones were short"
    )

    stopped_at = time.monotonic()
    worker.send(signal.SIGTERM)
    await fleet.wait_for(lambda: has_leases(fleet, job, 2), "prefetched tasks are released at once")
    fleet.open_gates("soon")
    code = await worker.ended()
    took = time.monotonic() - stopped_at

    short, long, *waiting = (await fleet.tasks(job, stage="work"))[QUICK:]
    assert code == 0
    assert took >= GRACE
    assert (short.status, short.attempt) == (TaskStatus.DONE, 1)
    assert [is_released(task) for task in (long, *waiting)] == [True] * 9
    assert len(fleet.runs()) == QUICK + 2, "a prefetched task was started"
    assert [run.part for run in fleet.runs("stopped")] == [long.part]
    assert len(released := [task for task in waiting if task.token]) > 0
    assert {task.reason for task in released} == {long.reason}
    assert max(task.changed_at for task in released) < long.changed_at, "prefetched tasks waited for the grace"
    assert (await fleet.find_worker("worker")).shown == "offline"
    assert "no tasks are leased" in worker.log


async def test_a_worker_stopped_twice_releases_everything_at_once(fleet: Fleet) -> None:
    worker = fleet.worker("worker", worker_grace=3600)
    job = await fleet.submit("long", work=[{"gate": "never"}], encode=[{"gate": "never", "grandchild": True}])
    await fleet.wait_until(lambda: len(fleet.runs()) == 2, "both tasks run")

    worker.send(signal.SIGTERM)
    await fleet.wait_log(worker, "stop again to release them")
    stopped_at = time.monotonic()
    worker.send(signal.SIGTERM)

    assert await worker.ended() == 0
    assert time.monotonic() - stopped_at < 3600
    work, encode = await fleet.tasks(job)
    assert is_released(work)
    assert is_released(encode)
    assert fleet.processes() == []
    assert (await fleet.find_worker("worker")).shown == "offline"


@pytest.mark.parametrize(
    "dialect, times",
    [
        ("sqlite", 1),
        ("postgres", 2),
        pytest.param("sqlite", 2, marks=pytest.mark.prove),
        pytest.param("postgres", 1, marks=pytest.mark.prove),
    ],
    indirect=["dialect"],
)
async def test_ctrl_c_lets_the_workers_of_reel_up_finish_and_a_second_one_releases(fleet: Fleet, times: int) -> None:
    up = fleet.up(worker_name="up", worker_grace=60)
    job = await fleet.submit("long", work=[{"gate": "soon"}, {"gate": "soon"}])
    await fleet.wait_until(lambda: len(fleet.runs()) == 2, "both tasks run")

    up.send_group(signal.SIGINT)
    await fleet.wait_log(up, "stop again to release them")
    if times == 1:
        fleet.open_gates("soon")
    else:
        up.send_group(signal.SIGINT)

    assert await up.ended() == 0
    tasks = await fleet.tasks(job, stage="work")
    if times == 1:
        assert [task.status for task in tasks] == [TaskStatus.DONE] * 2
    else:
        assert [is_released(task) for task in tasks] == [True] * 2
    assert fleet.processes() == []
    assert (await fleet.find_worker("up-1")).shown == "offline"


@pytest.mark.parametrize("dialect", ["postgres", pytest.param("sqlite", marks=pytest.mark.prove)], indirect=True)
async def test_a_drained_worker_claims_nothing_until_it_is_enabled(fleet: Fleet) -> None:
    fleet.worker("worker")
    held = await fleet.submit("long", work=[{"gate": "soon"}])
    await fleet.wait_until(lambda: len(fleet.runs()) == 1, "the task runs")
    assert len(fleet.reel("workers", "drain", "worker")["changed"]) == 1
    waiting = await fleet.submit("loop")
    fleet.open_gates("soon")
    await fleet.wait_for(lambda: all_have(fleet, held, TaskStatus.DONE), "the running task finishes")
    await wait_two_heartbeats(fleet, "worker")
    assert (await fleet.find_worker("worker")).shown == "draining"
    assert fleet.runs(job=waiting) == []

    fleet.reel("workers", "enable", "worker")
    await fleet.wait_status(waiting)
    await fleet.wait_status(held)
    assert (await fleet.find_worker("worker")).shown == "idle"


async def has_leases(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.RUNNING)) == count


async def has_more_leases(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.RUNNING)) > count


async def all_have(fleet: Fleet, job: int, status: TaskStatus) -> bool:
    return {task.status for task in await fleet.tasks(job, stage="work")} == {status}


async def wait_two_heartbeats(fleet: Fleet, name: str) -> None:
    """Wait until the worker has polled, by its own clock."""
    for _ in range(2):
        before = (await fleet.find_worker(name)).last_heartbeat_at

        async def has_beaten(before: object = before) -> bool:
            return (await fleet.find_worker(name)).last_heartbeat_at != before

        await fleet.wait_for(has_beaten, "the worker sends a heartbeat", HEARTBEAT + 5)


def is_released(task: Task) -> bool:
    return (task.status, task.attempt, task.lost, task.worker_id) == (TaskStatus.READY, 0, 0, None)

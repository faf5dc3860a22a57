import signal
import time

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Task
from tests.chaos.fleet import HEARTBEAT, Fleet

GRACE = 8.0
QUICK = 60


async def test_a_worker_told_to_stop_finishes_what_is_short_and_gives_the_rest_back_uncharged(fleet: Fleet) -> None:
    worker = fleet.worker("worker", worker_grace=GRACE, worker_prefetch=20)
    quick: list[dict[str, str]] = [{}] * QUICK
    held = [{"gate": "never"}] * 9
    job = await fleet.submit("long", work=[*quick, {"gate": "soon"}, *held])
    await fleet.sees(lambda: len(fleet.runs()) == QUICK + 2, "both slots are taken")
    await fleet.until(lambda: more_leases(fleet, job, 2), "some are held ready, because those before were short")

    told_at = time.monotonic()
    worker.send(signal.SIGTERM)
    await fleet.until(lambda: leases(fleet, job, 2), "what was only held ready goes back at once")
    fleet.open("soon")
    code = await worker.ended()
    took = time.monotonic() - told_at

    short, long, *waiting = (await fleet.tasks(job, stage="work"))[QUICK:]
    assert code == 0
    assert took >= GRACE
    assert (short.status, short.attempt) == (TaskStatus.DONE, 1)
    assert [uncharged(task) for task in (long, *waiting)] == [True] * 9
    assert len(fleet.runs()) == QUICK + 2, "what was held ready never began"
    assert [run.part for run in fleet.runs("stopped")] == [long.part]
    assert len(given_back := [task for task in waiting if task.token]) > 0
    assert {task.reason for task in given_back} == {long.reason}
    assert max(task.changed_at for task in given_back) < long.changed_at, "they do not wait for the grace"
    assert (await fleet.named("worker")).shown == "offline"
    assert "it holds nothing" in worker.log


async def test_a_worker_told_twice_gives_everything_back_at_once(fleet: Fleet) -> None:
    worker = fleet.worker("worker", worker_grace=3600)
    job = await fleet.submit("long", work=[{"gate": "never"}], encode=[{"gate": "never", "grandchild": True}])
    await fleet.sees(lambda: len(fleet.runs()) == 2, "both tasks run")

    worker.send(signal.SIGTERM)
    await fleet.said(worker, "stop again to give them back")
    told_at = time.monotonic()
    worker.send(signal.SIGTERM)

    assert await worker.ended() == 0
    assert time.monotonic() - told_at < 3600
    work, encode = await fleet.tasks(job)
    assert uncharged(work)
    assert uncharged(encode)
    assert fleet.processes() == []
    assert (await fleet.named("worker")).shown == "offline"


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
async def test_ctrl_c_at_a_house_lets_its_workers_finish_and_a_second_one_gives_back(fleet: Fleet, times: int) -> None:
    house = fleet.up(worker_name="house", worker_grace=60)
    job = await fleet.submit("long", work=[{"gate": "soon"}, {"gate": "soon"}])
    await fleet.sees(lambda: len(fleet.runs()) == 2, "both tasks run")

    house.send_group(signal.SIGINT)
    await fleet.said(house, "stop again to give them back")
    if times == 1:
        fleet.open("soon")
    else:
        house.send_group(signal.SIGINT)

    assert await house.ended() == 0
    tasks = await fleet.tasks(job, stage="work")
    if times == 1:
        assert [task.status for task in tasks] == [TaskStatus.DONE] * 2
    else:
        assert [uncharged(task) for task in tasks] == [True] * 2
    assert fleet.processes() == []
    assert (await fleet.named("house-1")).shown == "offline"


@pytest.mark.parametrize("dialect", ["postgres", pytest.param("sqlite", marks=pytest.mark.prove)], indirect=True)
async def test_a_drained_worker_finishes_takes_nothing_new_and_works_again_when_enabled(fleet: Fleet) -> None:
    fleet.worker("worker")
    held = await fleet.submit("long", work=[{"gate": "soon"}])
    await fleet.sees(lambda: len(fleet.runs()) == 1, "the task runs")
    assert len(fleet.reel("workers", "drain", "worker")["changed"]) == 1
    waiting = await fleet.submit("loop")
    fleet.open("soon")
    await fleet.until(lambda: are(fleet, held, TaskStatus.DONE), "what runs finishes")
    await two_heartbeats(fleet, "worker")
    assert (await fleet.named("worker")).shown == "draining"
    assert fleet.runs(job=waiting) == []

    fleet.reel("workers", "enable", "worker")
    await fleet.rests(waiting)
    await fleet.rests(held)
    assert (await fleet.named("worker")).shown == "idle"


async def leases(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.RUNNING)) == count


async def more_leases(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.RUNNING)) > count


async def are(fleet: Fleet, job: int, status: TaskStatus) -> bool:
    return {task.status for task in await fleet.tasks(job, stage="work")} == {status}


async def two_heartbeats(fleet: Fleet, name: str) -> None:
    """Long enough for a worker to have looked for work, by its own clock."""
    for _ in range(2):
        before = (await fleet.named(name)).last_heartbeat_at

        async def beaten(before: object = before) -> bool:
            return (await fleet.named(name)).last_heartbeat_at != before

        await fleet.until(beaten, "the worker is heard of", HEARTBEAT + 5)


def uncharged(task: Task) -> bool:
    return (task.status, task.attempt, task.lost, task.worker_id) == (TaskStatus.READY, 0, 0, None)

import signal
import time
from collections import Counter

import pytest

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import Fleet
from tests.chaos.pipelines import SHORT_LEASE

RESTART_SECONDS = 50.0
"""How soon after a restart the work is done: before the lease would expire."""


async def test_tasks_of_killed_workers_are_claimed_by_others_and_no_finished_task_runs_again(fleet: Fleet) -> None:
    """One of the killed workers runs the leading keeper, so that another must lead."""
    local, stranger = [fleet.worker("one"), fleet.worker("other")], fleet.worker("stranger", host="elsewhere")
    await fleet.wait_ready("one", "other", "stranger")
    leader = await fleet.wait_for(lambda: find_leader(fleet), "a keeper leads")
    local_worker, _ = sorted(local, key=lambda member: member.pid != leader)
    job = await fleet.submit("short", work=[{"gate": f"gate-{part}"} for part in range(6)])
    held = await fleet.wait_for(lambda: find_two_each(fleet, job), "each worker holds two tasks")
    near, far = held[local_worker.name][1], held["stranger"][1]
    finished = {part for parts in held.values() for part in parts} - {near, far}

    fleet.open_gates(*(f"gate-{part}" for part in finished))
    await fleet.wait_for(lambda: has_done(fleet, job, 4), "the tasks whose gates are open are done")
    killed_at = time.time()
    local_worker.kill()
    stranger.kill()
    near_after = await wait_reclaimed(fleet, job, near) - killed_at
    fleet.open_gates(f"gate-{near}")
    far_after = await wait_reclaimed(fleet, job, far) - killed_at
    fleet.open_gates(f"gate-{far}")
    await fleet.wait_status(job)

    assert near_after < far_after, "the lease of a local worker that is known to be dead was waited for"
    assert far_after > SHORT_LEASE / 2
    assert count_runs_by_part(fleet, job) == {part: 2 if part in {near, far} else 1 for part in range(6)}
    assert (await fleet.engine.job(job)).outputs == {"gather": {"work": [0, 1, 2, 3, 4, 5]}}
    history = fleet.reel("history", str(job))
    changes = [
        (event["from"], event["to"], event["actor"], event["reason"], event["token"])
        for event in history
        if event["id"] == f"{job}/work/{far}"
    ]
    assert changes[-4:] == [
        ("ready", "running", "worker", None, 1),
        ("running", "ready", "keeper", "lease expired", 1),
        ("ready", "running", "worker", None, 2),
        ("running", "done", "worker", None, 2),
    ]
    assert [event["reason"] for event in history if event["id"] == f"{job}/work/{near}"].count("worker died") == 1


@pytest.mark.parametrize("stage", ["work", "encode"])
async def test_four_tasks_of_one_killed_worker_run_concurrently_again(fleet: Fleet, stage: str) -> None:
    """On the loop and in processes: after a single loss no task is isolated."""
    killed = fleet.worker("killed", worker_concurrency=4)
    job = await fleet.submit("short", **{stage: [{"gate": "open"}] * 4})
    await fleet.wait_until(lambda: len(fleet.runs(stage=stage)) == 4, "the first worker runs all four")
    killed.kill()
    fleet.worker("next", worker_concurrency=4)
    # No gate is open, so nothing can end: eight starts mean that four run beside each other.
    await fleet.wait_until(lambda: len(fleet.runs(stage=stage)) == 8, "the next worker runs all four at once")
    tasks = await fleet.tasks(job, TaskStatus.RUNNING)
    assert [(task.lost, task.isolated, task.worker) for task in tasks] == [(1, False, "next")] * 4
    assert sum(each.isolated for each in (await fleet.engine.job(job)).stages) == 0
    fleet.open_gates("open")
    await fleet.wait_status(job)


async def test_a_worker_that_was_frozen_is_refused_stops_its_handlers_and_continues(fleet: Fleet) -> None:
    members = {name: fleet.worker(name) for name in ("one", "other")}
    await fleet.wait_ready(*members)
    job = await fleet.submit("short", work=[{"first": "late"}], encode=[{"first": "never", "grandchild": True}])
    await fleet.wait_until(lambda: len(fleet.runs()) == 2, "both tasks run")
    (frozen,) = await fleet.leases_by_worker(job)
    (encode,) = fleet.runs(stage="encode")

    frozen_at = time.time()
    await fleet.freeze(members[frozen])
    first_after = await fleet.wait_for(lambda: find_second_claim(fleet, job), "another worker takes over") - frozen_at
    await fleet.wait_status(job)
    version = (await fleet.engine.job(job)).job.version
    fleet.open_gates("late")
    members[frozen].send(signal.SIGCONT)
    pids = {encode.pid, *encode.grandchildren}
    await fleet.wait_until(
        lambda: pids.isdisjoint(fleet.processes()), "the handler's process and its child have exited"
    )
    # Its heartbeat and its handler go on at once: it reports a result that is refused, or is stopped before that.
    outcomes = ("verdict=lost", f"lease lost job={job} stage=work")
    await fleet.wait_until(
        lambda: any(each in members[frozen].log for each in outcomes), "the run of the frozen worker does not count"
    )

    assert first_after > SHORT_LEASE / 2
    assert (await fleet.engine.job(job)).job.version == version
    results = {(task.stage_name, task.part): task.result for task in await fleet.tasks(job)}
    assert results["work", 0] == results["encode", 0] == {"part": 0, "token": 2}
    done = [(event.stage_number, event.token) for event in await fleet.history(job) if event.target == TaskStatus.DONE]
    assert sorted(done) == [(0, 2), (1, 2), (2, 1)]
    (other,) = members.keys() - {frozen}
    members[other].kill()
    following = await fleet.submit("short", work=[{}])
    await fleet.wait_status(following)
    assert {run.pid for run in fleet.runs(job=following)} == {members[frozen].pid}


async def test_reel_up_continues_its_work_at_once_after_a_kill_and_restart(fleet: Fleet) -> None:
    first = fleet.up("first", worker_concurrency=4)
    job = await fleet.submit(
        "long",
        work=[{}, {"first": "never"}],
        encode=[{"first": "never", "grandchild": True}],
    )
    await fleet.wait_until(lambda: len(fleet.runs()) == 3, "everything runs")
    await fleet.wait_for(lambda: has_done(fleet, job, 1), "the first task is done")
    (encode,) = fleet.runs(stage="encode")

    killed_at = time.time()
    first.send_group(signal.SIGKILL)
    await first.ended()
    fleet.up("second", worker_concurrency=4)
    await fleet.wait_status(job)
    finished_after = time.time() - killed_at

    assert finished_after < RESTART_SECONDS
    assert count_runs_by_part(fleet, job) == {0: 1, 1: 2}
    assert {encode.pid, *encode.grandchildren}.isdisjoint(fleet.processes())
    assert (await fleet.engine.job(job)).outputs == {"gather": {"work": [0, 1]}}


async def find_leader(fleet: Fleet) -> int | None:
    """Return the process whose keeper leads."""
    name = (await fleet.engine.keepers()).leader
    return int(name.split(":")[1]) if name else None


async def find_two_each(fleet: Fleet, job: int) -> dict[str, list[int]] | None:
    held = {name: [task.part for task in tasks] for name, tasks in (await fleet.leases_by_worker(job)).items()}
    return held if [len(parts) for parts in held.values()] == [2, 2, 2] else None


async def has_done(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.DONE)) == count


async def wait_reclaimed(fleet: Fleet, job: int, part: int) -> float:
    """Wait for the second claim of a task and return its time by the store's clock."""

    async def check() -> float | None:
        task = (await fleet.tasks(job, stage="work"))[part]
        return task.claimed_at.timestamp() if task.token == 2 and task.claimed_at else None

    return await fleet.wait_for(check, f"part {part} is claimed again")


async def find_second_claim(fleet: Fleet, job: int) -> float | None:
    claims = [task.claimed_at for task in await fleet.tasks(job) if task.token == 2 and task.claimed_at]
    return min(claims).timestamp() if claims else None


def count_runs_by_part(fleet: Fleet, job: int) -> dict[int, int]:
    return dict(Counter(run.part for run in fleet.runs(job=job, stage="work")))

import signal
import time
from collections import Counter

import pytest

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import Fleet
from tests.chaos.pipelines import SHORT_LEASE

AT_ONCE = 50.0
"""Seconds in which a house that starts again has its work back, a quarter of the lease."""


async def test_what_killed_workers_held_is_taken_over_and_nothing_finished_runs_again(fleet: Fleet) -> None:
    """Among them whoever leads the keepers, so that this is taken over too."""
    here, stranger = [fleet.worker("one"), fleet.worker("other")], fleet.worker("stranger", host="elsewhere")
    await fleet.ready("one", "other", "stranger")
    leader = await fleet.until(lambda: leading(fleet), "a keeper leads")
    neighbour, _ = sorted(here, key=lambda member: member.pid != leader)
    job = await fleet.submit("short", work=[{"gate": f"gate-{part}"} for part in range(6)])
    held = await fleet.until(lambda: two_each(fleet, job), "each worker holds two tasks")
    near, far = held[neighbour.name][1], held["stranger"][1]
    finished = {part for parts in held.values() for part in parts} - {near, far}

    fleet.open(*(f"gate-{part}" for part in finished))
    await fleet.until(lambda: are_done(fleet, job, 4), "the tasks whose gates are open are done")
    killed_at = time.time()
    neighbour.kill()
    stranger.kill()
    near_after = await taken_over(fleet, job, near) - killed_at
    fleet.open(f"gate-{near}")
    far_after = await taken_over(fleet, job, far) - killed_at
    fleet.open(f"gate-{far}")
    await fleet.rests(job)

    assert near_after < far_after, "a neighbour that is dead for certain need not be waited for"
    assert far_after > SHORT_LEASE / 2
    assert runs_by_part(fleet, job) == {part: 2 if part in {near, far} else 1 for part in range(6)}
    assert (await fleet.engine.job(job)).outputs == {"gather": {"work": [0, 1, 2, 3, 4, 5]}}
    history = fleet.reel("history", str(job))
    told = [
        (event["from"], event["to"], event["actor"], event["reason"], event["token"])
        for event in history
        if event["id"] == f"{job}/work/{far}"
    ]
    assert told[-4:] == [
        ("ready", "running", "worker", None, 1),
        ("running", "ready", "keeper", "lease expired", 1),
        ("ready", "running", "worker", None, 2),
        ("running", "done", "worker", None, 2),
    ]
    assert [event["reason"] for event in history if event["id"] == f"{job}/work/{near}"].count("worker died") == 1


@pytest.mark.parametrize("stage", ["work", "encode"])
async def test_what_one_killed_worker_ran_in_four_slots_runs_at_the_same_time_again(fleet: Fleet, stage: str) -> None:
    """On the loop and in processes of their own: one loss says nothing of any of them."""
    killed = fleet.worker("killed", worker_concurrency=4)
    job = await fleet.submit("short", **{stage: [{"gate": "open"}] * 4})
    await fleet.sees(lambda: len(fleet.runs(stage=stage)) == 4, "the first worker runs all four")
    killed.kill()
    fleet.worker("next", worker_concurrency=4)
    # No gate is open, so nothing can end: eight starts mean that four run beside each other.
    await fleet.sees(lambda: len(fleet.runs(stage=stage)) == 8, "the next worker runs all four at once")
    tasks = await fleet.tasks(job, TaskStatus.RUNNING)
    assert [(task.lost, task.isolated, task.worker) for task in tasks] == [(1, False, "next")] * 4
    assert sum(each.isolated for each in (await fleet.engine.job(job)).stages) == 0
    fleet.open("open")
    await fleet.rests(job)


async def test_a_worker_that_was_frozen_is_refused_ends_its_handlers_and_goes_on(fleet: Fleet) -> None:
    members = {name: fleet.worker(name) for name in ("one", "other")}
    await fleet.ready(*members)
    job = await fleet.submit("short", work=[{"first": "late"}], encode=[{"first": "never", "grandchild": True}])
    await fleet.sees(lambda: len(fleet.runs()) == 2, "both tasks run")
    (frozen,) = await fleet.held(job)
    (encode,) = fleet.runs(stage="encode")

    frozen_at = time.time()
    members[frozen].freeze()
    first_after = await fleet.until(lambda: second_claim(fleet, job), "another worker takes over") - frozen_at
    await fleet.rests(job)
    version = (await fleet.engine.job(job)).job.version
    fleet.open("late")
    members[frozen].send(signal.SIGCONT)
    pids = {encode.pid, *encode.grandchildren}
    await fleet.sees(lambda: pids.isdisjoint(fleet.processes()), "the handler's process and its child are gone")
    await fleet.said(members[frozen], "was refused: lost")

    assert first_after > SHORT_LEASE / 2
    assert (await fleet.engine.job(job)).job.version == version
    results = {(task.stage_name, task.part): task.result for task in await fleet.tasks(job)}
    assert results["work", 0] == results["encode", 0] == {"part": 0, "token": 2}
    done = [(event.stage_number, event.token) for event in await fleet.history(job) if event.target == TaskStatus.DONE]
    assert sorted(done) == [(0, 2), (1, 2), (2, 1)]
    (other,) = members.keys() - {frozen}
    members[other].kill()
    following = await fleet.submit("short", work=[{}])
    await fleet.rests(following)
    assert {run.pid for run in fleet.runs(job=following)} == {members[frozen].pid}


async def test_a_house_that_was_killed_has_its_work_back_at_once_when_it_starts_again(fleet: Fleet) -> None:
    first = fleet.up("first", worker_concurrency=4)
    job = await fleet.submit(
        "long",
        work=[{}, {"first": "never"}],
        encode=[{"first": "never", "grandchild": True}],
    )
    await fleet.sees(lambda: len(fleet.runs()) == 3, "everything runs")
    await fleet.until(lambda: are_done(fleet, job, 1), "the first task is done")
    (encode,) = fleet.runs(stage="encode")

    killed_at = time.time()
    first.send_group(signal.SIGKILL)
    await first.ended()
    fleet.up("second", worker_concurrency=4)
    await fleet.rests(job)
    finished_after = time.time() - killed_at

    assert finished_after < AT_ONCE
    assert runs_by_part(fleet, job) == {0: 1, 1: 2}
    assert {encode.pid, *encode.grandchildren}.isdisjoint(fleet.processes())
    assert (await fleet.engine.job(job)).outputs == {"gather": {"work": [0, 1]}}


async def leading(fleet: Fleet) -> int | None:
    """The process whose keeper leads."""
    name = (await fleet.engine.keepers()).leader
    return int(name.split(":")[1]) if name else None


async def two_each(fleet: Fleet, job: int) -> dict[str, list[int]] | None:
    held = {name: [task.part for task in tasks] for name, tasks in (await fleet.held(job)).items()}
    return held if [len(parts) for parts in held.values()] == [2, 2, 2] else None


async def are_done(fleet: Fleet, job: int, count: int) -> bool:
    return len(await fleet.tasks(job, TaskStatus.DONE)) == count


async def taken_over(fleet: Fleet, job: int, part: int) -> float:
    """When a task was claimed for the second time, by the store's clock."""

    async def look() -> float | None:
        task = (await fleet.tasks(job, stage="work"))[part]
        return task.claimed_at.timestamp() if task.token == 2 and task.claimed_at else None

    return await fleet.until(look, f"part {part} is taken over")


async def second_claim(fleet: Fleet, job: int) -> float | None:
    claims = [task.claimed_at for task in await fleet.tasks(job) if task.token == 2 and task.claimed_at]
    return min(claims).timestamp() if claims else None


def runs_by_part(fleet: Fleet, job: int) -> dict[int, int]:
    return dict(Counter(run.part for run in fleet.runs(job=job, stage="work")))

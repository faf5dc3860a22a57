"""Many claimers, one queue: a task is never two workers' at once."""

from collections import Counter
from pathlib import Path

import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import Completion, Submission, TaskKey, Verdict
from tests.engines import PARTS, SIMPLE, a_worker, engine_at
from tests.races.racing_processes import SIZE, RacingProcesses, start

Taken = list[tuple[TaskKey, int, Verdict]]


async def claim_and_complete(url: str, batch: int, number: int, parties: int) -> Taken:
    """Work until nothing is left; gives every (task, token) with the verdict on its completion."""
    taken: Taken = []
    async with engine_at(url) as engine:
        worker = await a_worker(engine, f"racer-{number}")
        start(parties)
        while tasks := (await engine.claim(worker, batch)).tasks:
            verdicts = await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])
            taken += [(task.key, task.token, verdict) for task, verdict in zip(tasks, verdicts, strict=True)]
    return taken


async def never_shared(url: str, racers: RacingProcesses, *, jobs: int, parts: int) -> None:
    async with engine_at(url) as engine:
        fanned = [Submission(pipeline=PARTS.name, spec={"parts": parts}) for _ in range(jobs)]
        await engine.submit_many([*fanned, *[Submission(pipeline=SIMPLE.name)] * jobs])
        expected = jobs * (parts + 1)
        results = racers.all(claim_and_complete, url, 7)
        leftover: Taken = []
        # A claimer passes over rows that another is just looking at, so each may stop before the queue is empty.
        while tasks := (await engine.claim(await a_worker(engine), 100)).tasks:
            verdicts = await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])
            leftover += [(task.key, task.token, verdict) for task, verdict in zip(tasks, verdicts, strict=True)]
        taken = [item for result in [*results, leftover] for item in result]
        assert Counter(verdict for *_, verdict in taken) == {Verdict.OK: expected}
        assert len({key for key, *_ in taken}) == expected
        assert {token for _, token, _ in taken} == {1}
        assert sum(1 for result in results if result) > 1, "no process competed, so nothing was shown"
        completed = await engine.jobs(statuses=[JobStatus.COMPLETED], limit=10_000)
        assert len(completed.items) == 2 * jobs
        assert (await engine.doctor()).findings == ()


async def test_claimers_never_share_a_task(url: str, racers: RacingProcesses) -> None:
    await never_shared(url, racers, jobs=40, parts=24)


@pytest.mark.prove
async def test_claimers_never_share_a_task_of_many(url: str, racers: RacingProcesses) -> None:
    await never_shared(url, racers, jobs=500, parts=199)


async def test_processes_never_share_a_task_of_one_sqlite_file(tmp_path: Path, racers: RacingProcesses) -> None:
    await never_shared(f"sqlite:///{tmp_path / 'shared.db'}", racers, jobs=15, parts=19)


@pytest.mark.prove
async def test_processes_never_share_a_task_of_one_sqlite_file_of_many(tmp_path: Path, racers: RacingProcesses) -> None:
    await never_shared(f"sqlite:///{tmp_path / 'shared.db'}", racers, jobs=100, parts=99)


async def submit_once(url: str, key: str, times: int, number: int, parties: int) -> list[int]:
    async with engine_at(url) as engine:
        start(parties)
        return [(await engine.submit("simple", {"n": 1}, idempotency_key=f"{key}-{n}")).job_id for n in range(times)]


async def test_parallel_submits_with_one_key_make_one_job(url: str, racers: RacingProcesses) -> None:
    times = 7
    answers = racers.all(submit_once, url, "key", times)
    assert all(answer == answers[0] for answer in answers), "all got the same jobs"
    async with engine_at(url) as engine:
        assert len((await engine.jobs(limit=1000)).items) == times
        assert len(answers) * times == SIZE * 7  # 56 requests


async def declare(url: str, number: int, parties: int) -> int:
    """All processes of a fleet start at once, with a pipeline that no process has declared before."""
    start(parties)
    async with engine_at(url) as engine:
        return (await engine.submit("simple")).job_id


async def test_processes_that_start_at_once_all_start(url: str, racers: RacingProcesses) -> None:
    assert len(set(racers.all(declare, url))) == SIZE

"""Two branches closed at the same moment by two processes: the stage that waits for both opens exactly once."""

from collections import Counter

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, Submission, TaskKey, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from tests.engines import a_worker, engine_at
from tests.races.racing_processes import RacingProcesses, start

JOIN = Graph.of("join", [StageSpec(name="a"), StageSpec(name="b"), StageSpec(name="c", after=("a", "b"))])


async def close_branch(url: str, held: list[tuple[TaskKey, int]], number: int, parties: int) -> list[Verdict]:
    """Complete one branch of each job, one request a job, both processes at the same moment."""
    async with engine_at(url, graphs=[JOIN]) as engine:
        verdicts = []
        for key, token in held:
            start(parties)
            verdicts += await engine.complete([Completion(key=key, token=token)])
        return verdicts


async def opened_once(url: str, racers: RacingProcesses, *, jobs: int) -> None:
    async with engine_at(url, graphs=[JOIN]) as engine:
        await engine.submit_many([Submission(pipeline="join")] * jobs)
        claimed = (await engine.claim(await a_worker(engine), 2 * jobs)).tasks
        assert len(claimed) == 2 * jobs
        branches = [[(task.key, task.token) for task in claimed if task.stage_name == name] for name in ("a", "b")]
        verdicts = racers.race([(close_branch, (url, branch, number, 2)) for number, branch in enumerate(branches)])
        assert verdicts == [[Verdict.OK] * jobs] * 2
        third = (await engine.claim(await a_worker(engine), 2 * jobs)).tasks
        assert Counter(task.key for task in third) == {TaskKey(b[0][0], 2, 0): 1 for b in branches[0]}
        for task in third:
            events = (await engine.history(task.key.job_id)).items
            assert [event.stage_number for event in events if event.entity == "stage"] == [0, 1, 2]
        await engine.complete([Completion(key=task.key, token=task.token) for task in third])
        assert len((await engine.jobs(statuses=[JobStatus.COMPLETED], limit=10_000)).items) == jobs
        for key in (branches[0][0][0], branches[0][-1][0]):
            stages = (await engine.job(key.job_id)).stages
            assert [stage.status for stage in stages] == [TaskStatus.DONE] * 3
        assert (await engine.doctor()).findings == ()


async def test_a_join_opens_once(url: str, racers: RacingProcesses) -> None:
    await opened_once(url, racers, jobs=200)


@pytest.mark.prove
async def test_a_join_opens_once_over_many(url: str, racers: RacingProcesses) -> None:
    await opened_once(url, racers, jobs=3000)

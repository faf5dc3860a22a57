"""Many claimers, few places: no key ever runs more tasks than its limit, whoever claims, admits and dies."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from reelstate.core.machine import ACTIVE_JOBS
from reelstate.core.model import Completion, Submission
from tests.engines import SIMPLE, a_worker, engine_at
from tests.races.racing_processes import RacingProcesses, start

LIMIT = 2
Run = tuple[str, datetime, datetime]
"""The key of a task, and from when to when it ran by the clock of the store."""


async def claim_and_complete(url: str, batch: int, number: int, parties: int) -> int:
    """Work until all tasks are done by someone; return how many this process did."""
    completed = 0
    async with engine_at(url) as engine:
        worker = await a_worker(engine, f"racer-{number}")
        start(parties)
        while True:
            tasks = (await engine.claim(worker, batch)).tasks
            await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])
            completed += len(tasks)
            if not tasks and not (await engine.jobs(statuses=sorted(ACTIVE_JOBS), limit=1)).items:
                return completed


def highest_at_once(runs: Iterable[Run]) -> dict[str, int]:
    """Return for each key how many of its tasks ran at the same time."""
    changes: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for key, began, ended in runs:
        changes[key] += [(began, 1), (ended, -1)]
    highest_by_key = {}
    for key, steps in changes.items():
        running = highest = 0
        for _, step in sorted(steps):
            running += step
            highest = max(highest, running)
        highest_by_key[key] = highest
    return highest_by_key


async def never_too_many(url: str, racers: RacingProcesses, *, keys: int, tasks: int) -> None:
    async with engine_at(url) as engine:
        await engine.limits.set("customers", per="spec.customer", running=LIMIT)
        submissions = [
            Submission(pipeline=SIMPLE.name, spec={"customer": f"c{number % keys}"}) for number in range(keys * tasks)
        ]
        await engine.submit_many(submissions)
        done = racers.all(claim_and_complete, url, 3)
        assert sum(done) == keys * tasks
        assert sum(1 for each in done if each) > 1, "no process competed, so nothing was shown"
        runs: list[Run] = []
        for submitted in (await engine.jobs(limit=1000)).items:
            detail = await engine.job(submitted.id)
            (task,) = (await engine.tasks(submitted.id)).items
            assert task.claimed_at is not None
            assert task.finished_at is not None
            runs.append((detail.job.spec["customer"], task.claimed_at, task.finished_at))
        found = highest_at_once(runs)
        assert len(found) == keys
        assert max(found.values()) <= LIMIT
        assert (await engine.doctor()).findings == ()


def test_what_overlaps_is_counted() -> None:
    times = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(6)]
    runs = [("a", times[0], times[2]), ("a", times[1], times[4]), ("a", times[2], times[3]), ("b", times[0], times[5])]
    assert highest_at_once(runs) == {"a": 2, "b": 1}


async def test_no_key_runs_more_than_its_limit(url: str, racers: RacingProcesses) -> None:
    await never_too_many(url, racers, keys=4, tasks=15)


@pytest.mark.prove
async def test_no_key_of_many_runs_more_than_its_limit(url: str, racers: RacingProcesses) -> None:
    await never_too_many(url, racers, keys=40, tasks=25)


async def test_no_key_runs_more_than_its_limit_in_one_sqlite_file(tmp_path: Path, racers: RacingProcesses) -> None:
    await never_too_many(f"sqlite:///{tmp_path / 'shared.db'}", racers, keys=3, tasks=40)


async def test_a_task_that_another_transaction_has_locked_is_admitted_later(url: str) -> None:
    async with engine_at(url) as engine, await psycopg.AsyncConnection.connect(url) as other:
        worker = await a_worker(engine)
        await engine.limits.set("one", running=1)
        submitted = await engine.submit_many([Submission(pipeline=SIMPLE.name)] * 3)
        (first,) = (await engine.claim(worker, 9)).tasks
        last = submitted[2].job_id
        await other.execute("SELECT FROM reelstate.tasks WHERE job_id = %s FOR UPDATE", [last])
        await engine.limits.set("one", running=9)
        assert [task.key.job_id for task in (await engine.claim(worker, 9)).tasks] == [submitted[1].job_id]
        await other.rollback()
        assert [task.key.job_id for task in (await engine.claim(worker, 9)).tasks] == [last]
        assert first.key.job_id == submitted[0].job_id

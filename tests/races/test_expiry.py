"""A completion and a sweep with a claim reach for the same expired leases: one run of each task counts, never two."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Completion, Progress, Reclaimed, Task, TaskKey, Verdict
from tests.engines import FakeClock, a_worker, engine_at
from tests.faults.wrapped_store import wrap_engine
from tests.races.racing_processes import Part, RacingProcesses, start
from tests.races.test_library import RunAfter, wait_done_or_blocked

Held = list[tuple[TaskKey, int]]


def later() -> FakeClock:
    clock = FakeClock()
    clock.advance(3600)
    return clock


async def complete_late(url: str, held: Held, batch: int, number: int, parties: int) -> list[Verdict]:
    """Completions of leases that have run out, in small batches."""
    verdicts: list[Verdict] = []
    async with engine_at(url, later()) as engine:
        start(parties)
        for first in range(0, len(held), batch):
            items = [Completion(key=key, token=token) for key, token in held[first : first + batch]]
            verdicts += await engine.complete(items)
    return verdicts


async def sweep(url: str, batch: int, number: int, parties: int) -> list[TaskKey]:
    """Take back expired leases until there are none, and begin some of the tasks; returns those."""
    begun: list[TaskKey] = []
    async with engine_at(url, later()) as engine:
        worker = await a_worker(engine, f"sweeper-{number}")
        start(parties)
        while await engine.reclaim(limit=batch) != Reclaimed(0, 0, 0, ()):
            begun += [task.key for task in (await engine.claim(worker, batch)).tasks]
    return begun


async def one_outcome_each(url: str, racers: RacingProcesses, *, parts: int) -> None:
    async with engine_at(url, FakeClock()) as engine:
        job_id = (await engine.submit("parts", {"parts": parts})).job_id
        claimed = (await engine.claim(await a_worker(engine), parts)).tasks
        held = [(task.key, task.token) for task in claimed]
        assert len(held) == parts
    # One walks with the sweeps from the first to the last, one against them from the last to the first.
    forwards, backwards = held[::2], held[1::2][::-1]
    parts_of_it: list[tuple[Part[Any], tuple[Any, ...]]] = [
        (complete_late, (url, forwards, 5, 0, 4)),
        (complete_late, (url, backwards, 5, 1, 4)),
        (sweep, (url, 5, 2, 4)),
        (sweep, (url, 7, 3, 4)),
    ]
    first, second, *swept = racers.race(parts_of_it)
    held, verdicts = forwards + backwards, first + second
    async with engine_at(url, later()) as engine:
        counted = Counter(verdicts)
        begun = {key for keys in swept for key in keys}
        assert counted.keys() <= {Verdict.OK, Verdict.LOST}
        assert len(begun) == sum(map(len, swept)), "no task was claimed twice"
        assert counted[Verdict.OK] + len(begun) == parts, "one run of each task counts"
        tasks: dict[TaskKey, Task] = {}
        after = None
        while True:
            page = await engine.tasks(job_id, limit=10_000, after=after)
            tasks |= {task.key: task for task in page.items}
            if (after := page.after) is None:
                break
        for (key, _), verdict in zip(held, verdicts, strict=True):
            expected = TaskStatus.DONE if verdict is Verdict.OK else TaskStatus.RUNNING
            assert tasks[key].status is expected, (key, verdict, tasks[key])
            assert (key in begun) == (verdict is Verdict.LOST)
            assert tasks[key].version in ({3, 4} if verdict is Verdict.OK else {4}), "taken back at most once"
        assert (await engine.doctor()).findings == ()
        assert counted[Verdict.OK], "the completions never won, so nothing was shown"
        assert begun, "the sweeps never won, so nothing was shown"


async def test_completion_and_another_run_never_both_count(url: str, racers: RacingProcesses) -> None:
    await one_outcome_each(url, racers, parts=1000)


@pytest.mark.prove
async def test_completion_and_another_run_never_both_count_over_many(url: str, racers: RacingProcesses) -> None:
    await one_outcome_each(url, racers, parts=9000)


async def test_a_renewal_that_is_being_committed_wins_against_reclaim(url: str, clock: FakeClock) -> None:
    async with engine_at(url, clock) as engine:
        job_id = (await engine.submit("simple")).job_id
        worker = await a_worker(engine)
        (held,) = (await engine.claim(worker)).tasks
        clock.advance(61)
        sweeps: list[asyncio.Task[Reclaimed]] = []

        async def sweep_meanwhile() -> None:
            sweeps.append(asyncio.create_task(engine.reclaim()))
            await wait_done_or_blocked(url, sweeps[0])

        renewing = wrap_engine(engine, RunAfter("report", sweep_meanwhile))
        answer = await renewing.report(worker, [Progress(key=held.key, token=held.token)])
        assert answer.verdicts == [Verdict.OK]
        assert await sweeps[0] == Reclaimed(0, 0, 0, ())
        (task,) = (await engine.tasks(job_id)).items
        assert (task.status, task.token, task.lost) == (TaskStatus.RUNNING, held.token, 0)
        assert await engine.complete([Completion(key=held.key, token=held.token)]) == [Verdict.OK]

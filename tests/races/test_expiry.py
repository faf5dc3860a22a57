"""A completion and the sweep reach for the same expired leases: one of them gets each, never both."""

from collections import Counter
from typing import Any

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Completion, Reclaimed, Task, TaskKey, Verdict
from tests.engines import FakeClock, a_worker, engine_at
from tests.races.crew import Crew, Part, start

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


async def sweep(url: str, batch: int, number: int, parties: int) -> int:
    """Take back expired leases until there are none."""
    reclaimed = 0
    async with engine_at(url, later()) as engine:
        start(parties)
        while (swept := await engine.reclaim(limit=batch)) != Reclaimed(0, 0, 0, ()):
            reclaimed += swept.total
    return reclaimed


async def one_outcome_each(url: str, racers: Crew, *, parts: int) -> None:
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
        assert counted.keys() <= {Verdict.OK, Verdict.LOST}
        assert counted[Verdict.OK] + sum(swept) == parts, "each lease ended once"
        tasks: dict[TaskKey, Task] = {}
        after = None
        while True:
            page = await engine.tasks(job_id, limit=10_000, after=after)
            tasks |= {task.key: task for task in page.items}
            if (after := page.after) is None:
                break
        for (key, _), verdict in zip(held, verdicts, strict=True):
            expected = TaskStatus.DONE if verdict is Verdict.OK else TaskStatus.READY
            assert tasks[key].status is expected, (key, verdict, tasks[key])
            assert tasks[key].version == 3, "ready, running, and one end"
        assert (await engine.doctor()).findings == ()
        assert counted[Verdict.OK], "the completions never won, so nothing was shown"
        assert sum(swept), "the sweep never won, so nothing was shown"


async def test_completion_and_reclaim_never_both_win(url: str, racers: Crew) -> None:
    await one_outcome_each(url, racers, parts=1000)


@pytest.mark.prove
async def test_completion_and_reclaim_never_both_win_over_many(url: str, racers: Crew) -> None:
    await one_outcome_each(url, racers, parts=9000)

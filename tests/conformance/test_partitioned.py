"""A stage of many parts opens once, runs, and closes once."""

from collections import Counter
from datetime import timedelta

import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import Verdict
from reelstate.engine import Engine
from tests.engines import FakeClock, a_worker, done


@pytest.mark.parametrize("parts", [2_000, pytest.param(100_000, marks=pytest.mark.prove)])
async def test_a_stage_of_many_parts_opens_and_closes_once(engine: Engine, parts: int) -> None:
    job_id = (await engine.submit("parts", {"parts": parts})).job_id
    worker = await a_worker(engine)
    completed = 0
    while tasks := (await engine.claim(worker, 500)).tasks:
        verdicts = await engine.complete([done(task) for task in tasks])
        completed += verdicts.count(Verdict.OK)
    assert completed == parts
    detail = await engine.job(job_id)
    assert detail.job.status is JobStatus.COMPLETED
    assert (detail.stages[0].total, detail.stages[0].done) == (parts, parts)
    assert await _count_events(engine) == {
        ("job", "pending"): 1,
        ("job", "processing"): 1,
        ("job", "completed"): 1,
        ("stage", "opened"): 1,
        ("task", "running"): parts,
        ("task", "done"): parts,
    }


async def _count_events(engine: Engine) -> Counter[tuple[str, str]]:
    """Count the events except those of workers, by entity and target status."""
    counted: Counter[tuple[str, str]] = Counter()
    page = await engine.events(limit=10_000)
    while page.items:
        counted.update((event.entity, event.target) for event in page.items if event.entity != "worker")
        page = await engine.events(limit=10_000, after=page.after)
    return counted


async def test_a_job_may_name_the_instant_from_which_it_runs(engine: Engine, clock: FakeClock) -> None:
    await engine.submit("simple", run_after=clock.now + timedelta(seconds=90))
    await engine.submit("simple", {"at": "once"}, run_after=clock.now - timedelta(days=1))
    worker = await a_worker(engine)
    assert [task.spec for task in (await engine.claim(worker, 9)).tasks] == [{"at": "once"}]
    clock.advance(89)
    assert (await engine.orchestrate()).ready == 0
    clock.advance(1)
    assert (await engine.orchestrate()).ready == 1
    assert len((await engine.claim(worker, 9)).tasks) == 1


async def test_the_order_of_names_in_a_spec_does_not_make_another_request(engine: Engine) -> None:
    first = await engine.submit("simple", {"a": 1, "b": 2}, idempotency_key="k")
    again = await engine.submit("simple", {"b": 2, "a": 1}, idempotency_key="k")
    assert (again.job_id, again.verdict) == (first.job_id, Verdict.REPEATED)

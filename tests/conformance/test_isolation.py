"""When a task that has lost its worker runs alone, and where that is shown."""

import pytest

from reelstate.core.errors import InvalidPipeline
from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import declared, submitted
from tests.engines import FakeClock, a_worker

PARTS = 4


async def lost_together(engine: Engine, clock: FakeClock) -> list[ClaimedTask]:
    """What one worker with a slot for each part was running when it was killed."""
    worker = await a_worker(engine, slots=PARTS)
    tasks = (await engine.claim(worker, PARTS)).tasks
    clock.advance(61)
    await engine.reclaim()
    return tasks


async def test_what_one_killed_worker_ran_is_run_together_again(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "video", StageSpec(name="cut", each="spec.parts", attempts=10))
    job_id = await submitted(engine, "video", spec={"parts": PARTS})
    assert len(await lost_together(engine, clock)) == PARTS
    tasks = (await engine.tasks(job_id)).items
    assert [(task.lost, task.isolated) for task in tasks] == [(1, False)] * PARTS
    assert (await engine.job(job_id)).stages[0].isolated == 0
    assert len((await engine.claim(await a_worker(engine, slots=PARTS), PARTS)).tasks) == PARTS


async def test_from_the_second_loss_on_a_task_runs_alone_and_an_event_records_it(
    engine: Engine, clock: FakeClock
) -> None:
    await declared(engine, "video", StageSpec(name="cut", each="spec.parts", attempts=10))
    job_id = await submitted(engine, "video", spec={"parts": PARTS})
    await lost_together(engine, clock)
    await lost_together(engine, clock)
    detail = await engine.job(job_id)
    assert detail.stages[0].isolated == PARTS
    assert [task.isolated for task in (await engine.tasks(job_id)).items] == [True] * PARTS
    shown = [event.data for event in (await engine.history(job_id, part=0, stage=0)).items if event.target == "ready"]
    assert shown[-1] == {"isolated": True, "lost": 2}
    worker = await a_worker(engine, slots=PARTS)
    (alone,) = (await engine.claim(worker, PARTS)).tasks
    assert (await engine.claim(worker, PARTS)).tasks == []
    assert alone.lost == 2
    running = (await engine.tasks(job_id, statuses=[TaskStatus.RUNNING])).items
    assert [task.isolated for task in running] == [True]


async def test_a_stage_may_be_isolated_from_its_first_loss_on(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "video", StageSpec(name="cut", each="spec.parts", attempts=10, isolate_after=1))
    await submitted(engine, "video", spec={"parts": PARTS})
    await lost_together(engine, clock)
    assert len((await engine.claim(await a_worker(engine, slots=PARTS), PARTS)).tasks) == 1


async def test_isolation_is_refused_where_it_is_no_count() -> None:
    with pytest.raises(InvalidPipeline, match="isolate_after"):
        Graph.of("video", [StageSpec(name="cut", isolate_after=0)])


def test_a_stage_without_the_option_is_stored_as_before() -> None:
    """A digest must not change because the code has learned of an unused option."""
    assert "isolate_after" not in StageSpec(name="cut").document()
    again = StageSpec.from_document(StageSpec(name="cut", isolate_after=5).document())
    assert again.isolate_after == 5

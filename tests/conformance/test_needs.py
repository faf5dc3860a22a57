"""Needs that depend on the job: which workers may claim its tasks, the shown reason, and optional needs."""

from typing import Any

import pytest

from reelstate.core.errors import InvalidPipeline, InvalidRequest
from reelstate.core.machine import JobStatus, WorkerStatus
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.engines import FakeClock, a_worker, done

AV1 = "encoder:libsvtav1"
ENCODE = Graph.of(
    "clips",
    [
        StageSpec(name="plan"),
        StageSpec(
            name="encode",
            after=("plan",),
            each="plan.chunks",
            needs=frozenset({"ffmpeg"}),
            needs_from="plan.needs",
            wants_from="plan.wants",
        ),
        StageSpec(name="pack", after=("encode",)),
    ],
)


async def planned(engine: Engine, **plan: Any) -> int:
    """Submit a job and complete its plan with these needs."""
    await engine.declare(ENCODE)
    job_id = (await engine.submit("clips")).job_id
    planner = await a_worker(engine, "planner")
    (task,) = (await engine.claim(planner, 10)).tasks
    await engine.complete([done(task, {"chunks": [0, 1], "needs": [], "wants": [], **plan})])
    return job_id


async def waits_for(engine: Engine, job_id: int) -> dict[str, tuple[str, ...]]:
    return {stage.name: stage.waits_for for stage in (await engine.job(job_id)).stages if stage.waits_for}


async def names_claimed(engine: Engine, worker: int) -> list[str]:
    return [task.stage_name for task in (await engine.claim(worker, 10)).tasks]


async def test_a_task_is_claimed_only_by_a_worker_that_has_what_the_plan_needs(engine: Engine) -> None:
    job_id = await planned(engine, needs=[AV1])
    idle = await a_worker(engine, "without", capabilities=["ffmpeg"])
    assert await names_claimed(engine, idle) == []
    assert await waits_for(engine, job_id) == {"encode": (AV1, "ffmpeg")}
    capable = await a_worker(engine, "with", capabilities=["ffmpeg", AV1])
    assert await waits_for(engine, job_id) == {}
    assert await names_claimed(engine, capable) == ["encode", "encode"]


async def test_plans_of_other_jobs_change_nothing(engine: Engine) -> None:
    await planned(engine, needs=[AV1])
    await planned(engine)
    idle = await a_worker(engine, "without", capabilities=["ffmpeg"])
    assert await names_claimed(engine, idle) == ["encode", "encode"]


async def test_what_is_wanted_is_given_up_only_while_no_worker_has_it(engine: Engine, clock: FakeClock) -> None:
    job_id = await planned(engine, wants=[AV1])
    without = await a_worker(engine, "without", capabilities=["ffmpeg"])
    capable = await a_worker(engine, "with", capabilities=["ffmpeg", AV1])
    clock.advance(100)
    assert await engine.relax(older=60) == 0
    assert await names_claimed(engine, without) == []
    await engine.move_worker(capable, WorkerStatus.OFFLINE, actor="worker")
    assert await waits_for(engine, job_id) == {"encode": (AV1, "ffmpeg")}
    assert await engine.relax(older=101) == 0
    assert await engine.relax(older=60) == 1
    assert await waits_for(engine, job_id) == {}
    assert await names_claimed(engine, without) == ["encode", "encode"]


async def test_what_is_needed_is_never_given_up(engine: Engine, clock: FakeClock) -> None:
    job_id = await planned(engine, needs=["encoder:libx264"], wants=[AV1])
    without = await a_worker(engine, "without", capabilities=["ffmpeg"])
    clock.advance(100)
    assert [await engine.relax(older=60), await engine.relax(older=60)] == [1, 0]
    assert await waits_for(engine, job_id) == {"encode": ("encoder:libx264", "ffmpeg")}
    assert await names_claimed(engine, without) == []


async def test_a_stage_that_is_opened_again_has_the_needs_of_the_new_plan(engine: Engine) -> None:
    job_id = await planned(engine, needs=[AV1])
    await engine.force(job_id, JobStatus.FAILED, reason="another plan")
    await engine.retry(job_id, start=From("plan"))
    planner = await a_worker(engine, "planner", capabilities=["ffmpeg"])
    (task,) = (await engine.claim(planner, 10)).tasks
    await engine.complete([done(task, {"chunks": [0], "needs": [], "wants": []})])
    assert await names_claimed(engine, planner) == ["encode"]


@pytest.mark.parametrize("needs", [None, "gpu", [1], ["a b"], {}, ["x"] * 21])
async def test_needs_that_are_no_names_fail_the_job_with_the_path(engine: Engine, needs: Any) -> None:
    job_id = await planned(engine, needs=needs)
    job = (await engine.job(job_id)).job
    assert (job.status, "plan.needs is no array of capability names" in job.error["message"]) == ("failed", True)


async def test_the_first_stage_may_have_its_needs_from_the_spec(engine: Engine) -> None:
    await engine.declare(Graph.of("zoned", [StageSpec(name="main", needs_from="spec.zones")]))
    with pytest.raises(InvalidRequest, match=r"spec\.zones is no array of capability names"):
        await engine.submit("zoned", {"zones": "eu"})
    job_id = (await engine.submit("zoned", {"zones": ["zone:eu"]})).job_id
    assert await names_claimed(engine, await a_worker(engine, "us", capabilities=["zone:us"])) == []
    assert await waits_for(engine, job_id) == {"main": ("zone:eu",)}
    assert await names_claimed(engine, await a_worker(engine, "eu", capabilities=["zone:eu"])) == ["main"]


def test_a_path_that_leads_nowhere_is_refused_where_it_is_written() -> None:
    for option in ("needs_from", "wants_from"):
        with pytest.raises(InvalidPipeline, match=f"clips.encode.{option}: 'plan' is not a stage"):
            Graph.of("clips", [StageSpec(name="encode", **{option: "plan.needs"})])  # type: ignore[arg-type]


def test_a_graph_without_them_keeps_its_digest() -> None:
    document = StageSpec(name="main").document()
    assert not {"needs_from", "wants_from", "tags"} & document.keys()
    assert StageSpec.from_document(ENCODE.stages[1].document()) == ENCODE.stages[1]

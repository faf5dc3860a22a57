"""Versions of a pipeline that workers register: which worker runs which, and which one new jobs get."""

import reelstate as rs
from reelstate.core.model import PipelineVersion
from reelstate.engine import Engine
from tests.worker.local_workers import engine_for, run_worker, wait_inactive


def release(stage: str) -> rs.Pipeline:
    """Return the pipeline `video` of one release of its code."""
    video = rs.Pipeline("video")

    @video.stage(name=stage)
    async def run(task: rs.Run) -> str:
        return stage

    return video


async def versions(engine: Engine) -> list[PipelineVersion]:
    return [version for version in await engine.pipelines() if version.name == "video"]


async def test_a_worker_of_an_old_release_that_restarts_does_not_bring_its_version_back(database_url: str) -> None:
    old, new = release("old"), release("new")
    async with (
        engine_for(database_url, old) as engine,
        run_worker(engine, database_url, [old], worker_name="first"),
    ):
        detail = await wait_inactive(engine, (await engine.submit("video")).id)
        assert detail.outputs == {"old": "old"}
        assert [(each.digest, each.workers) for each in await versions(engine)] == [(old.graph.digest, ("first",))]
    async with (
        engine_for(database_url, new) as upgraded,
        run_worker(upgraded, database_url, [new], worker_name="second"),
        engine_for(database_url, old) as restarted,
        run_worker(restarted, database_url, [old], worker_name="first"),
    ):
        assert [(each.digest, each.current, each.workers) for each in await versions(restarted)] == [
            (new.graph.digest, True, ("second",)),
            (old.graph.digest, False, ("first",)),
        ]
        for engine in (restarted, upgraded):
            job = (await engine.submit("video")).id
            assert (await engine.job(job)).job.digest == new.graph.digest

"""A worker without wake-ups finds work by polling alone."""

import reelstate as rs
from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.dispatch.poll import PollDispatch
from tests.worker.local_workers import run_worker, wait_inactive


async def test_a_worker_finds_work_of_another_process_by_polling(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    async def cut(task: rs.Run) -> None: ...

    settings = rs.Settings(dispatch="poll")
    async with (
        open_engine(database_url, pipelines=[video], settings=settings) as submitter,
        open_engine(database_url, pipelines=[video], settings=settings) as engine,
        run_worker(engine, database_url, [video]),
    ):
        assert isinstance(engine.dispatch, PollDispatch)
        assert isinstance(submitter.dispatch, PollDispatch)
        for _ in range(3):
            job = await submitter.submit("video")
            assert (await wait_inactive(submitter, job.id, 60.0)).job.status is JobStatus.COMPLETED

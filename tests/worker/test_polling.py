"""A worker without wake-ups: it looks for work by the clock alone."""

import reelstate as rs
from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.dispatch.poll import PollDispatch
from tests.worker.local_workers import run_worker, wait_inactive


async def test_a_worker_finds_work_of_another_process_without_any_wake_up(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    async def cut(task: rs.Run) -> None: ...

    settings = rs.Settings(dispatch="poll")
    async with (
        open_engine(database_url, pipelines=[film], settings=settings) as submitter,
        open_engine(database_url, pipelines=[film], settings=settings) as engine,
        run_worker(engine, database_url, [film]),
    ):
        assert isinstance(engine.dispatch, PollDispatch)
        assert isinstance(submitter.dispatch, PollDispatch)
        for _ in range(3):
            job = await submitter.submit("film")
            assert (await wait_inactive(submitter, job.id, 60.0)).job.status is JobStatus.COMPLETED

import asyncio
import time
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus
from tests.waiting import until
from tests.worker.local_workers import count_leased, engine_for, has_leased, run_worker, wait_inactive


async def test_stages_fan_out_and_in_and_their_results_are_the_outputs(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage(phase="planning")
    async def plan(task: rs.Run) -> Any:
        return {"frames": list(range(task.spec["frames"]))}

    @video.stage(after=plan, each="plan.frames")
    def grab(task: rs.BlockingRun) -> Any:
        return {"file": f"{task.input}.jpg"}

    @video.stage(after=grab)
    async def pack(task: rs.Run) -> Any:
        return [each["file"] async for each in task.results(grab)]

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video", {"frames": 250})
        detail = await wait_inactive(engine, job.id)
    assert detail.job.status is JobStatus.COMPLETED
    assert detail.outputs == {"pack": [f"{number}.jpg" for number in range(250)]}


async def test_reports_of_a_run_are_stored_before_its_outcome(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    def cut(task: rs.BlockingRun) -> None:
        task.log("begun", frame=7)
        task.progress(30, "cutting", step="encode", checkpoint={"at": 30})
        task.step(["ffmpeg", "-i", "video.mp4"], exit_code=0, seconds=2, output="frame=9")
        task.step(["ffmpeg", "https://user:hunter2@host"], exit_code=1)
        task.log("ended", level="warning")

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video")
        await wait_inactive(engine, job.id)
        lines = (await engine.logs(job.id)).items
        steps = (await engine.steps(job.id)).items
        (task,) = (await engine.tasks(job.id)).items
    assert [(step.number, step.argv, step.exit_code, step.seconds, step.output) for step in steps] == [
        (1, ["ffmpeg", "-i", "video.mp4"], 0, 2.0, "frame=9"),
        (2, ["ffmpeg", "https://user:***@host"], 1, 0.0, ""),
    ]
    assert [(line.level, line.message, line.metadata) for line in lines] == [
        ("info", "begun", {"frame": 7}),
        ("warning", "ended", None),
    ]
    assert (task.message, task.step, task.checkpoint) == ("cutting", "encode", {"at": 30})


async def test_a_step_is_stored_though_nothing_else_is_reported_and_the_run_fails(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        task.step(["ffmpeg"], exit_code=1, output="no such video")
        raise rs.Fail("no")

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.FAILED
        assert [step.output for step in (await engine.steps(job.id)).items] == ["no such video"]


async def test_the_next_attempt_starts_with_the_last_checkpoint(database_url: str) -> None:
    video = rs.Pipeline("video")
    seen = []

    @video.stage(backoff=0)
    async def cut(task: rs.Run) -> Any:
        seen.append((task.attempt, task.checkpoint))
        done = task.checkpoint or 0
        await task.progress(checkpoint=done + 1)
        if done < 2:
            raise rs.Retry("not yet", after=0)
        return done

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        detail = await wait_inactive(engine, (await engine.submit("video")).id)
    assert seen == [(1, None), (2, 1), (3, 2)]
    assert detail.outputs == {"cut": 2}


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_what_a_handler_raises_decides_the_outcome(database_url: str, style: str) -> None:
    video = rs.Pipeline("video")
    raised: dict[str, BaseException] = {
        "fail": rs.Fail("no video"),
        "skip": rs.Skip("no sound"),
        "bug": KeyError("frame"),
        "exit": SystemExit(3),
        "stray cancel": asyncio.CancelledError(),
    }
    if style == "async":

        @video.stage(attempts=1)
        async def cut(task: rs.Run) -> None:
            raise raised[task.spec]
    else:

        @video.stage(attempts=1, name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            raise raised[task.spec]

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        jobs = {name: (await engine.submit("video", name)).id for name in raised}
        details = {name: await wait_inactive(engine, job_id) for name, job_id in jobs.items()}
    assert {name: str(detail.job.status) for name, detail in details.items()} == {
        "fail": "failed",
        "skip": "completed",
        "bug": "failed",
        "exit": "failed",
        "stray cancel": "failed",
    }
    assert details["fail"].job.error["cause"] == {"type": "Fail", "message": "no video"}
    assert details["bug"].job.error["cause"]["type"] == "KeyError"
    assert details["skip"].stages[0].status is TaskStatus.SKIPPED


@pytest.mark.parametrize("result", [{1, 2}, "x" * (16 * 1024 * 1024 + 1), float("nan")])
async def test_a_result_that_cant_be_stored_fails_its_task_and_no_other(database_url: str, result: Any) -> None:
    video = rs.Pipeline("video")
    together = asyncio.Event()

    @video.stage(each="spec.parts")
    async def cut(task: rs.Run) -> Any:
        if task.part == 3:
            together.set()
        await together.wait()
        return result if task.part == 1 else task.part

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        detail = await wait_inactive(engine, (await engine.submit("video", {"parts": 4})).id)
        await until(lambda: has_leased(engine, 0))
        tasks = (await engine.tasks(detail.job.id)).items
    assert [str(task.status) for task in tasks] == ["done", "error", "done", "done"]
    assert "the handler's result can't be stored" in tasks[1].error["message"]


async def test_invalid_progress_raises_in_the_handler(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        await task.progress(**task.spec)

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        for spec, text in [({"percent": 101}, "not a percentage"), ({"checkpoint": "x" * 70_000}, "checkpoint")]:
            detail = await wait_inactive(engine, (await engine.submit("video", spec)).id)
            assert text in detail.job.error["cause"]["message"]


async def test_a_handler_that_blocks_the_loop_keeps_its_lease(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage(lease=1)
    async def cut(task: rs.Run) -> str:
        time.sleep(2.5)  # noqa: ASYNC251 - the handler blocks the loop
        return "through"

    async with engine_for(database_url, video) as engine:
        sweeping = asyncio.create_task(_sweep_in_thread(database_url))
        async with run_worker(engine, database_url, [video]):
            job = await engine.submit("video")
            detail = await wait_inactive(engine, job.id)
            history = (await engine.history(job.id)).items
        await sweeping
    assert detail.outputs == {"cut": "through"}
    assert "lease expired" not in [event.reason for event in history]


async def _sweep_in_thread(url: str) -> None:
    """Reclaim expired leases from a loop that the handler can't block."""

    async def sweep() -> None:
        async with engine_for(url) as engine:
            for _ in range(40):
                await engine.reclaim()
                await asyncio.sleep(0.1)  # the interval of a keeper's sweep

    await asyncio.to_thread(asyncio.run, sweep())


async def test_a_failed_attempt_is_logged_with_the_handlers_traceback(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="reelstate.worker")
    video = rs.Pipeline("video")

    @video.stage(attempts=2, backoff=0)
    def cut(task: rs.BlockingRun) -> None:
        raise KeyError("seconds")

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        detail = await wait_inactive(engine, (await engine.submit("video")).id)
    run = f"task failed pipeline=video job={detail.job.id} stage=cut part=0"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{run} token=1 attempt=1/2 retry=yes error=KeyError: 'seconds'",
        f"{run} token=2 attempt=2/2 retry=no error=KeyError: 'seconds'",
    ]
    trace = detail.job.error["cause"]["trace"]
    assert "test_running.py" in trace
    assert "runner.py" not in trace


async def test_a_task_of_an_unknown_stage_is_released_without_counting_an_attempt(database_url: str) -> None:
    newer, older = rs.Pipeline("video"), rs.Pipeline("video")
    newer.stage(name="cut")(lambda task: "newer")
    older.stage(name="chop")(lambda task: "older")
    async with engine_for(database_url, newer) as engine:
        job = await engine.submit("video")
        async with run_worker(engine, database_url, [older], worker_name="older"):
            await _wait_for_reason(engine, job.id, "released by its worker")
            (task,) = (await engine.tasks(job.id)).items
            assert (task.status, task.attempt) == (TaskStatus.READY, 0)
            async with run_worker(engine, database_url, [newer], worker_name="newer"):
                detail = await wait_inactive(engine, job.id)
    assert detail.outputs == {"cut": "newer"}


async def _wait_for_reason(engine: Any, job_id: int, reason: str) -> None:
    await until(lambda: _has_reason(engine, job_id, reason))


async def _has_reason(engine: Any, job_id: int, reason: str) -> bool:
    return reason in [event.reason for event in (await engine.history(job_id)).items]


async def test_a_running_job_keeps_the_graph_it_was_submitted_with(database_url: str) -> None:
    """A new version of the pipeline, deployed in the middle of a job, adds a stage: the job does not get it."""
    first, second = rs.Pipeline("video"), rs.Pipeline("video")
    hold = asyncio.Event()

    @first.stage
    async def cut(task: rs.Run) -> str:
        await hold.wait()
        return "first"

    second.stage(name="cut")(lambda task: "second")
    second.stage(name="extra", after="cut")(lambda task: "extra")

    async with engine_for(database_url, first) as engine:
        old = await engine.submit("video")
        async with run_worker(engine, database_url, [first], worker_name="first", worker_concurrency=1):
            await until(lambda: count_leased(engine))
            await engine.declare(second.graph)
            async with run_worker(engine, database_url, [second], worker_name="second"):
                new = await engine.submit("video")
                assert (await wait_inactive(engine, new.id)).outputs == {"extra": "extra"}
                hold.set()
                assert (await wait_inactive(engine, old.id)).outputs == {"cut": "first"}

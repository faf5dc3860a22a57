import asyncio
import time
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus
from tests.worker.local_workers import count_leased, engine_for, has_leased, run_worker, until, wait_inactive


async def test_stages_fan_out_and_in_and_their_results_are_the_outputs(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(phase="planning")
    async def plan(task: rs.Run) -> Any:
        return {"frames": list(range(task.spec["frames"]))}

    @film.stage(after=plan, each="plan.frames")
    def grab(task: rs.BlockingRun) -> Any:
        return {"file": f"{task.input}.jpg"}

    @film.stage(after=grab)
    async def pack(task: rs.Run) -> Any:
        return [each["file"] async for each in task.results(grab)]

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film", {"frames": 250})
        detail = await wait_inactive(engine, job.id)
    assert detail.job.status is JobStatus.COMPLETED
    assert detail.outputs == {"pack": [f"{number}.jpg" for number in range(250)]}


async def test_words_of_a_run_are_stored_before_its_end(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    def cut(task: rs.BlockingRun) -> None:
        task.log("begun", frame=7)
        task.progress(30, "cutting", step="encode", checkpoint={"at": 30})
        task.step(["ffmpeg", "-i", "film.mp4"], exit_code=0, seconds=2, output="frame=9")
        task.step(["ffmpeg", "https://user:hunter2@host"], exit_code=1)
        task.log("ended", level="warning")

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film")
        await wait_inactive(engine, job.id)
        lines = (await engine.logs(job.id)).items
        steps = (await engine.steps(job.id)).items
        (task,) = (await engine.tasks(job.id)).items
    assert [(step.number, step.argv, step.exit_code, step.seconds, step.output) for step in steps] == [
        (1, ["ffmpeg", "-i", "film.mp4"], 0, 2.0, "frame=9"),
        (2, ["ffmpeg", "https://user:***@host"], 1, 0.0, ""),
    ]
    assert [(line.level, line.message, line.metadata) for line in lines] == [
        ("info", "begun", {"frame": 7}),
        ("warning", "ended", None),
    ]
    assert (task.message, task.step, task.checkpoint) == ("cutting", "encode", {"at": 30})


async def test_a_step_is_stored_though_nothing_else_is_said_and_the_run_fails(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        task.step(["ffmpeg"], exit_code=1, output="no such film")
        raise rs.Fail("no")

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.FAILED
        assert [step.output for step in (await engine.steps(job.id)).items] == ["no such film"]


async def test_the_next_attempt_begins_where_the_last_one_saved(database_url: str) -> None:
    film = rs.Pipeline("film")
    seen = []

    @film.stage(backoff=0)
    async def cut(task: rs.Run) -> Any:
        seen.append((task.attempt, task.checkpoint))
        done = task.checkpoint or 0
        await task.progress(checkpoint=done + 1)
        if done < 2:
            raise rs.Retry("not yet", after=0)
        return done

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        detail = await wait_inactive(engine, (await engine.submit("film")).id)
    assert seen == [(1, None), (2, 1), (3, 2)]
    assert detail.outputs == {"cut": 2}


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_what_a_handler_raises_decides(database_url: str, style: str) -> None:
    film = rs.Pipeline("film")
    raised: dict[str, BaseException] = {
        "fail": rs.Fail("no film"),
        "skip": rs.Skip("no sound"),
        "bug": KeyError("frame"),
        "exit": SystemExit(3),
        "stray cancel": asyncio.CancelledError(),
    }
    if style == "async":

        @film.stage(attempts=1)
        async def cut(task: rs.Run) -> None:
            raise raised[task.spec]
    else:

        @film.stage(attempts=1, name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            raise raised[task.spec]

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        jobs = {name: (await engine.submit("film", name)).id for name in raised}
        ends = {name: await wait_inactive(engine, job_id) for name, job_id in jobs.items()}
    assert {name: str(end.job.status) for name, end in ends.items()} == {
        "fail": "failed",
        "skip": "completed",
        "bug": "failed",
        "exit": "failed",
        "stray cancel": "failed",
    }
    assert ends["fail"].job.error["cause"] == {"type": "Fail", "message": "no film"}
    assert ends["bug"].job.error["cause"]["type"] == "KeyError"
    assert ends["skip"].stages[0].status is TaskStatus.SKIPPED


@pytest.mark.parametrize("result", [{1, 2}, "x" * (16 * 1024 * 1024 + 1), float("nan")])
async def test_a_result_that_cant_be_stored_fails_its_task_and_no_other(database_url: str, result: Any) -> None:
    film = rs.Pipeline("film")
    together = asyncio.Event()

    @film.stage(each="spec.parts")
    async def cut(task: rs.Run) -> Any:
        if task.part == 3:
            together.set()
        await together.wait()
        return result if task.part == 1 else task.part

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        detail = await wait_inactive(engine, (await engine.submit("film", {"parts": 4})).id)
        await until(lambda: has_leased(engine, 0))
        tasks = (await engine.tasks(detail.job.id)).items
    assert [str(task.status) for task in tasks] == ["done", "error", "done", "done"]
    assert "what the handler returned can't be stored" in tasks[1].error["message"]


async def test_wrong_progress_is_an_error_where_it_is_said(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        await task.progress(**task.spec)

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        for spec, words in [({"percent": 101}, "not a percentage"), ({"checkpoint": "x" * 70_000}, "checkpoint")]:
            detail = await wait_inactive(engine, (await engine.submit("film", spec)).id)
            assert words in detail.job.error["cause"]["message"]


async def test_a_handler_that_keeps_the_loop_busy_does_not_cost_its_lease(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(lease=1)
    async def cut(task: rs.Run) -> str:
        time.sleep(2.5)  # noqa: ASYNC251 - the handler is as bad as handlers are
        return "through"

    async with engine_for(database_url, film) as engine:
        sweeping = asyncio.create_task(_sweep_in_thread(database_url))
        async with run_worker(engine, database_url, [film]):
            job = await engine.submit("film")
            detail = await wait_inactive(engine, job.id)
            history = (await engine.history(job.id)).items
        await sweeping
    assert detail.outputs == {"cut": "through"}
    assert "lease expired" not in [event.reason for event in history]


async def _sweep_in_thread(url: str) -> None:
    """Take back whatever has expired, from a loop that the handler can't keep busy."""

    async def sweep() -> None:
        async with engine_for(url) as engine:
            for _ in range(40):
                await engine.reclaim()
                await asyncio.sleep(0.1)

    await asyncio.to_thread(asyncio.run, sweep())


async def test_a_failed_attempt_is_told_in_the_log_with_the_place_in_the_handler(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="reelstate.worker")
    film = rs.Pipeline("film")

    @film.stage(attempts=2, backoff=0)
    def cut(task: rs.BlockingRun) -> None:
        raise KeyError("seconds")

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        detail = await wait_inactive(engine, (await engine.submit("film")).id)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition("failed ")[2] for line in told] == [
        "(attempt 1 of 2): KeyError: 'seconds'; it will be tried again",
        "(attempt 2 of 2): KeyError: 'seconds'; it is not tried again",
    ]
    trace = detail.job.error["cause"]["trace"]
    assert "test_running.py" in trace
    assert "runner.py" not in trace


async def test_a_task_of_a_stage_that_this_code_lacks_is_left_to_others_uncharged(database_url: str) -> None:
    newer, older = rs.Pipeline("film"), rs.Pipeline("film")
    newer.stage(name="cut")(lambda task: "newer")
    older.stage(name="chop")(lambda task: "older")
    async with engine_for(database_url, newer) as engine:
        job = await engine.submit("film")
        async with run_worker(engine, database_url, [older], worker_name="older"):
            await _history_of(engine, job.id, "released by its worker")
            (task,) = (await engine.tasks(job.id)).items
            assert (task.status, task.attempt) == (TaskStatus.READY, 0)
            async with run_worker(engine, database_url, [newer], worker_name="newer"):
                detail = await wait_inactive(engine, job.id)
    assert detail.outputs == {"cut": "newer"}


async def _history_of(engine: Any, job_id: int, reason: str) -> None:
    await until(lambda: _reasons(engine, job_id, reason))


async def _reasons(engine: Any, job_id: int, reason: str) -> bool:
    return reason in [event.reason for event in (await engine.history(job_id)).items]


async def test_a_running_job_keeps_the_graph_it_was_submitted_with(database_url: str) -> None:
    """A new version of the pipeline, deployed in the middle of a job, adds a stage: the job does not get it."""
    first, second = rs.Pipeline("film"), rs.Pipeline("film")
    hold = asyncio.Event()

    @first.stage
    async def cut(task: rs.Run) -> str:
        await hold.wait()
        return "first"

    second.stage(name="cut")(lambda task: "second")
    second.stage(name="extra", after="cut")(lambda task: "extra")

    async with engine_for(database_url, first) as engine:
        old = await engine.submit("film")
        async with run_worker(engine, database_url, [first], worker_name="first", worker_concurrency=1):
            await until(lambda: count_leased(engine))
            await engine.declare(second.graph)
            async with run_worker(engine, database_url, [second], worker_name="second"):
                new = await engine.submit("film")
                assert (await wait_inactive(engine, new.id)).outputs == {"extra": "extra"}
                hold.set()
                assert (await wait_inactive(engine, old.id)).outputs == {"cut": "first"}

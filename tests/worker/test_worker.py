import asyncio
import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from tests.worker import processes
from tests.worker.crew import engine_for, leased, rested, until, working


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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        job = await engine.submit("film", {"frames": 250})
        detail = await rested(engine, job.id)
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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        job = await engine.submit("film")
        await rested(engine, job.id)
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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        job = await engine.submit("film")
        assert (await rested(engine, job.id)).job.status is JobStatus.FAILED
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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        detail = await rested(engine, (await engine.submit("film")).id)
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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        jobs = {name: (await engine.submit("film", name)).id for name in raised}
        ends = {name: await rested(engine, job_id) for name, job_id in jobs.items()}
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

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        detail = await rested(engine, (await engine.submit("film", {"parts": 4})).id)
        await until(lambda: _holds(engine, 0))
        tasks = (await engine.tasks(detail.job.id)).items
    assert [str(task.status) for task in tasks] == ["done", "error", "done", "done"]
    assert "what the handler returned can't be stored" in tasks[1].error["message"]


async def test_wrong_progress_is_an_error_where_it_is_said(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        await task.progress(**task.spec)

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        for spec, words in [({"percent": 101}, "not a percentage"), ({"checkpoint": "x" * 70_000}, "checkpoint")]:
            detail = await rested(engine, (await engine.submit("film", spec)).id)
            assert words in detail.job.error["cause"]["message"]


async def test_a_handler_that_keeps_the_loop_busy_does_not_cost_its_lease(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage(lease=1)
    async def cut(task: rs.Run) -> str:
        time.sleep(2.5)  # noqa: ASYNC251 - the handler is as bad as handlers are
        return "through"

    async with engine_for(database_url, film) as engine:
        sweeping = asyncio.create_task(_sweep_in_thread(database_url))
        async with working(engine, database_url, [film]):
            job = await engine.submit("film")
            detail = await rested(engine, job.id)
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


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_cancel_stops_the_handler_and_frees_the_slot(database_url: str, style: str) -> None:
    film = rs.Pipeline("film")
    started, stopped = threading.Event(), threading.Event()
    if style == "async":

        @film.stage(name="cut")
        async def cut(task: rs.Run) -> None:
            started.set()
            try:
                await asyncio.sleep(1000 if task.spec == "long" else 0)
            except asyncio.CancelledError:
                stopped.set()
                raise
    else:

        @film.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            started.set()
            try:
                while task.spec == "long":
                    time.sleep(0.01)
            except rs.Stopped:
                stopped.set()
                raise

    async with (
        engine_for(database_url, film) as engine,
        working(engine, database_url, [film], worker_concurrency=1, heartbeat=30.0) as worker,
    ):
        job = await engine.submit("film", "long")
        await until(started.is_set)
        await engine.cancel(job.id, reason="changed my mind")
        await until(stopped.is_set, 2.0)
        detail = await rested(engine, (await engine.submit("film", "short")).id)
        assert worker.running == 0
    assert detail.job.status is JobStatus.COMPLETED


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_a_handler_that_does_not_stop_loses_its_slot(database_url: str, style: str) -> None:
    film = rs.Pipeline("film")
    started, release = threading.Event(), threading.Event()
    if style == "async":

        @film.stage(name="cut")
        async def cut(task: rs.Run) -> None:
            if task.spec == "deaf":
                started.set()
                while not release.is_set():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(0.05)
    else:

        @film.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            if task.spec == "deaf":
                started.set()
                release.wait(60)

    async with (
        engine_for(database_url, film) as engine,
        working(engine, database_url, [film], worker_concurrency=1, worker_kill_after=0.1),
    ):
        job = await engine.submit("film", "deaf")
        await until(started.is_set)
        await engine.cancel(job.id, reason="test")
        try:
            detail = await rested(engine, (await engine.submit("film", "short")).id)
        finally:
            release.set()
    assert detail.job.status is JobStatus.COMPLETED


async def test_a_task_that_was_taken_away_is_stopped_and_its_result_refused(database_url: str) -> None:
    film = rs.Pipeline("film")
    runs: list[int] = []
    ended = threading.Event()

    @film.stage(lease=60)
    async def cut(task: rs.Run) -> int:
        runs.append(task.token)
        if task.token == 1:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                ended.set()
                return -1
        return task.token

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]) as worker:
        job = await engine.submit("film")
        await until(lambda: runs)
        assert worker.id is not None
        await engine.release([rs.Release(key=rs.TaskKey(job.id, 0, 0), token=1)])
        detail = await rested(engine, job.id)
        await until(ended.is_set)
    assert detail.outputs == {"cut": 2}
    assert runs == [1, 2]


async def test_a_worker_that_stops_finishes_what_it_runs_and_gives_back_what_waits(database_url: str) -> None:
    film = rs.Pipeline("film")
    started = asyncio.Event()
    go = asyncio.Event()

    @film.stage(each="spec.parts")
    async def cut(task: rs.Run) -> int:
        started.set()
        await go.wait()
        return task.part

    async with engine_for(database_url, film) as engine:
        job = await engine.submit("film", {"parts": 10})
        async with working(engine, database_url, [film], worker_concurrency=3) as worker:
            await asyncio.wait_for(started.wait(), 10)
            worker.stop()
            go.set()
        tasks = (await engine.tasks(job.id)).items
        (gone,) = await engine.workers()
        assert await leased(engine) == 0
    assert sorted(str(task.status) for task in tasks) == ["done"] * 3 + ["ready"] * 7
    assert [task.attempt for task in tasks if task.status is TaskStatus.READY] == [0] * 7
    assert gone.status is WorkerStatus.OFFLINE


@pytest.mark.parametrize("hurried", [False, True])
async def test_what_does_not_finish_in_the_grace_is_released_uncharged(database_url: str, hurried: bool) -> None:
    film = rs.Pipeline("film")
    started = threading.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await asyncio.sleep(1000)

    grace = 1000.0 if hurried else 0.1
    async with engine_for(database_url, film) as engine:
        job = await engine.submit("film")
        async with working(engine, database_url, [film], worker_grace=grace) as worker:
            await until(started.is_set)
            worker.stop()
            if hurried:
                worker.stop()
        (task,) = (await engine.tasks(job.id)).items
        history = (await engine.history(job.id)).items
    assert (task.status, task.attempt, task.worker_id) == (TaskStatus.READY, 0, None)
    assert [(event.origin, event.target) for event in history if event.entity == "task"][-1] == ("running", "ready")


async def test_an_operator_drains_a_worker_and_brings_it_back(database_url: str) -> None:
    film = rs.Pipeline("film")
    started, go = asyncio.Event(), asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await go.wait()

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film], heartbeat=30.0):
        first = await engine.submit("film")
        await asyncio.wait_for(started.wait(), 10)
        await engine.drain("worker", reason="new disk")
        second = await engine.submit("film")
        go.set()
        assert (await rested(engine, first.id)).job.status is JobStatus.COMPLETED
        (task,) = (await engine.tasks(second.id)).items
        assert task.status is TaskStatus.READY
        await engine.enable("worker")
        assert (await rested(engine, second.id)).job.status is JobStatus.COMPLETED


async def test_a_disabled_worker_stops_and_gives_back_at_once(database_url: str) -> None:
    film = rs.Pipeline("film")
    started, stopped = asyncio.Event(), asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        try:
            await asyncio.sleep(1000 if task.attempt == 1 and not stopped.is_set() else 0)
        except asyncio.CancelledError:
            stopped.set()
            raise

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film], heartbeat=30.0):
        job = await engine.submit("film")
        await asyncio.wait_for(started.wait(), 10)
        assert await engine.disable("worker", reason="it overheats") == 1
        await asyncio.wait_for(stopped.wait(), 2)
        (task,) = (await engine.tasks(job.id)).items
        assert (task.status, task.attempt) == (TaskStatus.READY, 0)
        await engine.enable("worker")
        assert (await rested(engine, job.id)).job.status is JobStatus.COMPLETED


async def test_a_task_of_a_stage_that_this_code_lacks_is_left_to_others_uncharged(database_url: str) -> None:
    newer, older = rs.Pipeline("film"), rs.Pipeline("film")
    newer.stage(name="cut")(lambda task: "newer")
    older.stage(name="chop")(lambda task: "older")
    async with engine_for(database_url, newer) as engine:
        job = await engine.submit("film")
        async with working(engine, database_url, [older], worker_name="older"):
            await _history_of(engine, job.id, "released by its worker")
            (task,) = (await engine.tasks(job.id)).items
            assert (task.status, task.attempt) == (TaskStatus.READY, 0)
            async with working(engine, database_url, [newer], worker_name="newer"):
                detail = await rested(engine, job.id)
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
        async with working(engine, database_url, [first], worker_name="first", worker_concurrency=1):
            await until(lambda: leased(engine))
            await engine.declare(second.graph)
            async with working(engine, database_url, [second], worker_name="second"):
                new = await engine.submit("film")
                assert (await rested(engine, new.id)).outputs == {"extra": "extra"}
                hold.set()
                assert (await rested(engine, old.id)).outputs == {"cut": "first"}


async def test_handlers_in_processes_speak_like_the_others(database_url: str) -> None:
    async with (
        engine_for(database_url, processes.heavy) as engine,
        working(engine, database_url, [processes.heavy]),
    ):
        job = await engine.submit("heavy")
        detail = await rested(engine, job.id, 60)
        tasks = (await engine.tasks(job.id, stage="cut")).items
        lines = (await engine.logs(job.id)).items
        steps = (await engine.steps(job.id)).items
    assert detail.outputs == {"pack": [0, 1, 2]}
    assert sorted((step.part, step.number, step.argv, step.exit_code) for step in steps) == [
        (part, 1, ["cut", f"{part}"], 0) for part in range(3)
    ]
    assert {task.checkpoint["part"] for task in tasks} == {0, 1, 2}
    assert len({task.result["pid"] for task in tasks} | {os.getpid()}) == 4
    assert [task.result["plan"] for task in tasks] == [{"parts": 3}] * 3
    assert sorted(line.metadata["part"] for line in lines) == [0, 1, 2]


async def test_a_process_that_ends_badly_fails_with_its_last_words(database_url: str) -> None:
    async with (
        engine_for(database_url, processes.fragile) as engine,
        working(engine, database_url, [processes.fragile]),
    ):
        hows = ("raise", "die", "exit", "not json")
        jobs = {how: await engine.submit("fragile", {"how": how}) for how in hows}
        causes = {how: (await rested(engine, job.id, 60)).job.error["cause"] for how, job in jobs.items()}
    assert causes["raise"] == {"type": "Fail", "message": "no such film"}
    assert causes["die"]["message"] == "its process was killed by SIGSEGV without a report"
    assert "the last words" in causes["die"]["stderr"]
    assert causes["exit"]["type"] == "SystemExit"
    assert "not JSON" in causes["not json"]["message"]


async def test_cancel_kills_the_process_and_all_that_it_started(database_url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with (
        engine_for(database_url, processes.fragile) as engine,
        working(engine, database_url, [processes.fragile], heartbeat=30.0),
    ):
        job = await engine.submit("fragile", {"how": "hang", "pids": str(pids)})
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        found = [int(pid) for pid in pids.read_text().split()]
        assert all(map(_lives, found))
        await engine.cancel(job.id, reason="test")
        await until(lambda: not any(map(_lives, found)), 2.0)


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_a_suspect_gets_an_empty_worker_and_the_others_go_on_after_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.worker.loop.SUSPECT_PATIENCE", (0.0, 0.0))
    film = rs.Pipeline("film")
    together: list[set[str]] = []
    running: set[str] = set()

    @film.stage(name="cut", lease=1)
    async def cut(task: rs.Run) -> None:
        running.add(task.spec)
        together.append(set(running))
        await asyncio.sleep(0.03 + 0.023 * (task.job_id % 4))  # never all at once, so that slots free one by one
        running.discard(task.spec)

    async with engine_for(database_url, film) as engine:
        lost = await engine.submit("film", "suspect")
        ghost = await engine.register("ghost", hostname="gone", software="0", slots=1)
        await engine.claim(ghost, 1)
        others = [await engine.submit("film", f"other {number}", priority="high") for number in range(200)]
        async with working(engine, database_url, [film], worker_prefetch=0):
            await until(lambda: _reclaimed(engine))
            for job in [lost, *others]:
                assert (await rested(engine, job.id)).job.status is JobStatus.COMPLETED
    assert [group for group in together if "suspect" in group] == [{"suspect"}]
    assert together.index({"suspect"}) < len(together) - 1, "the more urgent would have kept it waiting to the end"
    assert max(map(len, together)) > 1


async def _reclaimed(engine: Any) -> bool:
    return (await engine.reclaim()).ready == 1


async def test_short_tasks_are_fetched_ahead_and_given_back_uncharged(database_url: str) -> None:
    film = rs.Pipeline("film")
    hold = asyncio.Event()

    @film.stage(each="spec.parts")
    async def cut(task: rs.Run) -> None:
        if task.part >= 100:
            await hold.wait()

    async with (
        engine_for(database_url, film) as engine,
        working(engine, database_url, [film], worker_concurrency=2, worker_prefetch=50) as worker,
    ):
        job = await engine.submit("film", {"parts": 500})
        held = 0
        async with asyncio.timeout(10):
            while held < 20:
                held = await leased(engine)
                await asyncio.sleep(0.01)
        assert len(worker._queue) <= 50
        worker.stop()
        hold.set()
    async with engine_for(database_url) as engine:
        waiting = (await engine.tasks(job.id, statuses=[TaskStatus.READY])).items
        assert await leased(engine) == 0
    assert len(waiting) > 300
    assert {task.attempt for task in waiting} == {0}


async def test_a_long_stage_behind_a_short_one_is_not_hoarded(database_url: str) -> None:
    film = rs.Pipeline("film")
    hold = asyncio.Event()
    cutting = []

    @film.stage
    async def plan(task: rs.Run) -> dict[str, int]:
        return {"parts": 40}

    @film.stage(after=plan, each="plan.parts")
    async def cut(task: rs.Run) -> None:
        cutting.append(task.key)
        await hold.wait()

    async with (
        engine_for(database_url, film) as engine,
        working(engine, database_url, [film], worker_concurrency=2) as worker,
    ):
        worker._pace.ran(("film", "plan"), 0.001)
        worker._pace.claimed({("film", "plan")})
        assert worker._pace.ahead == 10
        await engine.submit("film")
        await until(lambda: len(cutting) == 2)
        await until(lambda: _holds(engine, 2))
        hold.set()


async def _holds(engine: Any, count: int) -> bool:
    return await leased(engine) == count


async def test_a_failed_attempt_is_told_in_the_log_with_the_place_in_the_handler(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="reelstate.worker")
    film = rs.Pipeline("film")

    @film.stage(attempts=2, backoff=0)
    def cut(task: rs.BlockingRun) -> None:
        raise KeyError("seconds")

    async with engine_for(database_url, film) as engine, working(engine, database_url, [film]):
        detail = await rested(engine, (await engine.submit("film")).id)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition("failed ")[2] for line in told] == [
        "(attempt 1 of 2): KeyError: 'seconds'; it will be tried again",
        "(attempt 2 of 2): KeyError: 'seconds'; it is not tried again",
    ]
    trace = detail.job.error["cause"]["trace"]
    assert "test_worker.py" in trace
    assert "runner.py" not in trace

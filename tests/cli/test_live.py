"""follow: the live view of a job on a terminal, and its plain lines."""

import asyncio
import io
import re

import pytest
from rich.console import Console

from reelstate.cli.live import follow, render_job, signal_changes, take_snapshot
from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask, Progress
from reelstate.engine import Engine
from reelstate.library.ladder import LadderReader
from tests.cli.test_videos import RESULTS, a_video, half_done
from tests.engines import FakeClock, a_worker, done, engine_at
from tests.waiting import until

LADDER = r"720p +in_progress +\S+ +{percent} % +{segments}"


def screen(height: int, terminal: str = "xterm") -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        width=80,
        height=height,
        color_system=None,
        legacy_windows=False,
        _environ={"TERM": terminal},
    )


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


async def half_of_the_second_chunk(engine: Engine) -> tuple[int, ClaimedTask]:
    _, job_id = await half_done(engine)
    worker = await a_worker(engine)
    (task,) = (await engine.claim(worker, 1)).tasks
    await engine.report(worker, [Progress(key=task.key, token=task.token, percent=50.0)])
    return job_id, task


async def test_the_bar_of_a_quality_includes_running_chunks() -> None:
    async with engine_at("sqlite://") as engine:
        job_id, _ = await half_of_the_second_chunk(engine)
        console = screen(50)
        console.print(render_job(await take_snapshot(engine, job_id)))
    assert re.search(LADDER.format(percent=83, segments="2/3"), shown(console))
    assert re.search("1080p +skipped +higher than", shown(console))


async def test_done_chunks_are_read_again_only_if_their_number_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine_at("sqlite://") as engine:
        job_id, task = await half_of_the_second_chunk(engine)
        reads: list[object] = []
        tasks = engine.tasks

        async def counted(*arguments: object, **wanted: object) -> object:
            reads.append(wanted)
            return await tasks(*arguments, **wanted)  # type: ignore[arg-type]

        monkeypatch.setattr(engine, "tasks", counted)
        ladder = LadderReader(engine)
        detail = await engine.job(job_id)
        running = (await tasks(job_id, statuses=[TaskStatus.RUNNING])).items
        first = await ladder.read(detail, running)
        assert (await ladder.read(detail, running), len(reads)) == (first, 1)
        await engine.complete([done(task, RESULTS["encode"])])
        later = await ladder.read(await engine.job(job_id), [])
        assert (later[0].segments_completed, len(reads)) == (3, 2)


@pytest.mark.parametrize("height, whole", [(50, True), (22, False)])
async def test_a_low_terminal_only_names_stages_that_are_not_in_progress(height: int, whole: bool) -> None:
    async with engine_at("sqlite://") as engine:
        job_id, _ = await half_of_the_second_chunk(engine)
        console = screen(height)
        watching = asyncio.create_task(follow(engine, job_id, console))
        await until(lambda: "720p" in shown(console))
        drawn = shown(console)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert ("done: plan, fetch" in drawn, "not started: publish" in drawn) == (not whole, not whole)
    assert (bool(re.search("plan +done", drawn)), "1080p" in drawn) == (whole, whole)


async def test_a_terminal_that_can_not_draw_gets_lines() -> None:
    async with engine_at("sqlite://") as engine:
        job_id, _ = await half_of_the_second_chunk(engine)
        console = screen(50, "dumb")
        watching = asyncio.create_task(follow(engine, job_id, console))
        await until(lambda: "\n" in shown(console))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert f"  job {job_id}  processing  " in shown(console)


async def test_progress_of_a_task_wakes_the_view() -> None:
    async with engine_at("sqlite://") as engine, asyncio.timeout(300):
        job_id, task = await half_of_the_second_chunk(engine)
        worker = (await engine.workers())[0].id
        async with signal_changes(engine, job_id) as changed:
            await until(lambda: engine.feed.figures.subscribers == 1)
            changed.clear()
            await engine.report(worker, [Progress(key=task.key, token=task.token, percent=77)])
            await changed.wait()
        assert 77.0 in [running.percent for running in (await take_snapshot(engine, job_id)).current]


async def test_a_video_that_waits_for_a_worker_suggests_reel_up() -> None:
    async with engine_at("sqlite://") as engine:
        video_id, job_id = await a_video(engine)
        console = screen(50)
        console.print(render_job(await take_snapshot(engine, job_id)))
    assert "start one with `reel up`" in " ".join(shown(console).split())
    assert f"video {video_id}" in shown(console)


async def test_plain_lines_show_flags_and_isolated_tasks(clock: FakeClock) -> None:
    async with engine_at("sqlite://", clock) as engine:
        job_id = (await engine.submit("parts", {"parts": 2})).job_id
        await engine.claim(await a_worker(engine), 2)
        console = Console(file=io.StringIO(), width=80)
        watching = asyncio.create_task(follow(engine, job_id, console))
        await until(lambda: "processing" in shown(console))
        assert "alone" not in shown(console)
        clock.advance(61)
        await engine.reclaim()
        await until(lambda: "part: 2 tasks have lost their workers; each runs alone on a worker" in shown(console))
        await engine.claim(await a_worker(engine), 1)
        await engine.flag_stalled(stall_after=0)
        await until(lambda: f"flagged since {clock.now:%Y-%m-%d}" in shown(console))
        assert "has reported no progress for 0 s" in shown(console)
        await engine.cancel(job_id)
        await watching

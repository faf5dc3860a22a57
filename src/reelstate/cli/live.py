"""Watch jobs: progress bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from reelstate.cli.page import (
    DONE_STAGES,
    advice,
    cause_line,
    degraded_lines,
    error_line,
    flag_lines,
    isolation_lines,
    isolation_note,
    job_note,
    job_page,
    job_summary,
    time_left,
    traceback_in,
    value,
    workers_table,
)
from reelstate.cli.terminal import bar, cut, moment, now, share, status, table
from reelstate.cli.verbs import EngineVerbs, QualityReader, qualities_of
from reelstate.core.errors import ScopeMissing
from reelstate.core.machine import ACTIVE_JOBS, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Task, TaskKey, Worker
from reelstate.core.why import Reason
from reelstate.documents import event_id
from reelstate.media.planning.quality import Quality

INTERVAL = 0.5
MIN_INTERVAL = 0.25
"""Least seconds between two updates."""
MAX_JOBS = 20
STEP = 10
"""Percent of progress between two plain lines."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A job at one moment, its running and failed tasks, and the workers."""

    detail: JobDetail
    current: list[Task]
    workers: list[Worker] | None
    """None where the key of the caller may not list them."""
    qualities: list[Quality]
    reasons: tuple[Reason, ...] = ()
    """What an active job waits for, where that was asked."""

    @property
    def inactive(self) -> bool:
        return is_inactive(self.detail.job)


def is_inactive(job: Job) -> bool:
    return job.status not in ACTIVE_JOBS


async def take_snapshot(engine: EngineVerbs, job_id: int, ladder: QualityReader | None = None) -> Snapshot:
    detail = await engine.job(job_id)
    current: list[Task] = []
    if detail.job.status in ACTIVE_JOBS:
        statuses = [TaskStatus.RUNNING, TaskStatus.ERROR]
        current = (await engine.tasks(job_id, statuses=statuses, limit=100)).items
    qualities = await (ladder or qualities_of(engine)).read(detail, current)
    return Snapshot(detail, current, await _visible_workers(engine), qualities)


async def _visible_workers(engine: EngineVerbs) -> list[Worker] | None:
    """Return the workers; None over a server with a key that may not list them."""
    try:
        return await engine.workers()
    except ScopeMissing:
        return None


async def take_snapshots(engine: EngineVerbs, job_id: int) -> AsyncGenerator[Snapshot, None]:
    """Yield snapshots of a job until it is inactive: at every change, and twice a second."""
    ladder = qualities_of(engine)
    async with signal_changes(engine, job_id) as changed:
        while True:
            changed.clear()
            taken = await take_snapshot(engine, job_id, ladder)
            yield taken
            if taken.inactive:
                return
            await next_change(changed)


async def next_change(changed: asyncio.Event) -> None:
    """Wait for a change, one interval at most; changes that follow each other fast count as one."""
    await asyncio.sleep(MIN_INTERVAL)
    with suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), INTERVAL - MIN_INTERVAL)


@asynccontextmanager
async def signal_changes(engine: EngineVerbs, job_id: int | None = None) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set at every event or progress of a job, or of all jobs."""
    changed = asyncio.Event()

    async def listen() -> None:
        after = None
        while True:
            async for message in engine.subscribe(job_id, after=after):
                after = message.cursor or after
                changed.set()

    listener = asyncio.create_task(listen())
    try:
        yield changed
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def follow(engine: EngineVerbs, job_id: int, console: Console) -> JobDetail:
    """Show a job until it is inactive, and return it."""
    draws = console.is_terminal and not console.is_dumb_terminal
    return await (_follow_live if draws else _follow_plain)(engine, job_id, console)


async def _follow_live(engine: EngineVerbs, job_id: int, console: Console) -> JobDetail:
    taken = await take_snapshot(engine, job_id)
    with Live(_page(taken, console), console=console, auto_refresh=False, vertical_overflow="crop") as live:
        async for taken in take_snapshots(engine, job_id):
            live.update(_page(taken, console), refresh=True)
    return taken.detail


async def _follow_plain(engine: EngineVerbs, job_id: int, console: Console) -> JobDetail:
    printed: tuple[object, ...] | None = None
    failed: set[tuple[TaskKey, int]] = set()
    async for taken in take_snapshots(engine, job_id):
        for task in taken.current:
            if task.status is TaskStatus.ERROR and (task.key, task.attempt) not in failed:
                failed.add((task.key, task.attempt))
                console.print(Text(_failure_line(task)), soft_wrap=True)
        if _summary(taken.detail) != printed:
            printed = _summary(taken.detail)
            for line in _lines(taken):
                console.print(Text(line), soft_wrap=True)
    return taken.detail


def _lines(taken: Snapshot) -> list[str]:
    """Return a line for a job, and further lines if it is inactive, flagged or no worker runs it."""
    detail = taken.detail
    lines = [_line(detail)]
    if taken.inactive and detail.job.status is not JobStatus.COMPLETED:
        lines.append(traceback_in(detail.job.error))
    if taken.inactive and detail.outputs and detail.job.resource_id is None:
        lines.append(f"outputs: {value(detail.outputs)}")
    lines += [*flag_lines(detail.job), *isolation_lines(detail)]
    hint = advice(detail, taken.workers)
    return [line for line in (*lines, hint and f"next: {hint}") if line]


def _failure_line(task: Task) -> str:
    """Return a line for an attempt that failed."""
    attempt = f"attempt {task.attempt} of {task.max_attempts}"
    return f"{moment(now())}  {task.stage_name}/{task.part} failed ({attempt}): {cause_line(task.error)}"


def _page(taken: Snapshot, console: Console) -> RenderableType:
    """Render a job, in brief if all of it does not fit the terminal while it is active."""
    whole = render_job(taken)
    if taken.inactive or len(console.render_lines(whole)) < console.height:
        return whole
    return render_job(taken, brief=True)


def render_job(taken: Snapshot, *, brief: bool = False) -> RenderableType:
    return job_page(taken.detail, taken.current, taken.workers, taken.qualities, taken.reasons, brief=brief)


def _summary(detail: JobDetail) -> tuple[object, ...]:
    stages = tuple((stage.status, bool(stage.isolated)) for stage in detail.stages)
    return detail.job.status, detail.job.flagged, int(detail.progress) // STEP, stages


def _line(detail: JobDetail) -> str:
    shown = [
        stage for stage in detail.stages if stage.total and (is_inactive(detail.job) or stage.status not in DONE_STAGES)
    ]
    stages = " ".join(f"{stage.name} {stage.done + stage.skipped}/{stage.total}" for stage in shown)
    pieces = [
        moment(now()),
        f"job {detail.job.id}",
        detail.job.status,
        share(detail.progress),
        stages,
        time_left(detail),
    ]
    if detail.job.degraded:
        pieces.append(f"degraded: {'; '.join(degraded_lines(detail.job))}")
    if detail.job.error is not None and is_inactive(detail.job) and detail.job.status is not JobStatus.COMPLETED:
        pieces.append(error_line(detail.job.error))
    return "  ".join(piece for piece in pieces if piece)


def event_line(event: Event) -> Text:
    """Return an event as one line."""
    name = f"{event.entity} {event_id(event)}"
    pieces = [moment(event.at), "  ", name, "  ", *([f"{event.origin} → "] if event.origin else [])]
    why = "; ".join(filter(None, (event.reason, isolation_note(event))))
    by = f"  {event.actor}" + (f": {why}" if why else "")
    return Text.assemble(*pieces, status(event.target), (by, "dim"))


async def overview(engine: EngineVerbs) -> RenderableType:
    """Render all active jobs and the workers."""
    page = await engine.jobs(statuses=ACTIVE_JOBS, limit=MAX_JOBS)
    details = [await engine.job(job.id) for job in page.items]
    seen = await _visible_workers(engine)
    workers = [worker for worker in seen or () if worker.status is not WorkerStatus.OFFLINE]
    parts: list[RenderableType] = [_active_table(details) if details else Text("no active jobs", style="dim")]
    if page.after is not None:
        parts.append(Text(f"the newest {MAX_JOBS}; `reel jobs` lists more", style="dim"))
    if seen is not None:
        parts += [Text(), workers_table(workers) if workers else Text("no running workers", style="dim")]
    return Group(*parts)


def _active_table(details: list[JobDetail]) -> RenderableType:
    made = table("job", "pipeline", "status", "", "", "running", "left", "details", flexible=["pipeline", "details"])
    for detail in details:
        made.add_row(
            str(detail.job.id),
            cut(detail.job.pipeline),
            status(detail.job.status),
            bar(detail.progress, detail.job.status, 12),
            share(detail.progress),
            str(sum(stage.running for stage in detail.stages) or "–"),
            time_left(detail).removeprefix("about ").removesuffix(" left"),
            cut(" · ".join(filter(None, (job_summary(detail.job), job_note(detail.job))))),
        )
    return made


async def watch_everything(engine: EngineVerbs, console: Console) -> None:
    """Show the overview until interrupted."""
    with Live(await overview(engine), console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            await asyncio.sleep(INTERVAL)
            live.update(await overview(engine), refresh=True)

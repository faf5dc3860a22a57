"""`reel demo`: transcode a generated video while a worker is killed, and check the result."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from reelstate.app import built_in_pipelines, open_engine
from reelstate.artifacts import keys
from reelstate.artifacts.storage import open_storage
from reelstate.cli.history import events_table
from reelstate.cli.live import follow
from reelstate.cli.process import SUPERVISED, stop_signals
from reelstate.cli.session import run
from reelstate.cli.terminal import console, span
from reelstate.config import Settings, variable
from reelstate.core.errors import ReelstateError
from reelstate.core.machine import ACTIVE_JOBS, Actor, JobStatus, TaskStatus
from reelstate.core.model import Event, JobDetail, Json, Task
from reelstate.engine import Engine
from reelstate.library.publisher import Publisher
from reelstate.library.videos import Videos
from reelstate.media.ffmpeg.build import Build, find_ffmpeg
from reelstate.media.packaging.manifest import MANIFEST, MASTER, read_manifest
from reelstate.media.planning.quality import ENCODE
from reelstate.runtime.private_files import write_text
from reelstate.services.paging import LARGEST_PAGE
from reelstate.services.watch import in_order

RATE: Final = 30
SIZE: Final = "1280x720"
PROFILE: Final[Json] = {
    "name": "demo",
    "segment_seconds": 2,
    "chunk_seconds": 4,
    "rungs": [
        {"name": "720p", "height": 720, "crf": 25, "max_bitrate": 2_500_000, "preset": "ultrafast"},
        {"name": "480p", "height": 480, "crf": 26, "max_bitrate": 1_200_000, "preset": "ultrafast"},
        {"name": "240p", "height": 240, "crf": 27, "max_bitrate": 400_000, "preset": "ultrafast"},
    ],
}
POLL_INTERVAL: Final = 0.1
SIGN_IN_FILE: Final = "dashboard.signin"
FIRST, SECOND, REPLACEMENT = "worker-1", "worker-2", "worker-3"
"""Names of workers: one in this process, one that is killed, and the one that replaces it."""


class DemoFailed(ReelstateError):
    """The job of the demo failed, or its result is wrong."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo: its folder, settings, ffmpeg and console."""

    folder: Path
    settings: Settings
    build: Build
    screen: Console

    def print(self, *parts: str | Text | tuple[str, str]) -> None:
        """Print a line, wrapped on a terminal."""
        self.screen.print(Text.assemble(*parts), soft_wrap=not self.screen.is_terminal)


def demo(
    folder: Annotated[Path | None, typer.Option(help="The folder for all files; a new one by default.")] = None,
    seconds: Annotated[int, typer.Option(min=8, max=3600, help="The length of the video.")] = 30,
    stay: Annotated[
        bool | None, typer.Option("--stay/--no-stay", help="Keep serving the dashboard; the default in a terminal.")
    ] = None,
    size: Annotated[str, typer.Option(hidden=True, metavar="WxH", help="The size of the video.")] = SIZE,
) -> None:
    """Transcode a generated video, kill a worker on the way, check every frame, and show all of it in the dashboard.

    Example: `reel demo --folder /tmp/demo`
    """
    target = (folder or Path(tempfile.mkdtemp(prefix="reel-demo-"))).absolute()
    target.mkdir(parents=True, exist_ok=True)
    with _errors_only():
        screen = console()
        stays = screen.is_terminal and sys.stdin.isatty() if stay is None else stay
        run(_demo(target, seconds, size, screen, stay=stays))


@contextmanager
def _errors_only() -> Iterator[None]:
    """Log errors only: log lines would break the progress bars, and the lost worker is expected."""
    logger = logging.getLogger("reelstate")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


async def _demo(folder: Path, seconds: int, size: str, screen: Console, *, stay: bool) -> None:
    from reelstate.cli.serving import serve_for  # noqa: PLC0415 - slow to load

    settings = _settings(folder)
    demo = Demo(folder, settings, await find_ffmpeg(settings.ffmpeg), screen)
    demo.print(f"all files are in {folder}")
    for weakness in demo.build.weaknesses:
        demo.print((f"note: {weakness.name}: {weakness.detail}; {weakness.hint}", "dim"))
    async with (
        open_engine(
            settings.database_url, pipelines=built_in_pipelines(settings), workers=1, settings=settings
        ) as engine,
        serve_for(engine, settings) as address,
        _worker(demo, SECOND) as victim,
    ):
        _print_address(demo, address)
        source = await _make_source(demo, seconds, size)
        await _wait_for_worker(engine, victim)
        submitted = await Videos(engine).submit(str(source), title="demo", spec={"profile": PROFILE})
        demo.print(f"submitted job {submitted.job_id}, which makes video {submitted.resource_id}")
        detail = await _follow(demo, engine, submitted.job_id, victim)
        await _check(demo, detail)
        await _print_recovery(demo, engine, detail)
        await Publisher(engine, open_storage(settings.storage_url), keep=settings.keep_versions).publish()
        _print_next_steps(demo, submitted.job_id, submitted.resource_id or 0)
        if stay:
            await _stay(demo)
    shutil.rmtree(settings.scratch)  # the killed worker left files there


def _print_address(demo: Demo, address: str) -> None:
    """Print the address that signs in to the dashboard. Where output may be a log, write it to a private file."""
    if demo.screen.is_terminal:
        demo.print(("watch it in a browser: ", "bold green"), (address, "bold"))
        return
    path = demo.folder / SIGN_IN_FILE
    write_text(path, address)
    demo.print(f"watch it in a browser: the address is in {path}")


async def _stay(demo: Demo) -> None:
    """Serve on until a signal stops the command."""
    demo.print()
    demo.print(("the dashboard stays; ctrl-C ends it", "bold"))
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in stop_signals():
        loop.add_signal_handler(number, stopped.set)
    try:
        await stopped.wait()
    finally:
        for number in stop_signals():
            loop.remove_signal_handler(number)


def _settings(folder: Path) -> Settings:
    """Return settings for two workers with one slot each, that detect a dead worker within a second."""
    return Settings(
        database_url=f"sqlite:///{folder / 'demo.db'}",
        storage_url=str(folder / "media"),
        scratch=str(folder / "scratch"),
        worker_name=FIRST,
        worker_concurrency=1,
        encode_threads=max(1, (os.cpu_count() or 1) // 2),
        ffmpeg=os.environ.get(variable("ffmpeg"), ""),
        heartbeat=0.5,
        sweep_every=0.5,
        orchestrate_every=0.5,
    )


async def _make_source(demo: Demo, seconds: int, size: str) -> Path:
    """Make a video with a moving test picture and a beep every second."""
    source, started = demo.folder / "source.mp4", time.monotonic()
    await _ffmpeg(
        demo.build, "-y",
        "-f", "lavfi", "-i", f"testsrc2=size={size}:rate={RATE}",
        "-f", "lavfi", "-i", "sine=frequency=220:beep_factor=4:sample_rate=48000",
        "-t", str(seconds), "-c:v", "libx264", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", "yuv420p",
        "-g", str(RATE), "-c:a", "aac", "-ac", "2", str(source),
    )  # fmt: skip
    size_text = f"{size}, {seconds} s, {source.stat().st_size / 1e6:.0f} MB"
    ffmpeg = f"with ffmpeg {demo.build.version} ({demo.build.origin}) in {span(time.monotonic() - started)}"
    demo.print(f"made {source.name}: {size_text}, {ffmpeg}")
    return source


async def _ffmpeg(build: Build, *arguments: str) -> str:
    """Run ffmpeg outside the sandbox, and return its progress output. Raise DemoFailed if it fails."""
    process = await asyncio.create_subprocess_exec(
        build.path, "-nostdin", "-hide_banner", "-loglevel", "error", "-nostats", "-progress", "pipe:1", *arguments,
        stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        progress, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines() or ["no output"]
        raise DemoFailed(f"{build.path} failed: {lines[-1]}", hint="it needs libx264 and aac")
    return progress.decode(errors="replace")


async def _wait_for_worker(engine: Engine, victim: Process) -> None:
    """Wait until the second worker is registered."""
    while victim.returncode is None and SECOND not in {worker.name for worker in await engine.workers()}:  # noqa: ASYNC110 - another process
        await asyncio.sleep(POLL_INTERVAL)


async def _follow(demo: Demo, engine: Engine, job_id: int, victim: Process) -> JobDetail:
    """Show the job until it is inactive, and kill a worker meanwhile."""
    killing = asyncio.create_task(_kill_worker(demo, engine, job_id, victim))
    try:
        detail = await follow(engine, job_id, demo.screen)
    finally:
        killing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await killing
    if detail.job.status is not JobStatus.COMPLETED:
        hint = f"`reel job {job_id} --database {demo.settings.database_url}` shows why"
        raise DemoFailed(f"job {job_id} is {detail.job.status}", hint=hint)
    return detail


async def _kill_worker(demo: Demo, engine: Engine, job_id: int, victim: Process) -> None:
    """Kill a worker in the middle of a chunk, and start its replacement."""
    chunk = await _pause_in_chunk(engine, job_id, victim)
    if chunk is None:
        return
    victim.kill()
    await victim.wait()
    lost = f" worker '{SECOND}' in the middle of chunk {chunk.part}; '{REPLACEMENT}' replaces it"
    demo.print(("kill -9", "bold red"), lost)
    async with _worker(demo, REPLACEMENT) as replacement:
        await replacement.wait()


@asynccontextmanager
async def _worker(demo: Demo, name: str) -> AsyncIterator[Process]:
    """Run a worker in a subprocess until the context is left."""
    names = ("database_url", "storage_url", "scratch", "worker_concurrency", "encode_threads", "ffmpeg", "heartbeat")
    settings = {each: str(getattr(demo.settings, each)) for each in names} | {"worker_name": name, "app": ""}
    environment = {**os.environ, **{variable(each): value for each, value in settings.items()}, SUPERVISED: "1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reelstate", "worker", "--no-keeper",
        env=environment, stdin=PIPE, stderr=DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _pause_in_chunk(engine: Engine, job_id: int, victim: Process) -> Task | None:
    """Pause a worker in a chunk once a quarter of all are done, and return the chunk; None if it runs none."""
    while victim.returncode is None:
        detail = await engine.job(job_id)
        if detail.job.status not in ACTIVE_JOBS:
            return None
        chunks = next(stage for stage in detail.stages if stage.name == ENCODE)
        if chunks.done >= max(1, chunks.total // 4) and await _running_chunk(engine, job_id, SECOND):
            victim.send_signal(signal.SIGSTOP)  # else it may finish before it is killed
            if chunk := await _running_chunk(engine, job_id, SECOND):
                return chunk
            victim.send_signal(signal.SIGCONT)
        await asyncio.sleep(POLL_INTERVAL)
    return None


async def _running_chunk(engine: Engine, job_id: int, name: str) -> Task | None:
    """Return the chunk that a worker runs."""
    ids = {worker.id for worker in await engine.workers() if worker.name == name}
    running = (await engine.tasks(job_id, stage=ENCODE, statuses=[TaskStatus.RUNNING])).items
    return next((task for task in running if task.worker_id in ids), None)


async def _check(demo: Demo, detail: JobDetail) -> None:
    """Decode every quality from its playlist, and raise DemoFailed unless it has all frames."""
    media = demo.folder / "media"
    manifest = read_manifest((media / keys.version(detail.job.id) / MANIFEST).read_bytes())
    started, expected = time.monotonic(), manifest.frames
    for rung in manifest.rungs:
        progress = await _ffmpeg(
            demo.build, "-xerror", "-i", str(media / rung.playlist), "-fps_mode", "passthrough", "-f", "null", "-"
        )
        frames = int(re.findall(r"^frame=\s*(\d+)", progress, re.MULTILINE)[-1])
        if frames != expected:
            raise DemoFailed(f"{rung.name} has {frames} frames (expected {expected})")
    names = ", ".join(rung.name for rung in manifest.rungs)
    elapsed = span(time.monotonic() - started)
    demo.print(("checked ", "green"), f"{names}: each decodes to all {expected} frames of the source ({elapsed})")


async def _print_recovery(demo: Demo, engine: Engine, detail: JobDetail) -> None:
    """Print the events of the lost chunk, and raise DemoFailed if the doctor has findings."""
    events = in_order((await engine.history(detail.job.id, limit=LARGEST_PAGE)).items)
    demo.screen.print(events_table(_recovery_events(events)))
    diagnosis = await engine.doctor()
    if not diagnosis.healthy:
        raise DemoFailed(f"doctor: {diagnosis.findings}")
    demo.print(("doctor ", "green"), f"every invariant holds over {len(events)} recorded events")


def _recovery_events(events: Sequence[Event]) -> list[Event]:
    """Return the event that reclaimed a task of the dead worker, and the last event of that task."""
    lost = next((event for event in events if event.actor == Actor.KEEPER and event.part is not None), None)
    if lost is None:
        return []
    later = [event for event in events if (event.stage, event.part) == (lost.stage, lost.part)]
    return [lost, *later[-1:]]


def _print_next_steps(demo: Demo, job_id: int, video_id: int) -> None:
    media = demo.folder / "media"
    stream = media / keys.video(video_id, MASTER)
    lines = [
        ("play", f"{_player()} {shlex.quote(str(stream))}"),
        # Playlists use byte ranges, which Python's http.server does not support.
        ("serve", f"npx http-server {shlex.quote(str(media))} -p 8000 -c-1 --cors"),
        ("", f"http://localhost:8000/{keys.video(video_id, MASTER)}"),
        ("", "(Safari, VLC, a page with hls.js; DASH: manifest.mpd; any web server that supports Range requests)"),
        ("inspect", f"export REEL_DATABASE_URL={demo.settings.database_url}"),
        ("", f"export REEL_STORAGE_URL={media}"),
        ("", f"{_reel()} videos show {video_id}"),
        ("", f"{_reel()} history {job_id}"),
    ]
    demo.print()
    for label, line in lines:
        demo.screen.print(Text.assemble((f"{label:<13}", "dim"), line), soft_wrap=True)


def _player() -> str:
    return next((name for name in ("ffplay", "mpv", "vlc") if shutil.which(name)), "vlc")


def _reel() -> str:
    return "reel" if shutil.which("reel") else sys.argv[0]

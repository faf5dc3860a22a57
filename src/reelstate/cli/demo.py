"""`reel demo`: a film is made and transcoded, a worker is killed on the way, and the result is checked."""

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
from reelstate.cli.process import SUPERVISED
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
LOOK: Final = 0.1
"""Seconds between two looks at how far the job is."""
DOOMED, STEADY, RELIEF = "doomed", "steady", "relief"


class DemoFailed(ReelstateError):
    """The demo did not come to what it promises."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a demo takes place: its folder, what it is set to, the ffmpeg it uses, and the screen."""

    folder: Path
    settings: Settings
    build: Build
    screen: Console

    def say(self, *words: str | Text | tuple[str, str]) -> None:
        """Prose, which is wrapped where people read it."""
        self.screen.print(Text.assemble(*words), soft_wrap=not self.screen.is_terminal)


def demo(
    folder: Annotated[Path | None, typer.Option(help="Where to leave everything; a new folder when left out.")] = None,
    seconds: Annotated[int, typer.Option(min=8, max=3600, help="How long the film is.")] = 30,
    size: Annotated[str, typer.Option(hidden=True, metavar="WxH", help="The size of the film.")] = SIZE,
) -> None:
    """Make a film, transcode it, kill a worker on the way, check every frame, and say how to play it.

    Example: `reel demo --folder /tmp/demo`
    """
    place = (folder or Path(tempfile.mkdtemp(prefix="reel-demo-"))).absolute()
    place.mkdir(parents=True, exist_ok=True)
    with _quiet():
        run(_demo(place, seconds, size, console()))


@contextmanager
def _quiet() -> Iterator[None]:
    """The log would write across the bars; what it has to say of a lost worker is told in other words."""
    logger = logging.getLogger("reelstate")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


async def _demo(folder: Path, seconds: int, size: str, screen: Console) -> None:
    settings = _settings(folder)
    scene = Scene(folder, settings, await find_ffmpeg(settings.ffmpeg), screen)
    scene.say(f"everything is kept in {folder}")
    for weakness in scene.build.weaknesses:
        scene.say((f"note: {weakness.name}: {weakness.detail}; {weakness.hint}", "dim"))
    async with (
        open_engine(
            settings.database_url, pipelines=built_in_pipelines(settings), workers=1, settings=settings
        ) as engine,
        _worker(scene, DOOMED) as doomed,
    ):
        film = await _make_film(scene, seconds, size)
        await _joined(engine, doomed)
        submitted = await Videos(engine).submit(str(film), title="demo", spec={"profile": PROFILE})
        scene.say(f"submitted job {submitted.job_id}, which makes video {submitted.resource_id}")
        detail = await _followed(scene, engine, submitted.job_id, doomed)
        await _check(scene, detail)
        await _look_back(scene, engine, detail)
        await Publisher(engine, open_storage(settings.storage_url), keep=settings.keep_versions).publish()
    shutil.rmtree(settings.scratch)  # a worker that was killed could not tidy up
    _tell(scene, submitted.job_id, submitted.resource_id or 0)


def _settings(folder: Path) -> Settings:
    """Two workers of one task each share the cores; a dead one is noticed within a second."""
    return Settings(
        database_url=f"sqlite:///{folder / 'demo.db'}",
        storage_url=str(folder / "media"),
        scratch=str(folder / "scratch"),
        worker_name=STEADY,
        worker_concurrency=1,
        encode_threads=max(1, (os.cpu_count() or 1) // 2),
        ffmpeg=os.environ.get(variable("ffmpeg"), ""),
        heartbeat=0.5,
        sweep_every=0.5,
        orchestrate_every=0.5,
    )


async def _make_film(scene: Scene, seconds: int, size: str) -> Path:
    """A test picture that moves, and a beep every second."""
    film, began = scene.folder / "film.mp4", time.monotonic()
    await _ffmpeg(
        scene.build, "-y",
        "-f", "lavfi", "-i", f"testsrc2=size={size}:rate={RATE}",
        "-f", "lavfi", "-i", "sine=frequency=220:beep_factor=4:sample_rate=48000",
        "-t", str(seconds), "-c:v", "libx264", "-preset", "ultrafast", "-crf", "28", "-pix_fmt", "yuv420p",
        "-g", str(RATE), "-c:a", "aac", "-ac", "2", str(film),
    )  # fmt: skip
    made = f"{size}, {seconds} s, {film.stat().st_size / 1e6:.0f} MB"
    told = f"with ffmpeg {scene.build.version} ({scene.build.origin}) in {span(time.monotonic() - began)}"
    scene.say(f"made {film.name}: {made}, {told}")
    return film


async def _ffmpeg(build: Build, *arguments: str) -> str:
    """Run ffmpeg on files of our own; gives what it says of its progress."""
    process = await asyncio.create_subprocess_exec(
        build.path, "-nostdin", "-hide_banner", "-loglevel", "error", "-nostats", "-progress", "pipe:1", *arguments,
        stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        told, complaint = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        words = complaint.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise DemoFailed(f"{build.path} failed: {words[-1]}", hint="is it a whole ffmpeg, with libx264 and aac?")
    return told.decode(errors="replace")


async def _joined(engine: Engine, doomed: Process) -> None:
    """Wait for the second worker, so that both are there from the start."""
    while doomed.returncode is None and DOOMED not in {worker.name for worker in await engine.workers()}:  # noqa: ASYNC110 - another process
        await asyncio.sleep(LOOK)


async def _followed(scene: Scene, engine: Engine, job_id: int, doomed: Process) -> JobDetail:
    """Show the job to its end, while a worker is lost."""
    losing = asyncio.create_task(_lose_a_worker(scene, engine, job_id, doomed))
    try:
        detail = await follow(engine, job_id, scene.screen)
    finally:
        losing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await losing
    if detail.job.status is not JobStatus.COMPLETED:
        hint = f"`reel job {job_id} --database {scene.settings.database_url}` says why"
        raise DemoFailed(f"job {job_id} is {detail.job.status}", hint=hint)
    return detail


async def _lose_a_worker(scene: Scene, engine: Engine, job_id: int, doomed: Process) -> None:
    """Kill a worker in the middle of a chunk, as a machine that goes down would, and have another take its place."""
    chunk = await _in_hand(engine, job_id, doomed)
    if chunk is None:
        return
    doomed.kill()
    await doomed.wait()
    lost = f" worker '{DOOMED}' in the middle of chunk {chunk.part}; '{RELIEF}' takes its place"
    scene.say(("kill -9", "bold red"), lost)
    async with _worker(scene, RELIEF) as relief:
        await relief.wait()


@asynccontextmanager
async def _worker(scene: Scene, name: str) -> AsyncIterator[Process]:
    """A worker in a process of its own, which ends with the context."""
    names = ("database_url", "storage_url", "scratch", "worker_concurrency", "encode_threads", "ffmpeg", "heartbeat")
    told = {each: str(getattr(scene.settings, each)) for each in names} | {"worker_name": name, "app": ""}
    environment = {**os.environ, **{variable(each): value for each, value in told.items()}, SUPERVISED: "1"}
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


async def _in_hand(engine: Engine, job_id: int, doomed: Process) -> Task | None:
    """The chunk that the doomed worker is stopped at, once a quarter of all are done; None if it never is."""
    while doomed.returncode is None:
        detail = await engine.job(job_id)
        if detail.job.status not in ACTIVE_JOBS:
            return None
        chunks = next(stage for stage in detail.stages if stage.name == ENCODE)
        if chunks.done >= max(1, chunks.total // 4) and await _held(engine, job_id, DOOMED):
            doomed.send_signal(signal.SIGSTOP)  # else it may finish between the look and the kill
            if held := await _held(engine, job_id, DOOMED):
                return held
            doomed.send_signal(signal.SIGCONT)
        await asyncio.sleep(LOOK)
    return None


async def _held(engine: Engine, job_id: int, name: str) -> Task | None:
    """The chunk that a worker is at."""
    named = {worker.id for worker in await engine.workers() if worker.name == name}
    running = (await engine.tasks(job_id, stage=ENCODE, statuses=[TaskStatus.RUNNING])).items
    return next((task for task in running if task.worker_id in named), None)


async def _check(scene: Scene, detail: JobDetail) -> None:
    """Decode every quality from its first frame to its last, as a player would read it."""
    media = scene.folder / "media"
    manifest = read_manifest((media / keys.version(detail.job.id) / MANIFEST).read_bytes())
    began, wanted = time.monotonic(), manifest.frames
    for rung in manifest.rungs:
        told = await _ffmpeg(
            scene.build, "-xerror", "-i", str(media / rung.playlist), "-fps_mode", "passthrough", "-f", "null", "-"
        )
        frames = int(re.findall(r"^frame=\s*(\d+)", told, re.MULTILINE)[-1])
        if frames != wanted:
            raise DemoFailed(f"{rung.name} has {frames} frames, and the film {wanted}")
    names = ", ".join(rung.name for rung in manifest.rungs)
    took = span(time.monotonic() - began)
    scene.say(("checked ", "green"), f"{names}: each decodes to all {wanted} frames of the film ({took})")


async def _look_back(scene: Scene, engine: Engine, detail: JobDetail) -> None:
    """What the record says of the chunk that was lost, and whether the store is sound."""
    events = in_order((await engine.history(detail.job.id, limit=LARGEST_PAGE)).items)
    scene.screen.print(events_table(_of_what_was_lost(events)))
    diagnosis = await engine.doctor()
    if not diagnosis.healthy:
        raise DemoFailed(f"doctor: {diagnosis.findings}")
    scene.say(("doctor ", "green"), f"every invariant holds over {len(events)} recorded events")


def _of_what_was_lost(events: Sequence[Event]) -> list[Event]:
    """How a task came back from a dead worker, and how it ended."""
    lost = next((event for event in events if event.actor == Actor.KEEPER and event.part is not None), None)
    if lost is None:
        return []
    later = [event for event in events if (event.stage, event.part) == (lost.stage, lost.part)]
    return [lost, *later[-1:]]


def _tell(scene: Scene, job_id: int, video_id: int) -> None:
    media = scene.folder / "media"
    stream = media / keys.video(video_id, MASTER)
    lines = [
        ("play it", f"{_player()} {shlex.quote(str(stream))}"),
        # Playlists name spans of files: a server that only gives whole ones, as Python's own, can't serve them.
        ("serve it", f"npx http-server {shlex.quote(str(media))} -p 8000 -c-1 --cors"),
        ("", f"http://localhost:8000/{keys.video(video_id, MASTER)}"),
        ("", "(Safari, VLC, a page with hls.js; DASH is manifest.mpd; any web server with Range requests will do)"),
        ("look around", f"export REEL_DATABASE_URL={scene.settings.database_url}"),
        ("", f"export REEL_STORAGE_URL={media}"),
        ("", f"{_reel()} videos show {video_id}"),
        ("", f"{_reel()} history {job_id}"),
    ]
    scene.say()
    for head, line in lines:
        scene.screen.print(Text.assemble((f"{head:<13}", "dim"), line), soft_wrap=True)


def _player() -> str:
    return next((name for name in ("ffplay", "mpv", "vlc") if shutil.which(name)), "vlc")


def _reel() -> str:
    return "reel" if shutil.which("reel") else sys.argv[0]

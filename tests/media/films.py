"""Films through the whole pipeline: sources, a house in this process that works on them, and what it made, played."""

import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from reelstate.app import built_in, open_engine
from reelstate.config import Settings
from reelstate.core.machine import JobStatus
from reelstate.core.model import JobDetail, LogEntry, StepEntry, Task
from reelstate.engine import Engine
from reelstate.media.packaging.manifest import Manifest
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.run import Run
from tests.media.clips import ffmpeg
from tests.media.streams import builds

Json = Any
BUILD = next(iter(builds()))
RATE = 25
TIMEOUT = 300.0
RUNGS = ("180p", "90p")
SOUND = ("-f", "lavfi", "-i", "sine=sample_rate=48000")
X264 = "-c:v libx264 -preset ultrafast -bf 2 -g 8 -pix_fmt yuv420p"


def profile(*, optional: Sequence[str] = (), **changes: Json) -> Json:
    """Two rungs in segments and chunks of a second, as quick as they can be made."""
    heights = {name: int(name.removesuffix("p")) for name in RUNGS}
    rungs = [
        {"name": name, "height": height, "crf": 30, "max_bitrate": 2_000_000, "preset": "ultrafast",
         "required": name not in optional}
        for name, height in heights.items()
    ]  # fmt: skip
    plain = {"thumbnails": False, "sprites": False, "segment_seconds": 1, "chunk_seconds": 1}
    return {"name": "tiny", "rungs": rungs, **plain, **changes}


def film(path: Path, seconds: int = 2, *, size: str = "320x180", sound: bool = True, options: str = X264) -> Path:
    """A film with motion and, if wanted, sound."""
    picture = ("-f", "lavfi", "-i", f"testsrc2=size={size}:rate={RATE}")
    heard = (*SOUND, "-c:a", "aac") if sound else ()
    ffmpeg(BUILD, *picture, *heard[:4], *options.split(), *heard[4:], "-t", str(seconds), str(path))
    return path


@dataclass(frozen=True)
class House:
    """An engine with workers in this process, and the folder of its storage."""

    engine: Engine
    settings: Settings

    @property
    def storage(self) -> Path:
        return Path(self.settings.storage_url)

    async def made(self, source: Path | str, **spec: Json) -> JobDetail:
        """The job of a film when it rests."""
        return await self.engine.wait(await self.submit(source, **spec), timeout=TIMEOUT)

    async def submit(self, source: Path | str, **spec: Json) -> int:
        return (await self.engine.submit("transcode", {"source": str(source), "profile": profile(), **spec})).job_id

    async def stream(self, source: Path | str, **spec: Json) -> "Stream":
        """The stream that is made of a film."""
        detail = await self.made(source, **spec)
        assert detail.job.status is JobStatus.COMPLETED, detail.job.error
        return Stream(self.storage, detail)

    async def tasks(self, job: int, stage: str | None = None) -> list[Task]:
        return (await self.engine.tasks(job, stage=stage, limit=500)).items

    async def steps(self, job: int) -> list[StepEntry]:
        return (await self.engine.steps(job)).items

    async def logs(self, job: int) -> list[LogEntry]:
        return (await self.engine.logs(job)).items


Handler = Callable[[Run], Awaitable[Json]]
Wrap = Callable[[str, Handler], Handler]
"""Returns what to run in the place of the handler of a stage."""


def altered(pipeline: Pipeline, wrap: Wrap = lambda _, handler: handler, **options: Any) -> Pipeline:
    """A pipeline as it is, but for these options of all its stages and for handlers that are wrapped."""
    made = Pipeline(pipeline.name, built_in=True)
    for spec in pipeline.graph.stages:
        given = {field.name: getattr(spec, field.name) for field in fields(spec)}
        made.stage(**{**given, **options})(wrap(spec.name, pipeline.handlers[spec.name].call))
    return made


@asynccontextmanager
async def house(folder: Path, wrap: Wrap = lambda _, handler: handler, **settings: Any) -> AsyncIterator[House]:
    """A house with room for two tasks, whose storage and scratch are in this folder; it retries without a pause."""
    given = {"storage_url": str(folder / "media"), "scratch": str(folder / "scratch"), "encode_threads": 1}
    chosen = Settings(database_url=f"sqlite:///{folder / 'house.db'}", **{**given, **settings})
    pipelines = [altered(pipeline, wrap, backoff=0.0) for pipeline in built_in(chosen)]
    async with open_engine(chosen.database_url, pipelines=pipelines, workers=2, settings=chosen) as engine:
        yield House(engine, chosen)


class Stream:
    """What a job has made, as a player gets it."""

    def __init__(self, storage: Path, detail: JobDetail) -> None:
        self.detail = detail
        self.outputs: Json = detail.outputs["publish"]
        self._storage = storage
        self.manifest: Manifest = json.loads(self.path(self.outputs["manifest"]).read_text())

    def path(self, key: str) -> Path:
        return self._storage / key

    @property
    def master(self) -> Path:
        return self.path(self.outputs["master"])

    @property
    def frames(self) -> int:
        """As planned."""
        return int(self.detail.plan["fetch"]["plan"]["grid"]["frames"])

    def stage(self, name: str) -> int:
        """The number of a stage in its pipeline."""
        return [stage.name for stage in self.detail.stages].index(name)

    def played(self, build: str = BUILD) -> dict[str, list[str]]:
        """Every frame of every rung, as it is decoded from the playlists."""
        return {rung["name"]: decoded(build, self.path(rung["playlist"]), "0:v:0") for rung in self.manifest["rungs"]}

    def samples(self, number: int = 0) -> int:
        """How many samples a sound track has when it is decoded."""
        rows = rows_of(BUILD, self.path(self.manifest["audio"][number]["playlist"]), "0:a:0")
        return sum(int(row[3]) for row in rows)


def decoded(build: str, playlist: Path, stream: str) -> list[str]:
    return [row[-1].strip() for row in rows_of(build, playlist, stream)]


def rows_of(build: str, playlist: Path, stream: str) -> list[list[str]]:
    text = ffmpeg(
        build, "-i", str(playlist), "-map", stream, "-fps_mode", "passthrough", "-f", "framemd5", "-"
    ).decode()  # fmt: skip
    return [line.split(",") for line in text.splitlines() if not line.startswith("#")]


def wrapper(path: Path, script: str) -> Path:
    """A program that stands before the real ffmpeg: a script of the shell that sees its arguments first."""
    path.write_text(f'#!/bin/sh\n{script}\nexec {shlex.quote(builds()[BUILD])} "$@"\n')
    path.chmod(0o700)
    return path


def failing_at(path: Path, rung: str) -> Path:
    """An ffmpeg that can't make a rung, neither with others nor alone."""
    return wrapper(path, f'case " $* " in *"/{rung} "*) echo "[error] no {rung} today" >&2; exit 1;; esac')

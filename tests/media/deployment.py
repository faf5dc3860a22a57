"""A deployment in the test process: an engine with workers, and the streams that it makes."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from reelstate.app import built_in_pipelines, open_engine
from reelstate.config import Settings
from reelstate.core.machine import JobStatus
from reelstate.core.model import JobDetail, LogEntry, StepEntry, Task
from reelstate.engine import Engine
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.run import Run
from tests.media.clips import ffmpeg
from tests.media.source_videos import BUILD, TIMEOUT, profile

Json = Any


@dataclass(frozen=True)
class Deployment:
    """An engine with workers in this process, and the folder of its storage."""

    engine: Engine
    settings: Settings

    @property
    def storage(self) -> Path:
        return Path(self.settings.storage_url)

    async def transcode(self, source: Path | str, **spec: Json) -> JobDetail:
        """Submit a source and return its job once it is inactive."""
        return await self.engine.wait(await self.submit(source, **spec), timeout=TIMEOUT)

    async def submit(self, source: Path | str, **spec: Json) -> int:
        return (await self.engine.submit("transcode", {"source": str(source), "profile": profile(), **spec})).job_id

    async def stream(self, source: Path | str, **spec: Json) -> "Stream":
        """Transcode a source and return its stream; the job has to complete."""
        detail = await self.transcode(source, **spec)
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
"""Returns the handler to run instead of the handler of a stage."""


def customize(pipeline: Pipeline, wrap: Wrap = lambda _, handler: handler, **options: Any) -> Pipeline:
    """Copy a pipeline with its handlers wrapped and with these options in all its stages."""
    made = Pipeline(pipeline.name, built_in=True)
    for spec in pipeline.graph.stages:
        given = {field.name: getattr(spec, field.name) for field in fields(spec)}
        made.stage(**{**given, **options})(wrap(spec.name, pipeline.handlers[spec.name].call))
    return made


@asynccontextmanager
async def start_deployment(
    folder: Path, wrap: Wrap = lambda _, handler: handler, **settings: Any
) -> AsyncIterator[Deployment]:
    """Run a deployment with two task slots, storage and scratch in `folder`, and retries without a delay."""
    given: dict[str, Any] = {
        "storage_url": str(folder / "media"),
        "scratch": str(folder / "scratch"),
        "encode_threads": 1,
    }
    given["worker_prefetch"] = 0  # a task that is claimed ahead and released has one token more than runs
    chosen = Settings(database_url=f"sqlite:///{folder / 'reel.db'}", **{**given, **settings})
    pipelines = [customize(pipeline, wrap, backoff=0.0) for pipeline in built_in_pipelines(chosen)]
    async with open_engine(chosen.database_url, pipelines=pipelines, workers=2, settings=chosen) as engine:
        yield Deployment(engine, chosen)


class Stream:
    """The files that a job has published."""

    def __init__(self, storage: Path, detail: JobDetail) -> None:
        self.detail = detail
        self.outputs: Json = detail.outputs["publish"]
        self._storage = storage
        self.manifest: Json = json.loads(self.path(self.outputs["manifest"]).read_text())

    def path(self, key: str) -> Path:
        return self._storage / key

    @property
    def master(self) -> Path:
        return self.path(self.outputs["master"])

    @property
    def frames(self) -> int:
        """Return the planned number of frames."""
        return int(self.detail.plan["fetch"]["plan"]["grid"]["frames"])

    def stage(self, name: str) -> int:
        """Return the index of a stage in its pipeline."""
        return [stage.name for stage in self.detail.stages].index(name)

    def decode_rungs(self, build: str = BUILD) -> dict[str, list[str]]:
        """Decode the playlist of every rung and return the digests of its frames."""
        return {
            rung["name"]: decode_frames(build, self.path(rung["playlist"]), "0:v:0") for rung in self.manifest["rungs"]
        }

    def samples(self, number: int = 0) -> int:
        """Decode an audio track and return its number of samples."""
        rows = decode_rows(BUILD, self.path(self.manifest["audio"][number]["playlist"]), "0:a:0")
        return sum(int(row[3]) for row in rows)


def decode_frames(build: str, playlist: Path, stream: str) -> list[str]:
    return [row[-1].strip() for row in decode_rows(build, playlist, stream)]


def decode_rows(build: str, playlist: Path, stream: str) -> list[list[str]]:
    text = ffmpeg(
        build, "-i", str(playlist), "-map", stream, "-fps_mode", "passthrough", "-f", "framemd5", "-"
    ).decode()  # fmt: skip
    return [line.split(",") for line in text.splitlines() if not line.startswith("#")]

"""False results of a remote worker are refused, and a refused result counts as a failed attempt."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.app import built_in_pipelines
from reelstate.core.machine import INACTIVE_JOBS, JobStatus
from reelstate.engine import Engine
from tests.api.api_server import Server, api_server
from tests.engines import engine_at
from tests.media.deployment import Stream, customize
from tests.media.source_videos import make_video, profile
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_workers import create_key, run_remote_worker, settings_for

Json = Any
TIMEOUT = 300.0
REFUSALS = {
    "plan": "does not match",
    "fetch": "was not sent by this run",
    "audio": "is not the file of this run",
    "encode": " does not have ",
    "package": "has another result on the server",
    "verify": "has other bytes than were recorded",
    "publish": "has another result on the server",
}
"""Part of the error with which each stage is refused."""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    (graph,) = [customize(pipeline, backoff=0.0).graph for pipeline in built_in_pipelines(rs.Settings())]
    async with engine_at(database_url, graphs=[graph]) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    options = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "server")}
    async with api_server(engine, database_url, **options) as made:
        yield made


def falsify(stage: str, result: Json) -> Json:
    """Return a false result of a stage."""
    false = json.loads(json.dumps(result))
    match stage:
        case "plan":
            false["rungs"][0]["name"] = "../../escaped"
        case "fetch":
            false["source"] = "0" * 64
        case "audio":
            false["key"] = "versions/1/audio/0/1/audio.mp4"
        case "encode":
            false["rungs"]["90p"]["size"] += 1
        case "package":
            false["frames"] += 1
        case "publish":
            false["master"] = "versions/1/master.m3u8"
    return false


def falsifying(pipeline: rs.Pipeline, damage: Callable[[], None]) -> rs.Pipeline:
    """Return a pipeline whose stages falsify their first result; the first `verify` returns success unchecked."""

    def once(name: str, call: Callable[[rs.Run], Awaitable[Json]]) -> Callable[[rs.Run], Awaitable[Json]]:
        async def run(task: rs.Run) -> Json:
            if name == "verify" and task.token == 1:
                damage()
                return {"files": 1, "bytes": 1}
            result = await call(task)
            return falsify(name, result) if task.token == 1 else result

        return run

    made = rs.Pipeline(pipeline.name, built_in=True)
    for spec in pipeline.graph.stages:
        given = {name: getattr(spec, name) for name in ("name", "after", "phase", "each", "needs", "required")}
        made.stage(**given)(once(spec.name, pipeline.handlers[spec.name].call))
    return made


async def test_no_false_result_is_accepted(api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path) -> None:
    source = make_video(tmp_path / "video.mp4", 2)
    settings = replace(
        settings_for(await create_key(api, "false"), proxy, tmp_path / "far"),
        worker_capabilities="",
        encode_threads=1,
    )
    media, kept = tmp_path / "media", {}

    def damage() -> None:
        """Damage a stored chunk; it is restored later."""
        (chunk,) = media.glob("versions/*/encode/0/2/90p.mp4")
        kept[chunk] = chunk.read_bytes()
        chunk.write_bytes(kept[chunk][:-1] + b"?")

    (pipeline,) = built_in_pipelines(settings)
    job = (await engine.submit("transcode", {"source": str(source), "profile": profile()})).job_id
    async with run_remote_worker([falsifying(pipeline, damage)], settings):
        async with asyncio.timeout(TIMEOUT):
            while (detail := await engine.job(job)).job.status not in INACTIVE_JOBS:
                if not kept:  # nothing is retried before it is restored
                    await engine.orchestrate()
                elif any(task.error for task in (await engine.tasks(job, stage="verify")).items):
                    chunk, data = kept.popitem()
                    chunk.write_bytes(data)
                await asyncio.sleep(0.05)  # rows of the store have no signal
    assert detail.job.status is JobStatus.COMPLETED, detail.job.error
    stream = Stream(media, detail)
    assert {len(frames) for frames in stream.decode_rungs().values()} == {50}
    events = (await engine.history(job, limit=5000)).items
    refused: dict[str, list[str]] = {}
    for event in events:
        if event.target == "error" and event.stage is not None:
            refused.setdefault(event.stage, []).append(json.dumps(event.data))
    assert {name: all(REFUSALS[name] in each for each in errors) for name, errors in refused.items()} == dict.fromkeys(
        REFUSALS, True
    )
    assert not (media / "escaped").exists()

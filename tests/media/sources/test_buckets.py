"""Transcode sources from buckets and web servers into buckets, also while the storage fails."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reelstate.artifacts.storage import Storage, open_storage
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import JobDetail
from reelstate.engine import Engine
from reelstate.library.publisher import Publisher
from reelstate.library.videos import Videos
from tests.chaos.fleet import open_fleet
from tests.library.local_library import TIMEOUT, Gate, encoded, front, library
from tests.media.deployment import decode_frames
from tests.media.source_videos import BUILD, RATE, make_video, profile
from tests.media.sources import web_server
from tests.media.sources.web_server import WebServer
from tests.s3 import s3_server
from tests.waiting import until

SECONDS = 4


async def test_workers_that_share_no_folder_make_a_stream_in_a_bucket(bucket_url: str, tmp_path: Path) -> None:
    await open_storage(bucket_url).put_file("sources/video.mp4", make_video(tmp_path / "video.mp4", SECONDS))
    (tmp_path / "video.mp4").unlink()
    storage = open_storage(f"{bucket_url}/streams")
    settings: dict[str, Any] = {"app": "", "storage_url": storage.url, "worker_concurrency": 1}
    async with open_fleet(f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path, tmp_path / "bytecode") as fleet:
        for name in ("one", "two"):
            fleet.worker(name, scratch=tmp_path / name, **settings)
        await fleet.wait_ready("one", "two")
        answer = await Videos(fleet.engine).submit(f"{bucket_url}/sources/video.mp4", spec={"profile": profile()})
        await fleet.wait_status(answer.job_id, seconds=TIMEOUT)
        assert len({task.last_worker for task in await fleet.tasks(answer.job_id, stage="encode")}) == 2
        await Publisher(fleet.engine, storage, keep=0).publish()
        source = (await fleet.engine.job(answer.job_id)).plan["fetch"]["source"]
    for name in ("one", "two"):
        assert (tmp_path / name / "reelstate-sources" / source).exists()
    await download_all(storage, tmp_path / "viewer")
    playlist = tmp_path / "viewer" / front(answer.resource_id or 0)
    assert len(await asyncio.to_thread(decode_frames, BUILD, playlist, "0:v:0")) == SECONDS * RATE


async def download_all(storage: Storage, folder: Path) -> None:
    """Download all published files under their keys."""
    for prefix in ("videos", "versions"):
        async for found in storage.list(prefix):
            path = folder / found.key
            path.parent.mkdir(parents=True, exist_ok=True)
            await storage.download(found.key, path)


async def test_an_outage_of_the_bucket_costs_an_attempt_and_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    (tmp_path / "s3").mkdir()
    with ExitStack() as first:
        server = first.enter_context(s3_server(tmp_path / "s3"))
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        async with library(tmp_path, gate=gate, backoff=0.1, storage_url=server.new_place()) as made:
            job = (await made.submit(make_video(tmp_path / "video.mp4", 2))).job_id
            await encoded(made.engine, job, 0)
            port = urlsplit(server.endpoint).port or 0
            first.close()
            async with held_port(port):
                gate.open(20)
                error = await first_error(made.engine, job)
            with s3_server(tmp_path / "s3", port):
                await made.completed(job)
                chunks = (await made.engine.tasks(job, stage="encode")).items
                assert max(chunk.attempt for chunk in chunks) > 1
                assert (
                    "error sending request (check that the endpoint is right and reachable; the task is retried)"
                    in error
                )


@asynccontextmanager
async def held_port(port: int) -> AsyncIterator[None]:
    """Refuse connections to the port of a server that is ending, and keep other processes from taking it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

        def is_bound() -> bool:
            with suppress(OSError):
                holder.bind(("127.0.0.1", port))
            return holder.getsockname()[1] == port

        await until(is_bound)
        yield


async def first_error(engine: Engine, job_id: int) -> str:
    """Return the error of the first task of a job that fails."""
    async with asyncio.timeout(TIMEOUT):
        async for event in engine.watch(job_id):
            if event.target == TaskStatus.ERROR:
                (error, *_) = [task.error for task in (await engine.tasks(job_id)).items if task.error]
                return str(error["message"])
    raise AssertionError("nothing failed")


@pytest.mark.parametrize("location", ["source", "storage"])
async def test_a_missing_bucket_fails_the_job_at_once(bucket_url: str, tmp_path: Path, location: str) -> None:
    assert bucket_url
    missing = "s3://no-such-bucket/sources"
    source = make_video(tmp_path / "video.mp4", 1, sound=False)
    settings: dict[str, Any] = {"storage_url": missing} if location == "storage" else {}
    async with library(tmp_path, backoff=0.1, **settings) as made:
        address = f"{missing}/video.mp4" if location == "source" else str(source)
        detail = await made.rests((await made.submit(address)).job_id)
        assert re.search(r"no object s3://no-such-bucket|no-such-bucket.* there is no such bucket", cause(detail))
        (task,) = (await made.engine.tasks(detail.job.id, statuses=[TaskStatus.ERROR])).items
        assert task.attempt == 1


async def test_missing_credentials_are_reported_in_the_job(
    bucket_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusing_port: int
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{refusing_port}")
    source = make_video(tmp_path / "video.mp4", 1, sound=False)
    async with library(tmp_path, backoff=0.1, storage_url=bucket_url) as made:
        detail = await made.rests((await made.submit(source)).job_id)
        assert detail.job.status is JobStatus.FAILED
        assert "there are no credentials (set AWS_ACCESS_KEY_ID" in cause(detail)
        (task,) = (await made.engine.tasks(detail.job.id, statuses=[TaskStatus.ERROR])).items
        assert task.attempt == 3, "another worker may have them"


@asynccontextmanager
async def serve_video(folder: Path, script: str) -> AsyncIterator[WebServer]:
    data = make_video(folder / "video.mp4", 1).read_bytes()
    async with WebServer.running() as web:
        web.scripts["/video.mp4"] = getattr(web_server, script)(data)
        yield web


@pytest.mark.parametrize("script", ["file", "plain"], ids=["with ranges", "without ranges"])
async def test_a_source_is_read_from_a_web_server(tmp_path: Path, script: str) -> None:
    async with serve_video(tmp_path, script) as web, library(tmp_path, input_hosts=f"127.0.0.1:{web.port}") as made:
        job = await made.made(web.url("/video.mp4"))
        playlist = tmp_path / "media" / front(job.resource_id or 0)
        assert len(await asyncio.to_thread(decode_frames, BUILD, playlist, "0:v:0")) == RATE


async def test_a_web_server_in_the_private_network_is_refused_unless_allowed(tmp_path: Path) -> None:
    async with serve_video(tmp_path, "file") as web, library(tmp_path) as made:
        detail = await made.rests((await made.submit(web.url("/video.mp4"))).job_id)
        assert detail.job.status is JobStatus.FAILED
        assert "REEL_INPUT_HOSTS" in cause(detail)
        assert web.requests == []


def cause(detail: JobDetail) -> str:
    assert detail.job.error is not None
    return str(detail.job.error["cause"]["message"])

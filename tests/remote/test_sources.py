"""Sources of a remote worker: files come through the server, web sources under the same rules as everywhere."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.app import built_in_pipelines
from reelstate.artifacts import keys
from reelstate.artifacts.storage import open_storage
from reelstate.core.machine import INACTIVE_JOBS, JobStatus
from reelstate.core.model import JobDetail, TaskKey
from reelstate.engine import Engine
from reelstate.services.permits import Grant
from tests.api.api_server import Server, api_server
from tests.engines import engine_at
from tests.media.deployment import customize
from tests.media.source_videos import make_video, profile
from tests.media.sources.web_server import Request, WebServer
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_workers import create_key, proxy_to, run_remote_worker, settings_for
from tests.remote.scripted_worker import ScriptedWorker, error_name, remotes_of
from tests.s3 import s3_server

Json = Any
CHANGES = "changes.test"
SEVERAL = "several.test"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    graphs = [customize(pipeline, backoff=0.0).graph for pipeline in built_in_pipelines(rs.Settings())]
    async with engine_at(database_url, graphs=graphs) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    (tmp_path / "videos").mkdir()
    options = {
        "storage_url": str(tmp_path / "media"),
        "scratch": str(tmp_path / "server"),
        "input_roots": str(tmp_path / "videos"),
    }
    async with api_server(engine, database_url, **options) as made:
        yield made


async def submit_source(engine: Engine, source: str) -> int:
    return (await engine.submit("transcode", {"source": source, "profile": profile()})).job_id


async def wait_inactive(engine: Engine, job: int) -> JobDetail:
    async with asyncio.timeout(300):
        while (detail := await engine.job(job)).job.status not in INACTIVE_JOBS:
            await engine.orchestrate()
            await asyncio.sleep(0.05)  # a retry becomes due without a signal
    return detail


def error_message(detail: JobDetail) -> str:
    return str(detail.job.error["cause"]["message"])


def fake_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve one name to another address each time, and one to several addresses."""
    resolve_plain, answers = socket.getaddrinfo, iter(["127.0.0.1", "169.254.169.254", "10.0.0.1"])

    def resolve(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host == CHANGES:
            return resolve_plain(next(answers, "10.0.0.1"), port, *rest, **named)
        if host == SEVERAL:
            return resolve_plain("192.0.2.1", port, *rest, **named) + resolve_plain("127.0.0.1", port, *rest, **named)
        return resolve_plain(host, port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


async def test_a_remote_worker_refuses_addresses_of_private_networks(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_resolver(monkeypatch)
    async with WebServer.running() as inner, WebServer.running() as outer:

        async def redirect(request: Request) -> None:
            await request.head("302 Found", Location=inner.url("/secret"), Content_Length=0)

        outer.scripts["/video.mp4"] = redirect
        settings = settings_for(
            await create_key(api, "far"), proxy, tmp_path / "far", input_hosts=f"127.0.0.1:{outer.port}"
        )
        sources = [
            inner.url("/secret"),
            inner.url("/secret", host="localhost"),
            inner.url("/secret", host="[::ffff:127.0.0.1]"),
            inner.url("/secret", host="0x7f000001"),
            inner.url("/secret", host="127.1"),
            inner.url("/secret", host="0.0.0.0"),  # noqa: S104 - the address of a source
            "http://169.254.169.254/latest/meta-data/",
            outer.url("/video.mp4"),
            inner.url("/secret", host=CHANGES),
            inner.url("/secret", host=SEVERAL),
        ]
        jobs = [await submit_source(engine, source) for source in sources]
        async with run_remote_worker(built_in_pipelines(settings), settings):
            details = [await wait_inactive(engine, job) for job in jobs]
        assert inner.requests == []
    assert {detail.job.status for detail in details} == {JobStatus.FAILED}
    for source, detail in zip(sources, details, strict=True):
        assert "not a public address" in error_message(detail), source


async def test_a_file_that_the_server_may_not_read_is_not_served(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    outside, inside = tmp_path / "outside.mp4", tmp_path / "videos" / "inside.mp4"
    outside.write_bytes(b"private")
    inside.symlink_to(outside)
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path / "far")
    sources = [str(outside), str(inside), str(tmp_path / "videos" / "none.mp4"), "/etc/passwd", str(tmp_path)]
    jobs = [await submit_source(engine, source) for source in sources]
    async with run_remote_worker(built_in_pipelines(settings), settings):
        details = [await wait_inactive(engine, job) for job in jobs]
    assert {detail.job.status for detail in details} == {JobStatus.FAILED}
    messages = [error_message(detail) for detail in details]
    assert "outside the folders" in messages[0]
    assert "outside the folders" in messages[1]
    assert "there is no file" in messages[2]
    assert "private" not in "".join(messages)


async def test_the_server_does_not_fetch_web_sources(api: Server, engine: Engine) -> None:
    async with WebServer.running() as inner:
        remotes = remotes_of(api)
        remotes.rules = replace(remotes.rules, hosts=frozenset({f"127.0.0.1:{inner.port}"}))
        await submit_source(engine, inner.url("/secret"))
        far = await ScriptedWorker.of(api, "far", pipelines=["transcode"])
        (task,) = await far.claim()
        answer = await far.request("GET", "/source", task["permit"])
        assert (answer.status_code, error_name(answer)) == (404, "not-found")
        assert inner.requests == []


async def test_the_server_serves_ranges_of_a_source_to_its_job(api: Server, engine: Engine, tmp_path: Path) -> None:
    path = make_video(tmp_path / "videos" / "video.mp4", 1)
    await submit_source(engine, str(path))
    far = await ScriptedWorker.of(api, "far", pipelines=["transcode"])
    (task,) = await far.claim()
    data = path.read_bytes()
    assert (await far.request("GET", "/source", task["permit"])).content == data
    part = await far.request("GET", "/source", task["permit"], headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, data[100:200])
    assert (await far.request("GET", f"/files/{keys.source('0' * 64)}", task["permit"])).status_code == 404


async def test_the_source_field_of_another_pipeline_is_not_served(api: Server, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "videos" / "video.mp4"
    path.write_bytes(b"only an admin may name a path")
    await engine.submit("simple", {"source": str(path)})
    far = await ScriptedWorker.of(api, "far", pipelines=["simple"])
    (task,) = await far.claim()
    answer = await far.request("GET", "/source", task["permit"])
    assert (answer.status_code, error_name(answer)) == (404, "not-found")


async def test_a_fetch_run_cant_read_stored_sources_and_must_send_its_own(api: Server, engine: Engine) -> None:
    job = await submit_source(engine, "/videos/video.mp4")
    uploaded = await submit_source(engine, f"stored://{'1' * 64}")
    inspector, key = remotes_of(api).inspector, keys.source("0" * 64)
    inspector._inputs[job] = frozenset({key})
    fetching = Grant("far", "transcode", "fetch", TaskKey(job, 3, 0), 2, 0)
    assert await inspector.may_read(replace(fetching, stage="encode"), key)
    assert not await inspector.may_read(fetching, key)
    of_upload = replace(fetching, key=TaskKey(uploaded, 3, 0))
    assert await inspector.may_read(of_upload, keys.source("1" * 64))
    assert not await inspector.may_read(of_upload, key)


async def test_a_remote_worker_transcodes_an_upload(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    data = make_video(tmp_path / "video.mp4", 1).read_bytes()
    headers = {"Upload-Length": str(len(data)), "Content-Type": "application/offset+octet-stream"}
    upload = (await api.ask("ada", "POST", "/api/v1/uploads", content=data, headers=headers)).json()
    body = {"upload": upload["id"], "profile": profile()}
    made = (await api.ask("ada", "POST", "/api/v1/videos", json=body)).json()
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path / "far", worker_capabilities="")
    async with run_remote_worker(built_in_pipelines(settings), settings):
        detail = await wait_inactive(engine, made["job"])
    assert detail.job.status is JobStatus.COMPLETED, detail.job.error
    assert [path.name for path in (tmp_path / "media" / "sources").iterdir()] == [upload["sha256"]]


async def test_files_of_a_bucket_are_served_by_signed_redirects_if_configured(
    engine: Engine, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server(tmp_path) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        bucket = server.new_place()
        options = {"storage_url": bucket, "remote_downloads": "signed", "scratch": str(tmp_path / "server")}
        async with api_server(engine, database_url, **options) as api, proxy_to(api) as proxy:
            files = rs.Pipeline("simple")
            found: list[Json] = []

            @files.stage(name="main")
            async def main(task: rs.Run) -> Json:
                storage = pipelines[0]
                kept = await storage.put_bytes(keys.made(task.job_id, "main", 0, task.token, "a.mp4"), b"0123456789")
                found.append(await storage.get_bytes(kept.key, 2, 3))
                found.append(await storage.get_bytes(kept.key))
                found.append(await storage.download(kept.key, tmp_path / "got", sha256=kept.sha256))
                found.append([each.key async for each in storage.list(f"versions/{task.job_id}")] == [kept.key])
                return kept.key

            settings = settings_for(await create_key(api, "far"), proxy, tmp_path / "far")
            pipelines = [storage_for(settings)]
            answers: list[int] = []
            job = await engine.submit("simple")
            async with run_remote_worker([files], settings):
                detail = await engine.wait(job.id, timeout=300)
            assert detail.job.status is JobStatus.COMPLETED, detail.job.error
            assert found[:2] == [b"234", b"0123456789"]
            assert found[3]
            assert (tmp_path / "got").read_bytes() == b"0123456789"
            assert await open_storage(bucket).get_bytes(detail.outputs["main"]) == b"0123456789"
            far = await ScriptedWorker.of(api, "other", pipelines=["simple"])
            await engine.submit("simple")
            (task,) = await far.claim()
            key = keys.made(task["key"][0], "main", 0, task["token"], "a.mp4")
            await far.put(key, b"x", task["permit"])
            answer = await far.request("GET", f"/files/{key}", task["permit"])
            answers.append(answer.status_code)
            assert answers == [307]
            assert answer.headers["location"].startswith(server.endpoint)
            assert server.secret not in answer.headers["location"]


def storage_for(settings: rs.Settings) -> Any:
    from reelstate.remote.files import HttpFiles  # noqa: PLC0415 - as the program does

    return HttpFiles(settings.server_url)

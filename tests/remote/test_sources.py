"""Where a remote worker has its sources from: the server for what lies there, the web by the rules of everybody."""

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
from tests.api.served import Served, served
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
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Served]:
    (tmp_path / "films").mkdir()
    places = {
        "storage_url": str(tmp_path / "media"),
        "scratch": str(tmp_path / "house"),
        "input_roots": str(tmp_path / "films"),
    }
    async with served(engine, database_url, **places) as made:
        yield made


async def submitted(engine: Engine, source: str) -> int:
    return (await engine.submit("transcode", {"source": source, "profile": profile()})).job_id


async def rested(engine: Engine, job: int) -> JobDetail:
    async with asyncio.timeout(300):
        while (detail := await engine.job(job)).job.status not in INACTIVE_JOBS:
            await engine.orchestrate()
            await asyncio.sleep(0.05)
    return detail


def told(detail: JobDetail) -> str:
    return str(detail.job.error["cause"]["message"])


def changing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that mean one thing when they are looked at and another when they are used, or several at once."""
    plain, asked = socket.getaddrinfo, iter(["127.0.0.1", "169.254.169.254", "10.0.0.1"])

    def resolve(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host == CHANGES:
            return plain(next(asked, "10.0.0.1"), port, *rest, **named)
        if host == SEVERAL:
            return plain("192.0.2.1", port, *rest, **named) + plain("127.0.0.1", port, *rest, **named)
        return plain(host, port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


async def test_addresses_that_lead_into_a_network_are_refused_far_away_too(
    api: Served, engine: Engine, line: LossyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing(monkeypatch)
    async with WebServer.running() as inner, WebServer.running() as outer:

        async def redirect(request: Request) -> None:
            await request.head("302 Found", Location=inner.url("/secret"), Content_Length=0)

        outer.scripts["/film.mp4"] = redirect
        settings = settings_for(
            await create_key(api, "far"), line, tmp_path / "far", input_hosts=f"127.0.0.1:{outer.port}"
        )
        sources = [
            inner.url("/secret"),
            inner.url("/secret", host="localhost"),
            inner.url("/secret", host="[::ffff:127.0.0.1]"),
            inner.url("/secret", host="0x7f000001"),
            inner.url("/secret", host="127.1"),
            inner.url("/secret", host="0.0.0.0"),  # noqa: S104 - an address that is asked for
            "http://169.254.169.254/latest/meta-data/",
            outer.url("/film.mp4"),
            inner.url("/secret", host=CHANGES),
            inner.url("/secret", host=SEVERAL),
        ]
        jobs = [await submitted(engine, source) for source in sources]
        async with run_remote_worker(built_in_pipelines(settings), settings):
            details = [await rested(engine, job) for job in jobs]
        assert inner.requests == []
    assert {detail.job.status for detail in details} == {JobStatus.FAILED}
    for source, detail in zip(sources, details, strict=True):
        assert "not a public address" in told(detail), source


async def test_what_the_server_may_not_read_is_not_read_through_it(
    api: Served, engine: Engine, line: LossyProxy, tmp_path: Path
) -> None:
    outside, inside = tmp_path / "outside.mp4", tmp_path / "films" / "inside.mp4"
    outside.write_bytes(b"private")
    inside.symlink_to(outside)
    settings = settings_for(await create_key(api, "far"), line, tmp_path / "far")
    sources = [str(outside), str(inside), str(tmp_path / "films" / "none.mp4"), "/etc/passwd", str(tmp_path)]
    jobs = [await submitted(engine, source) for source in sources]
    async with run_remote_worker(built_in_pipelines(settings), settings):
        details = [await rested(engine, job) for job in jobs]
    assert {detail.job.status for detail in details} == {JobStatus.FAILED}
    words = [told(detail) for detail in details]
    assert "outside the folders" in words[0]
    assert "outside the folders" in words[1]
    assert "there is no file" in words[2]
    assert "private" not in "".join(words)


async def test_a_source_in_the_web_is_not_fetched_by_the_server(api: Served, engine: Engine) -> None:
    async with WebServer.running() as inner:
        found = remotes_of(api)
        found.rules = replace(found.rules, hosts=frozenset({f"127.0.0.1:{inner.port}"}))
        await submitted(engine, inner.url("/secret"))
        far = await ScriptedWorker.of(api, "far", pipelines=["transcode"])
        (task,) = await far.claim()
        answer = await far.ask("GET", "/source", task["permit"])
        assert (answer.status_code, error_name(answer)) == (404, "not-found")
        assert inner.requests == []


async def test_the_server_gives_a_source_in_parts_to_the_job_that_names_it(
    api: Served, engine: Engine, tmp_path: Path
) -> None:
    path = make_video(tmp_path / "films" / "film.mp4", 1)
    await submitted(engine, str(path))
    far = await ScriptedWorker.of(api, "far", pipelines=["transcode"])
    (task,) = await far.claim()
    data = path.read_bytes()
    assert (await far.ask("GET", "/source", task["permit"])).content == data
    part = await far.ask("GET", "/source", task["permit"], headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, data[100:200])
    assert (await far.ask("GET", f"/files/{keys.source('0' * 64)}", task["permit"])).status_code == 404


async def test_what_a_job_of_another_pipeline_calls_its_source_is_not_read_for_it(
    api: Served, engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "films" / "film.mp4"
    path.write_bytes(b"only an admin may name a path")
    await engine.submit("simple", {"source": str(path)})
    far = await ScriptedWorker.of(api, "far", pipelines=["simple"])
    (task,) = await far.claim()
    answer = await far.ask("GET", "/source", task["permit"])
    assert (answer.status_code, error_name(answer)) == (404, "not-found")


async def test_a_run_that_fetches_sees_no_source_so_that_it_brings_its_own(api: Served, engine: Engine) -> None:
    job = await submitted(engine, "/films/film.mp4")
    uploaded = await submitted(engine, f"stored://{'1' * 64}")
    inspector, key = remotes_of(api).inspector, keys.source("0" * 64)
    inspector._inputs[job] = frozenset({key})
    fetching = Grant("far", "transcode", "fetch", TaskKey(job, 3, 0), 2, 0)
    assert await inspector.may_read(replace(fetching, stage="encode"), key)
    assert not await inspector.may_read(fetching, key)
    of_upload = replace(fetching, key=TaskKey(uploaded, 3, 0))
    assert await inspector.may_read(of_upload, keys.source("1" * 64))
    assert not await inspector.may_read(of_upload, key)


async def test_a_film_that_was_uploaded_is_made_far_away(
    api: Served, engine: Engine, line: LossyProxy, tmp_path: Path
) -> None:
    data = make_video(tmp_path / "film.mp4", 1).read_bytes()
    headers = {"Upload-Length": str(len(data)), "Content-Type": "application/offset+octet-stream"}
    upload = (await api.ask("ada", "POST", "/api/v1/uploads", content=data, headers=headers)).json()
    body = {"upload": upload["id"], "profile": profile()}
    made = (await api.ask("ada", "POST", "/api/v1/videos", json=body)).json()
    settings = settings_for(await create_key(api, "far"), line, tmp_path / "far", worker_capabilities="")
    async with run_remote_worker(built_in_pipelines(settings), settings):
        detail = await rested(engine, made["job"])
    assert detail.job.status is JobStatus.COMPLETED, detail.job.error
    assert [path.name for path in (tmp_path / "media" / "sources").iterdir()] == [upload["sha256"]]


async def test_a_bucket_serves_its_files_itself_where_that_is_allowed(
    engine: Engine, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server(tmp_path) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        place = server.new_place()
        options = {"storage_url": place, "remote_downloads": "signed", "scratch": str(tmp_path / "house")}
        async with served(engine, database_url, **options) as api, proxy_to(api) as line:
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

            settings = settings_for(await create_key(api, "far"), line, tmp_path / "far")
            pipelines = [files_of(settings)]
            answers: list[int] = []
            job = await engine.submit("simple")
            async with run_remote_worker([files], settings):
                detail = await engine.wait(job.id, timeout=300)
            assert detail.job.status is JobStatus.COMPLETED, detail.job.error
            assert found[:2] == [b"234", b"0123456789"]
            assert found[3]
            assert (tmp_path / "got").read_bytes() == b"0123456789"
            assert await open_storage(place).get_bytes(detail.outputs["main"]) == b"0123456789"
            far = await ScriptedWorker.of(api, "other", pipelines=["simple"])
            await engine.submit("simple")
            (task,) = await far.claim()
            key = keys.made(task["key"][0], "main", 0, task["token"], "a.mp4")
            await far.put(key, b"x", task["permit"])
            answer = await far.ask("GET", f"/files/{key}", task["permit"])
            answers.append(answer.status_code)
            assert answers == [307]
            assert answer.headers["location"].startswith(server.endpoint)
            assert server.secret not in answer.headers["location"]


def files_of(settings: rs.Settings) -> Any:
    from reelstate.remote.files import HttpFiles  # noqa: PLC0415 - as the program does

    return HttpFiles(settings.server_url)

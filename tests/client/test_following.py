"""Streams and uploads over connections that break: nothing is lost, nothing is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reelstate.client.engine import HttpEngine, connect_server
from reelstate.client.transport import ServerAddress
from reelstate.client.videos import HttpVideos
from reelstate.core.errors import KeyRefused, NotFound, StoreError
from reelstate.core.model import Entity, Event, Submission
from reelstate.engine import Engine
from reelstate.library.model import NewVideo
from tests.api.api_server import Server, api_server
from tests.api.video_server import library_at
from tests.cli import sample_jobs
from tests.engines import a_worker, done, engine_at
from tests.remote.lossy_proxy import LossyProxy
from tests.waiting import until

JOBS: tuple[Entity, ...] = ("job",)
QUICK: dict[str, Any] = {"stream_retry": 0.01, "stream_heartbeat": 0.2}


@asynccontextmanager
async def client_of(api: Server, role: str = "admin", url: str = "") -> AsyncIterator[HttpEngine]:
    address = ServerAddress(url or api.url, api.keys[role].text)
    async with connect_server(address, longest_outage=300) as client:
        yield client


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Server]:
    url = f"sqlite:///{tmp_path / 'reelstate.db'}"
    async with engine_at(url) as engine, api_server(engine, url, **QUICK) as made:
        yield made


def has_grown(seen: list[Event], before: int) -> bool:
    return len(seen) > before


def identity(event: Event) -> tuple[object, ...]:
    return event.entity, event.job_id, event.stage, event.part, event.version


async def test_a_watch_outlives_broken_connections(api: Server) -> None:
    job_id = (await api.engine.submit("parts", {"parts": 40})).job_id
    worker = await a_worker(api.engine)
    seen: list[Event] = []
    async with LossyProxy.to(urlsplit(api.url).port or 0) as proxy, client_of(api, url=proxy.url) as client:

        async def watch() -> None:
            async for event in client.watch(job_id):
                seen.append(event)  # noqa: PERF401 - it is read while it grows

        watching = asyncio.create_task(watch())
        await until(lambda: seen)
        while tasks := (await api.engine.claim(worker, 4)).tasks:
            await api.engine.complete([done(task) for task in tasks])
            await until(partial(has_grown, seen, len(seen)))
            proxy.cut_connections()
        await asyncio.wait_for(watching, 300)
    history = (await api.engine.history(job_id, limit=1000)).items
    assert sorted(map(str, map(identity, seen))) == sorted(map(str, map(identity, history)))
    assert seen[-1].target == "completed"


async def test_a_subscription_outlives_a_restart_of_the_server(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'reelstate.db'}"
    seen: list[int | None] = []
    async with engine_at(url) as engine, AsyncExitStack() as stack:
        async with api_server(engine, url, **QUICK) as api:
            client = await stack.enter_async_context(client_of(api))
            following = asyncio.create_task(follow(client, seen))
            first = await submitted_until_seen(engine, seen)
            port = urlsplit(api.url).port
        missed = (await engine.submit("simple")).job_id
        async with api_server(engine, url, serve_port=port, **QUICK):
            await until(lambda: missed in seen)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    assert (seen.count(first), seen.count(missed)) == (1, 1)


async def follow(client: HttpEngine, seen: list[int | None]) -> None:
    async for message in client.subscribe(only=JOBS):
        if isinstance(message.item, Event):
            seen.append(message.item.job_id)  # noqa: PERF401 - it is read while it grows


async def submitted_until_seen(engine: Engine, seen: list[int | None]) -> int:
    """Submit jobs until the subscription has begun; return one that it saw."""

    async def one() -> int | None:
        job_id = (await engine.submit("simple")).job_id
        await asyncio.sleep(0.05)  # an event takes a moment, and whether the subscription has begun shows by it alone
        return job_id if job_id in seen else None

    found: int = await until(one)
    return found


async def test_an_unreachable_server_is_an_error_at_once_and_later_one_to_wait_for(
    api: Server, refusing_port: int
) -> None:
    key = api.keys["admin"].text
    async with connect_server(ServerAddress(f"http://127.0.0.1:{refusing_port}", key), longest_outage=300) as client:
        with pytest.raises(StoreError, match="is unreachable"):
            await client.jobs()
        with pytest.raises(StoreError, match="is unreachable"):
            await anext(client.subscribe())
    async with LossyProxy.to(urlsplit(api.url).port or 0) as proxy, client_of(api, url=proxy.url) as client:
        await client.jobs()
        proxy.cut = True
        proxy.cut_connections()
        reading = asyncio.create_task(client.workers())
        with pytest.raises(StoreError):
            await client.submit_many([Submission(pipeline="simple")])
        assert not reading.done()
        proxy.cut = False
        assert await reading == []
    assert (await api.engine.jobs()).items == []


async def test_a_revoked_key_ends_a_stream(api: Server) -> None:
    async with client_of(api, "ada") as client:
        messages = client.subscribe(settle=True)
        await anext(messages)
        await api.context.keys.revoke(api.keys["ada"].key.id, actor="operator:test")
        with pytest.raises(KeyRefused):
            await asyncio.wait_for(_exhaust(messages), 300)


async def _exhaust(messages: AsyncIterator[object]) -> None:
    async for _ in messages:
        pass


async def test_states_of_the_state_manager_are_followed(api: Server) -> None:
    name = await sample_jobs.manager_states(api.engine)
    await sample_jobs.reporting_states(api.engine)
    async with client_of(api) as client:
        versions = client.state_versions(name)
        first = await anext(versions)
        async with await api.engine.state_manager(name, 0, 1) as manager:
            await manager.set_finished("copy")
        second = await anext(versions)
        await versions.aclose()
        with pytest.raises(NotFound):
            await anext(client.state_versions("nowhere"))
    assert [(each.tag, each.version) for each in (first, second)] == [("copy", 1), ("copy", 2)]


async def test_a_user_sees_own_jobs_and_no_workers(api: Server) -> None:
    mine, theirs = await api.submit("ada"), await api.submit("bob")
    async with client_of(api, "ada") as client:
        assert [job.id for job in (await client.jobs()).items] == [mine]
        with pytest.raises(NotFound, match=f"there is no job {theirs}"):
            await client.job(theirs)
        with pytest.raises(NotFound):
            await anext(client.subscribe(theirs))


class CountedVideos(HttpVideos):
    """Records at which byte each request of an upload begins."""

    async def _send(self, upload: str, path: Path, offset: int) -> None:
        self.offsets = [*getattr(self, "offsets", []), offset]
        await super()._send(upload, path, offset)


async def test_a_broken_upload_continues_where_the_server_is(tmp_path: Path) -> None:
    middle = b"THE MIDDLE" * 100
    content = bytes(range(256)) * 4096 * 4 + middle + bytes(1_000_000)
    file = tmp_path / "a video.mp4"
    file.write_bytes(content)
    url = f"sqlite:///{tmp_path / 'reelstate.db'}"
    async with (
        library_at(url, tmp_path / "media") as library,
        LossyProxy.to(urlsplit(library.api.url).port or 0) as proxy,
        client_of(library.api, url=proxy.url) as client,
    ):
        client.videos = counted = CountedVideos(client._requests)
        proxy.hold = b"THE MIDDLE"
        submission = Submission(
            pipeline="transcode", spec={"profile": "small"}, resource=NewVideo(source=str(file), title="A"), priority=8
        )
        sending = asyncio.create_task(client.submit_many([submission]))
        await proxy.held.wait()
        uploads = tmp_path / "media" / ".uploads"
        await until(lambda: any(path.stat().st_size for path in uploads.glob("*")))
        proxy.cut_connections()
        (made,) = await sending
        shown = await client.videos.get(made.resource_id or 0)
        job = (await client.job(made.job_id)).job
    assert counted.offsets[0] == 0
    assert 0 < counted.offsets[-1] < len(content)
    assert shown.video.source == f"stored://{sha256(content).hexdigest()}"
    assert (shown.video.title, job.priority, shown.versions[0].job.id) == ("A", 8, made.job_id)

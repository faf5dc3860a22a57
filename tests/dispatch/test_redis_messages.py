"""Messages on Redis channels: progress and completion of videos, changes of workers."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio.client import PubSub

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.connections.redis import RedisSettings, open_redis
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import (
    ClaimedTask,
    Progress,
)
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from reelstate.pipelines.declaration import Pipeline
from tests.api.api_server import api_server
from tests.dispatch.redis_engines import redis_engine
from tests.engines import a_worker, done
from tests.remote.remote_workers import create_key, proxy_to, run_remote_worker, settings_for
from tests.waiting import until


class Inbox:
    """Keeps every message until the test reads it."""

    def __init__(self, pubsub: PubSub) -> None:
        self._pubsub = pubsub
        self._kept: list[tuple[str, dict[str, Any]]] = []

    async def next(self, topic: str) -> tuple[str, dict[str, Any]]:
        """Return the next message on a channel whose name begins with `topic`."""
        async with asyncio.timeout(300):
            while True:
                for each in self._kept:
                    if each[0].startswith(topic):
                        self._kept.remove(each)
                        return each
                message = await self._pubsub.get_message(ignore_subscribe_messages=True, timeout=1)
                if message is not None and (channel := message["channel"].partition(":")[2]) != "wakeups":
                    self._kept.append((channel, json.loads(message["data"])))


@pytest.fixture
async def inbox(redis_settings: RedisSettings) -> AsyncIterator[Inbox]:
    """Subscribe to every channel of the test."""
    async with open_redis(redis_settings) as redis, redis.client.pubsub() as pubsub:
        await pubsub.psubscribe(f"{redis_settings.prefix}:*")
        yield Inbox(pubsub)


async def claimed(engine: Engine, worker: int) -> ClaimedTask:
    found: list[ClaimedTask] = []

    async def look() -> bool:
        found.extend((await engine.claim(worker)).tasks)
        return bool(found)

    await until(look, "there is a task")
    return found[0]


async def test_progress_and_completion_of_a_video_are_published(
    inbox: Inbox, database_url: str, redis_settings: RedisSettings
) -> None:
    async with redis_engine(database_url, redis_settings.url, redis_prefix=redis_settings.prefix) as engine:
        worker = await a_worker(engine)
        made = await Videos(engine).submit("source.mp4", pipeline="simple")
        task = await claimed(engine, worker)
        await engine.report(worker, [Progress(key=task.key, token=task.token, percent=40.0)])
        channel, payload = await inbox.next("transcode_progress")
        assert channel == f"transcode_progress:{made.resource_id}"
        expected = {"job_id": made.job_id, "video_id": made.resource_id, "status": "processing", "percent": 40.0}
        assert payload == expected
        await engine.complete([done(task)])
        channel, payload = await inbox.next("transcode_complete")
        assert channel == f"transcode_complete:{made.resource_id}"
        assert payload == {**expected, "status": "completed", "percent": 100.0}


async def test_jobs_without_a_video_publish_nothing(
    inbox: Inbox, database_url: str, redis_settings: RedisSettings
) -> None:
    async with redis_engine(database_url, redis_settings.url, redis_prefix=redis_settings.prefix) as engine:
        worker = await a_worker(engine)
        await engine.submit("simple")
        video = await Videos(engine).submit("source.mp4", pipeline="simple")
        for _ in range(2):
            await engine.complete([done(await claimed(engine, worker))])
        _, payload = await inbox.next("transcode_")
        assert payload["job_id"] == video.job_id, "the first message is about the video"


async def test_changes_of_workers_are_published(inbox: Inbox, database_url: str, redis_settings: RedisSettings) -> None:
    async with redis_engine(database_url, redis_settings.url, redis_prefix=redis_settings.prefix) as engine:
        worker = await a_worker(engine, "ada")
        assert await inbox.next("worker_status") == (
            "worker_status",
            {"status": "idle", "id": worker, "name": "ada"},
        )
        await engine.drain("ada")
        assert (await inbox.next("worker_status"))[1] == {"status": "draining", "name": "ada"}
        await engine.enable("ada")
        assert (await inbox.next("worker_status"))[1] == {"status": "enabled", "name": "ada"}
        await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
        assert (await inbox.next("worker_status"))[1] == {"status": "offline", "id": worker}


async def test_a_worker_that_a_keeper_finds_dead_is_published(
    inbox: Inbox, database_url: str, redis_settings: RedisSettings
) -> None:
    async with redis_engine(database_url, redis_settings.url, redis_prefix=redis_settings.prefix) as engine:
        silent, killed = await a_worker(engine, "silent"), await a_worker(engine, "killed")
        for _ in range(2):
            assert (await inbox.next("worker_status"))[1]["status"] == "idle"
        await engine.reclaim(dead=[killed])
        assert (await inbox.next("worker_status"))[1] == {"status": "offline", "id": killed}
        assert await engine.reclaim_workers(stale_after=0) == [silent]
        assert (await inbox.next("worker_status"))[1] == {"status": "offline", "id": silent}


async def test_a_remote_worker_is_published_when_it_becomes_busy_and_idle(
    inbox: Inbox, database_url: str, redis_settings: RedisSettings, tmp_path: Path
) -> None:
    simple = Pipeline("simple")
    gate = asyncio.Event()

    @simple.stage()
    async def main(task: Any) -> None:
        await gate.wait()

    places = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "scratch")}
    async with (
        redis_engine(database_url, redis_settings.url, dispatch="hybrid", redis_prefix=redis_settings.prefix) as engine,
        api_server(engine, database_url, **places) as api,
        proxy_to(api) as address,
        run_remote_worker([simple], settings_for(await create_key(api, "far"), address, tmp_path)) as worker,
    ):
        expected = {"id": worker.id, "name": "far"}
        assert (await inbox.next("worker_status"))[1] == {"status": "idle", **expected}
        await engine.submit("simple")
        assert (await inbox.next("worker_status"))[1] == {"status": "busy", **expected}
        gate.set()
        assert (await inbox.next("worker_status"))[1] == {"status": "idle", **expected}


async def test_a_worker_publishes_its_status_and_the_progress_of_its_video(
    inbox: Inbox, postgres_database: str, redis_settings: RedisSettings
) -> None:
    pipeline = Pipeline("video")
    gate = asyncio.Event()

    @pipeline.stage()
    async def make(task: Any) -> None:
        await task.progress(25, "a quarter")
        await gate.wait()

    settings = Settings(
        database_url=postgres_database,
        dispatch="hybrid",
        redis_url=redis_settings.url,
        redis_prefix=redis_settings.prefix,
        redis_timeout=5.0,
    )
    async with open_engine(postgres_database, pipelines=[pipeline], settings=settings, workers=1) as engine:
        assert (await inbox.next("worker_status"))[1]["status"] == "idle"
        made = await Videos(engine).submit("source.mp4", pipeline="video")
        assert (await inbox.next("worker_status"))[1]["status"] == "busy"
        _, payload = await inbox.next(f"transcode_progress:{made.resource_id}")
        assert payload["percent"] == 25.0
        gate.set()
        assert (await inbox.next(f"transcode_complete:{made.resource_id}"))[1]["status"] == "completed"
        assert (await inbox.next("worker_status"))[1]["status"] == "idle"

"""Live streams of a real server: cut connections and kills lose or repeat no event; an idle stream is cheap."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import httpx
import pytest

from reelstate.core.model import Submission
from reelstate.engine import Engine
from tests.api.api_server import PLAIN
from tests.api.event_stream import EVENT_STREAM, RECORDED, EventStream
from tests.api.server_process import MEGABYTE, ServerProcess, a_key, weight_of
from tests.engines import a_worker, done

EVENTS = "/api/v1/events"
TIMEOUT = 300.0


async def work(engine: Engine, stop: asyncio.Event, seed: int) -> None:
    """Submit and run jobs in small batches."""
    chance = random.Random(seed)
    worker = await a_worker(engine, f"worker-{seed}")
    while not stop.is_set():
        count = chance.randint(1, 20)
        await engine.submit_many([Submission(pipeline="simple", spec={}) for _ in range(count)])
        tasks = (await engine.claim(worker, count)).tasks
        await engine.complete([done(task) for task in tasks])
        await asyncio.sleep(chance.uniform(0, 0.2))  # the pace of the jobs


class Client:
    """Follows all events, and resumes at its last id when the connection breaks."""

    def __init__(self, url: str, key: str) -> None:
        headers = {**EVENT_STREAM, "Authorization": f"Bearer {key}"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, verify=PLAIN, trust_env=False, timeout=300)
        self.seen: list[str] = []
        self.last_id = "0"
        self.connections = 0

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[EventStream]:
        async with self._client.stream("GET", EVENTS, headers={"Last-Event-ID": self.last_id}) as answer:
            assert answer.status_code == 200, await answer.aread()
            self.connections += 1
            yield EventStream(answer, self.last_id)

    async def receive(self, most: int, until: str | None = None) -> None:
        """Receive up to `most` events, then cut the connection; the server may cut it earlier."""
        with suppress(httpx.TransportError, EOFError):
            async with self.connected() as stream:
                for _ in range(most):
                    received = await stream.next()
                    if received.kind in RECORDED:
                        assert received.id is not None
                        self.seen.append(received.id)
                    self.last_id = stream.last_id or self.last_id
                    if self.seen[-1:] == [until]:
                        return
            return
        await asyncio.sleep(0.05)  # the server is unreachable, and has no event for its return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()


async def all_cursors(engine: Engine) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = await engine.events(after=after)
        if not page.items:
            return found
        found += [event.cursor for event in page.items]
        after = page.after


async def reconnecting(engine: Engine, url: str, folder: Path, *, times: int, kills: int) -> None:
    """A client reconnects often while two writers work and the server is killed at times."""
    client_key = await a_key(engine)
    stop = asyncio.Event()
    async with ServerProcess(folder, url) as server, Client(server.url, client_key) as client:
        async with asyncio.TaskGroup() as writers:
            for seed in range(2):
                writers.create_task(work(engine, stop, seed))
            await disturbed(server, client, times=times, kills=kills)
            stop.set()
        written = await all_cursors(engine)
        async with asyncio.timeout(TIMEOUT):
            while client.seen[-1] != written[-1]:
                await client.receive(1_000_000, until=written[-1])
        assert client.seen == written
        assert client.connections >= times


async def disturbed(server: ServerProcess, client: Client, *, times: int, kills: int) -> None:
    chance = random.Random(times)
    for turn in range(1, kills + 2):
        while client.connections < turn * times // (kills + 1):
            await client.receive(chance.randint(1, 400))
        if turn <= kills:
            hearing = asyncio.create_task(client.receive(1_000_000))
            await asyncio.sleep(chance.uniform(0.05, 0.3))  # it is killed at any moment
            server.kill()
            await hearing
            await server.start()


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_client_that_reconnects_often_receives_every_event_once(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    await reconnecting(engine, database_url, tmp_path, times=6, kills=1)


@pytest.mark.prove
async def test_a_client_that_connects_fifty_times_receives_every_event_once(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    await reconnecting(engine, database_url, tmp_path, times=50, kills=5)


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_an_idle_stream_is_cheap(engine: Engine, database_url: str, tmp_path: Path) -> None:
    assert await weight_of(engine, database_url, tmp_path, 60) < 6 * MEGABYTE


@pytest.mark.prove
@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_thousand_idle_streams_take_less_than_a_hundred_megabytes(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    weight = await weight_of(engine, database_url, tmp_path, 1_000)
    print(f"1,000 idle streams: {weight / MEGABYTE:.1f} MB")  # noqa: T201 - a figure for the record
    assert weight < 100 * MEGABYTE

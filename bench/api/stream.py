"""Live streams of one server process: the time from a commit to the client, and the memory of idle streams."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from bench.api.noop import noop
from bench.measured import Measured
from reelstate.app import open_engine
from reelstate.engine import Engine
from tests.api.event_stream import EVENT_STREAM, EventStream
from tests.api.server_process import MEGABYTE, ServerProcess, a_key, weight_of
from tests.postgres import PostgresServer, memory_folder

COMMITS, QUICK = 400, 20
STREAMS, FEW = 1_000, 20
EVERY = 0.05
"""Seconds between two commits."""
EVENTS = "/api/v1/events"


def measure(folder: Path, *, quick: bool) -> Iterator[Measured]:
    url = f"sqlite:///{folder / 'stream.db'}"
    yield from _latency("SQLite", url, folder, QUICK if quick else COMMITS)
    with PostgresServer(folder=memory_folder()) as server:
        yield from _latency("PostgreSQL", server.new_database(), folder, QUICK if quick else COMMITS)
    streams = FEW if quick else STREAMS
    weight = asyncio.run(_memory(url, folder, streams)) / MEGABYTE
    yield Measured(f"memory of {streams:,} idle streams", weight, "MB", most=100)


def _latency(store: str, url: str, folder: Path, commits: int) -> Iterator[Measured]:
    waits = asyncio.run(_delivered(url, folder, commits))
    cuts = statistics.quantiles(waits, n=20)
    for name, value, most in (("p50", cuts[9], 100), ("p95", cuts[18], 250)):
        yield Measured(f"from a commit to a client of the live stream, {name}, {store}", value * 1000, "ms", most=most)


async def _delivered(url: str, folder: Path, commits: int) -> list[float]:
    """Return for each submit the seconds from its answer until a client has its event."""
    async with open_engine(url, migrate=True, pipelines=[noop]) as engine, ServerProcess(folder, url) as server:
        headers = {**EVENT_STREAM, "Authorization": f"Bearer {await a_key(engine)}"}
        async with (
            httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as client,
            client.stream("GET", f"{EVENTS}?only=job", timeout=60) as answer,
        ):
            stream = EventStream(answer)
            await stream.until("replay_complete")
            received = asyncio.create_task(_received(stream, commits))
            made = await _committed(engine, commits)
            at = await received
    return [max(0.0, at[job_id] - committed) for job_id, committed in made.items()]


async def _committed(engine: Engine, commits: int) -> dict[int, float]:
    made: dict[int, float] = {}
    for _ in range(commits):
        job = await engine.submit("noop", {"parts": [1]})
        made[job.job_id] = time.perf_counter()
        await asyncio.sleep(EVERY)
    return made


async def _received(stream: EventStream, commits: int) -> dict[int, float]:
    at: dict[int, float] = {}
    while len(at) < commits:
        received = (await stream.until("event"))[-1]
        at.setdefault(received.data["job"], time.perf_counter())
    return at


async def _memory(url: str, folder: Path, streams: int) -> int:
    async with open_engine(url, migrate=True, pipelines=[noop]) as engine:
        return await weight_of(engine, url, folder, streams)

"""Celery on Redis, with a worker process of one prefork child.

The handler runs in that child, so it measures itself and sends what it measured through a list in Redis.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from typing import Any

import redis
from celery import Celery as CeleryApp
from celery.app.task import Task

from bench.engine.stopwatch import Stopwatch
from bench.engine.system import IDLE, EventLoop, System, payload

URL, EXPECTED = "BENCH_CELERY_URL", "BENCH_CELERY_EXPECTED"
MEASURED = "bench:measured"
STOP_SECONDS = 60

app = CeleryApp("bench", broker=os.environ.get(URL, ""))
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=128,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)
watch = Stopwatch(int(os.environ.get(EXPECTED, "0")))


@app.task(name="noop")
def noop(**_: str | int) -> None:
    if watch.handle():
        _send(watch.rate())


@app.task(name="start")
def start(enqueued: float) -> None:
    _send(time.monotonic() - enqueued)


def _send(measured: float) -> None:
    with redis.Redis.from_url(os.environ[URL]) as client:
        client.rpush(MEASURED, json.dumps(measured))


class Celery:
    """One call a job in, one prefork child out."""

    event_loop: EventLoop = "asyncio"
    settings = "Redis without a disk, enqueue one by one, prefork of 1, prefetch 128, results ignored, early acks"

    def versions(self) -> dict[str, str]:
        return {"celery": version("celery"), "redis-server": str(self._server)}

    async def prepare(self, url: str) -> None:
        os.environ[URL] = url
        app.conf.broker_url = url
        self._redis = redis.Redis.from_url(url, socket_timeout=None)
        self._server = self._redis.info("server")["redis_version"]

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for number in range(count):
            noop.delay(**payload(number))
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        worker = self._start_worker(count)
        try:
            return await self._measured()
        finally:
            await asyncio.to_thread(_stop, worker)

    async def dispatch(self, count: int) -> list[float]:
        worker = self._start_worker(0)
        try:
            await self._dispatched(start)  # once it answers, it is ready
            return [await self._dispatched(start) for _ in range(count)]
        finally:
            await asyncio.to_thread(_stop, worker)

    async def _dispatched(self, task: Task) -> float:
        await asyncio.sleep(IDLE)
        task.delay(time.monotonic())
        return await self._measured()

    async def _measured(self) -> float:
        found: Any = await asyncio.to_thread(self._redis.blpop, [MEASURED], 0)
        return json.loads(found[1])

    def _start_worker(self, expected: int) -> subprocess.Popen[bytes]:
        options = ["--pool=prefork", "--concurrency=1", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        command = [sys.executable, "-m", "celery", "--app", __name__, "--quiet", "worker", "--loglevel=ERROR", *options]
        return subprocess.Popen(command, env={**os.environ, EXPECTED: str(expected)}, stdout=subprocess.DEVNULL)

    async def close(self) -> None:
        self._redis.close()


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.wait(STOP_SECONDS)


system: type[System] = Celery

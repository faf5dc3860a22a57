"""Senders and receivers are killed at random, and receivers fail in every way.

Each event arrives at least once, after its commit and rightly signed, and nothing is sent to a private address.
"""

import asyncio
import contextlib
import json
import random
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.core.model import Submission
from reelstate.core.webhook import DeliveryStatus
from reelstate.engine import Engine
from tests.engines import SIMPLE, a_worker, done
from tests.remote.remote_fleet import free_port
from tests.waiting import until
from tests.webhooks.receiver import Receiver
from tests.webhooks.receiving import ACCEPTED, ANSWERS, GONE, HOOK

ROOT = Path(__file__).parents[2]
SENDERS = 3
CANCELLED = 5
PRIVATE = "127.0.0.2"
"""An address of this machine that the senders are not allowed to reach."""


class Requests:
    """The lines that the receivers have written."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: list[dict[str, Any]] = []
        self._read = 0

    def all(self) -> list[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError), self._file.open("rb") as file:
            file.seek(self._read)
            for line in file.read().split(b"\n")[:-1]:  # a line that is being written ends without one
                self._lines.append(json.loads(line))
                self._read += len(line) + 1
        return self._lines

    async def more(self, count: int) -> None:
        """Wait for that many more requests."""
        target = len(self.all()) + count
        await until(lambda: len(self.all()) >= target, f"{count} more requests", seconds=1800)


class Processes:
    """Senders and the receiver, each killed and started again whenever more requests have arrived."""

    def __init__(self, starts: Sequence[Callable[[], Awaitable[Process]]], requests: Requests, every: int) -> None:
        self._starts = starts
        self._requests = requests
        self._every = every
        self._running: list[Process] = []
        self.kills = [0] * len(starts)

    async def start(self) -> None:
        self._running = [await start() for start in self._starts]

    async def kill_at_random(self) -> None:
        """Kill each kind of process at least once, and go on until cancelled."""
        chosen = random.Random(3)
        order = list(range(len(self._starts)))
        while True:
            await self._requests.more(self._every)
            number = order.pop() if order else chosen.randrange(len(self._starts))
            await _kill(self._running[number])
            self._running[number] = await self._starts[number]()
            self.kills[number] += 1

    async def stop(self) -> None:
        for process in self._running:
            await _kill(process)


async def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    await process.wait()


async def start(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"tests.webhooks.{module}", *arguments, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL
    )


@asynccontextmanager
async def trap() -> AsyncIterator[tuple[str, list[Any]]]:
    """Listen at a private address; yield its URL and the connections that were made to it."""
    connections: list[Any] = []
    server = await asyncio.start_server(lambda _, writer: connections.append(writer), PRIVATE, 0)
    async with server:
        yield f"http://{PRIVATE}:{server.sockets[0].getsockname()[1]}/", connections


async def run_jobs(engine: Engine, count: int) -> set[int]:
    """Complete jobs and return their ids."""
    worker = await a_worker(engine)
    completed: set[int] = set()
    for first in range(0, count, 100):
        await engine.submit_many([Submission(pipeline="simple") for _ in range(min(100, count - first))])
        tasks = (await engine.claim(worker, 100)).tasks
        completed |= {task.key.job_id for task in tasks}
        await engine.complete([done(task) for task in tasks])
    return completed


async def deliver_everything(database_url: str, folder: Path, count: int, every: int) -> None:
    settings = Settings(database_url=database_url, webhook_allow=f"127.0.0.1,{PRIVATE}")
    port, requests = free_port(), Requests(folder / "requests")
    async with (
        trap() as (private, trapped),
        open_engine(database_url, pipelines=[SIMPLE], settings=settings, migrate=False) as engine,
    ):
        receiver = Receiver(port)
        hook = await engine.webhooks.add(receiver.url(HOOK), events=["job.completed"])
        gone = await engine.webhooks.add(receiver.url(GONE), events=["job.cancelled"])
        forbidden = await engine.webhooks.add(private, events=["job.cancelled"])
        receiving = [database_url, str(port), hook.secret, private, str(folder / "requests")]
        starts = [lambda: start("sending", database_url)] * SENDERS + [lambda: start("receiving", *receiving)]
        processes = Processes(starts, requests, every)
        await processes.start()
        killing = asyncio.create_task(processes.kill_at_random())
        try:
            completed = await run_jobs(engine, count)
            for _ in range(CANCELLED):
                await engine.cancel((await engine.submit("simple")).id)
            await until(lambda: is_delivered(engine, hook.webhook.id), "every event is delivered", seconds=1800)
            await until(lambda: is_disabled(engine, gone.webhook.id), "the webhook that answers 410 is disabled")
            refused = await until(lambda: attempts(engine, forbidden.webhook.id), "the private address is refused")
        finally:
            killing.cancel()
            await asyncio.wait([killing])
            await processes.stop()
    hooked = [line for line in requests.all() if line["answer"] != "gone"]
    assert [line for line in hooked if not (line["signed"] and line["committed"])] == []
    assert {line["job"] for line in hooked if line["answer"] in ACCEPTED} == completed
    assert len(completed) == count
    ids: dict[int, set[str]] = {}
    for line in hooked:
        ids.setdefault(line["job"], set()).add(line["id"])
    assert {len(each) for each in ids.values()} == {1}, "an event has one id over all attempts"
    assert {line["answer"] for line in hooked} >= set(ANSWERS) - {"hang"}
    assert min(processes.kills) > 0, "each sender and the receiver was killed"
    assert trapped == [], "neither a redirect nor a webhook leads to a private address"
    assert all(attempt.status is None for attempt in refused)


async def is_delivered(engine: Engine, webhook_id: str) -> bool:
    page = await engine.webhooks.deliveries(webhook_id, status=DeliveryStatus.PENDING, limit=1)
    return not page.items


async def is_disabled(engine: Engine, webhook_id: str) -> bool:
    return any(each.id == webhook_id and not each.enabled for each in await engine.webhooks.all())


async def attempts(engine: Engine, webhook_id: str) -> list[Any]:
    page = await engine.webhooks.deliveries(webhook_id, limit=1)
    return list(page.items[0].attempts) if page.items else []


async def test_each_event_arrives_signed_while_senders_and_receivers_are_killed(
    database_url: str, tmp_path: Path
) -> None:
    await deliver_everything(database_url, tmp_path, 200, every=60)


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_ten_thousand_events_arrive_signed_while_senders_and_receivers_are_killed(
    database_url: str, tmp_path: Path
) -> None:
    await deliver_everything(database_url, tmp_path, 10_000, every=400)

"""Senders are killed at random, and receivers fail in every way: each event arrives, after its commit, signed."""

import asyncio
import contextlib
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.core.model import Submission
from reelstate.core.webhook import DeliveryStatus
from reelstate.engine import Engine
from tests.engines import SIMPLE, a_worker, done
from tests.webhooks.receiver import Received, Receiver

ROOT = Path(__file__).parents[2]
SENDERS = 3


class Unreliable:
    """Fails half of the requests, each in another way, and keeps what it acknowledged."""

    def __init__(self, secret: str, committed: set[int]) -> None:
        self.secret = secret
        self.committed = committed
        self.accepted: Counter[int] = Counter()
        self.ids: dict[int, set[str]] = {}
        self.wrong: list[str] = []
        self.answers: Counter[str] = Counter()
        self.kills = 0
        self._random = random.Random(7)
        self._arrived = asyncio.Condition()

    async def requests_after(self, count: int) -> None:
        """Wait for that many more requests; each ends in the death of a sender."""
        target = self.answers.total() + count
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.answers.total() >= target)
        self.kills += 1

    async def __call__(self, received: Received) -> None:
        job_id = received.document["data"]["job_id"]
        if not received.is_signed_with(self.secret):
            self.wrong.append(f"signature of job {job_id}")
        if job_id not in self.committed:
            self.wrong.append(f"job {job_id} before its commit")
        self.ids.setdefault(job_id, set()).add(received.id)
        answer = self._random.choice(["ok"] * 6 + ["500", "redirect", "busy", "break", "hang", "late"])
        async with self._arrived:
            self.answers[answer] += 1
            self._arrived.notify_all()
        match answer:
            case "500":
                await received.answer("500 Internal Server Error")
            case "redirect":
                await received.answer("302 Found", Location="http://127.0.0.1:1/")
            case "busy":
                await received.answer("429 Too Many Requests", Retry_After=0)
            case "break":
                received.writer.close()
            case "hang" if self._random.random() < 0.1:
                await asyncio.Event().wait()
            case "late":
                self.accepted[job_id] += 1  # it has the event, and its answer is lost
                received.writer.close()
            case _:
                self.accepted[job_id] += 1
                await received.answer("204 No Content")


async def start(url: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.webhooks.sending", url, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL
    )


async def kill_at_random(
    url: str, processes: list[asyncio.subprocess.Process], unreliable: Unreliable, every: int
) -> None:
    """Kill a sender whenever `every` more requests have arrived, and start another."""
    chosen = random.Random(3)
    while True:
        await unreliable.requests_after(every)
        process = processes.pop(chosen.randrange(len(processes)))
        process.send_signal(signal.SIGKILL)
        await process.wait()
        processes.append(await start(url))


async def run_jobs(engine: Engine, count: int, committed: set[int]) -> None:
    worker = await a_worker(engine)
    for first in range(0, count, 100):
        some = [Submission(pipeline="simple") for _ in range(min(100, count - first))]
        await engine.submit_many(some)
        tasks = (await engine.claim(worker, 100)).tasks
        committed |= {task.key.job_id for task in tasks}  # before the commit: it may be delivered right after it
        await engine.complete([done(task) for task in tasks])


async def deliver_everything(database_url: str, count: int, every: int) -> None:
    settings = Settings(database_url=database_url, webhook_allow="127.0.0.1")
    committed: set[int] = set()
    async with (
        Receiver.running() as receiver,
        open_engine(database_url, pipelines=[SIMPLE], settings=settings, migrate=False) as engine,
    ):
        made = await engine.webhooks.add(receiver.url(), events=["job.completed"])
        unreliable = Unreliable(made.secret, committed)
        receiver.scripts["/hook"] = unreliable
        processes = [await start(database_url) for _ in range(SENDERS)]
        killing = asyncio.create_task(kill_at_random(database_url, processes, unreliable, every))
        try:
            await run_jobs(engine, count, committed)
            async with asyncio.timeout(1200):
                while await pending(engine, made.webhook.id):
                    receiver.received.clear()
                    await asyncio.sleep(0.2)  # the senders are other processes
        finally:
            killing.cancel()
            await asyncio.wait([killing])
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
    assert unreliable.wrong == []
    assert unreliable.accepted.keys() == committed
    assert len(committed) == count
    assert {len(ids) for ids in unreliable.ids.values()} == {1}, "an event has one id over all attempts"
    assert unreliable.kills > 0
    assert unreliable.answers.keys() >= {"ok", "500", "redirect", "busy", "break", "hang", "late"}


async def pending(engine: Engine, webhook_id: str) -> list[Any]:
    page = await engine.webhooks.deliveries(webhook_id, status=DeliveryStatus.PENDING, limit=1)
    return page.items


async def test_each_event_arrives_signed_while_senders_are_killed(database_url: str) -> None:
    await deliver_everything(database_url, 200, every=60)


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_ten_thousand_events_arrive_signed_while_senders_are_killed(database_url: str) -> None:
    await deliver_everything(database_url, 10_000, every=400)

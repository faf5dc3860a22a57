"""The common base of systems with hand-written SQL over one connection."""

import abc
import json
import time
from importlib.metadata import version
from typing import Any, LiteralString

from psycopg import AsyncConnection, pq

from bench.engine.stopwatch import batches
from bench.engine.system import BATCH, EventLoop, payload

Connection = AsyncConnection[tuple[Any, ...]]


class HandWritten(abc.ABC):
    event_loop: EventLoop = "uvloop"
    submit: LiteralString
    """Creates a job for each text of an array."""
    _connection: Connection

    def versions(self) -> dict[str, str]:
        return {"psycopg": f"{version('psycopg')} ({pq.__impl__})"}

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for numbers in batches(count, BATCH):
            await self._connection.execute(self.submit, [payloads(numbers)])
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        return await self._drain(count)

    async def drain_partitioned(self, count: int) -> float:
        return await self._drain(count)

    @abc.abstractmethod
    async def run_until_empty(self) -> int:
        """Claim and complete all tasks; return their number."""

    async def close(self) -> None:
        await self._connection.close()

    async def _drain(self, count: int) -> float:
        started = time.perf_counter()
        done = await self.run_until_empty()
        rate = count / (time.perf_counter() - started)
        if done != count:
            raise RuntimeError(f"completed {done} tasks, expected {count}")
        return rate


def payloads(numbers: range) -> list[str]:
    return [json.dumps(payload(number)) for number in numbers]

"""Huey on SQLite, at its own defaults of journal and synchronisation."""

import asyncio
import logging
import threading
import time
from importlib.metadata import version

from huey import SqliteHuey
from huey.consumer import Consumer

from bench.engine.stopwatch import Stopwatch
from bench.engine.system import EventLoop, System, payload


class Huey:
    """One call a job in, one worker thread out."""

    event_loop: EventLoop = "asyncio"
    settings = "SQLite in WAL mode, enqueue one by one, one worker thread"

    def versions(self) -> dict[str, str]:
        return {"huey": version("huey")}

    async def prepare(self, url: str) -> None:
        logging.getLogger("huey").setLevel(logging.ERROR)
        self._huey = SqliteHuey(filename=url.removeprefix("sqlite:///"))
        self._noop = self._huey.task(name="noop")(self._handle)

    def _handle(self, **_: str | int) -> None:
        if self._watch.handle():
            self._all_handled.set()

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for number in range(count):
            self._noop(**payload(number))
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        self._watch = Stopwatch(count)
        self._all_handled = threading.Event()
        consumer = Consumer(self._huey, workers=1, periodic=False)
        consumer.start()
        await asyncio.to_thread(self._all_handled.wait)
        rate = self._watch.rate()
        await asyncio.to_thread(consumer.stop, graceful=True)
        return rate

    async def close(self) -> None:
        self._huey.storage.close()


system: type[System] = Huey

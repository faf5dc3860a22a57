"""The heartbeat: renews every lease of a worker and carries what the runs say, from a thread of its own.

It has its own event loop and its own link, so a handler that keeps the worker's loop busy never costs a lease. While
the store is away it keeps trying with what it has; when it is back, the leases that nobody took are renewed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.errors import StoreError, WorkerUnknown
from reelstate.core.model import Progress, Report, Verdict
from reelstate.core.outcome import Stopped
from reelstate.worker.leases import HeldTask, Lease, refuse
from reelstate.worker.link import Connect, Link

logger = logging.getLogger("reelstate.worker")

TICK = 0.5
"""How often progress is looked for."""
RENEWALS = 3
"""A lease is renewed at least this often before it would run out."""
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What a heartbeat learned: the tasks to stop, and whether to take no more."""

    refused: list[tuple[Lease, Verdict]]
    drain: bool
    stated: bool = False
    """Whether states were stored that others may wait for."""
    jobs: frozenset[int] = frozenset()
    """Those that have got further."""


class Heartbeat:
    def __init__(
        self,
        connect: Connect,
        worker_id: int,
        ledger: Mapping[Lease, HeldTask],
        *,
        every: float,
        on_answer: Callable[[HeartbeatAnswer], None],
        on_unknown: Callable[[], None],
        stuck: Callable[[], int] = lambda: 0,
    ) -> None:
        """`stuck` returns how many handlers do not stop; it is reported when it changes."""
        self._connect = connect
        self._worker_id = worker_id
        self._ledger = ledger
        self._every = every
        self._on_answer = on_answer
        self._on_unknown = on_unknown
        self._stuck = stuck
        self._reported_stuck = 0
        self._loop = asyncio.new_event_loop()
        self._hurried = asyncio.Event()
        self._whole = True
        self._stopping = False
        self._is_news = LogThrottle()
        self._thread = threading.Thread(target=self._run, name="reelstate heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hurry(self, *, whole: bool = False) -> None:
        """Send now what was said; the whole of it: also ask after every task. From any thread."""
        self._whole |= whole
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._hurried.set)

    def end(self) -> None:
        """Renew nothing more, without waiting for what is under way."""
        self._stopping = True
        self.hurry()

    async def stop(self) -> None:
        self.end()
        await asyncio.to_thread(self._thread.join, PAUSE * 5)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._beat_for_ever())

    async def _beat_for_ever(self) -> None:
        while not self._stopping:
            try:
                async with self._connect() as link:
                    await self._beat_while_well(link)
            except StoreError as error:
                if self._is_news(str(error)):
                    logger.warning("no heartbeat: %s", error)
                await asyncio.sleep(PAUSE)
            except WorkerUnknown:
                self._on_unknown()
                return
            except Exception:
                logger.exception("the heartbeat failed; it is started again")
                await asyncio.sleep(PAUSE)

    async def _beat_while_well(self, link: Link) -> None:
        beaten_at = time.monotonic()
        while not self._stopping:
            self._hurried.clear()
            whole = self._whole or time.monotonic() >= beaten_at + self._interval()
            held = [task for task in list(self._ledger.values()) if whole or task.has_said]
            if whole:
                self._whole, beaten_at = False, time.monotonic()
            if held or whole:
                await self._beat(link, held)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurried.wait(), min(TICK, self._interval()))

    def _interval(self) -> float:
        leases = [held.task.lease for held in list(self._ledger.values())]
        return min([self._every, *(lease / RENEWALS for lease in leases)])

    async def _beat(self, link: Link, held: list[HeldTask]) -> None:
        """One report of all that was said, sent until it arrives."""
        said = [task.take() for task in held]
        try:
            sent_at, report = await self._sent(link, held, [each.progress for each in said])
        except Exception as error:
            for each in said:  # who waits for it would wait for ever
                refuse(each.waiting, _as_told(error))
            raise
        refused: list[tuple[Lease, Verdict]] = []
        stated, further = False, set()
        for task, each, verdict in zip(held, said, report.verdicts, strict=True):
            task.sending = False
            if verdict is Verdict.OK:
                task.renewed_at = sent_at
                stated |= bool(each.progress.states)
                if each.progress.percent is not None:
                    further.add(task.task.key.job_id)
                _settle(each.waiting)
            else:
                refused.append((task.lease, verdict))
                refuse(each.waiting, Stopped(verdict))
        self._on_answer(HeartbeatAnswer(refused, report.drain, stated, frozenset(further)))

    async def _sent(self, link: Link, held: list[HeldTask], items: list[Progress]) -> tuple[float, Report]:
        while True:
            sent_at, stuck = time.monotonic(), self._stuck()
            try:
                report = await link.report(self._worker_id, items, None if stuck == self._reported_stuck else stuck)
            except StoreError as error:
                if self._is_news(str(error)):
                    logger.warning("leases can't be renewed: %s", error)
                self._stop_strict(held)
                if self._stopping:
                    raise
                await asyncio.sleep(PAUSE)
            else:
                self._reported_stuck = stuck
                return sent_at, report

    def _stop_strict(self, held: list[HeldTask]) -> None:
        """Stages that must not run without a lease are stopped when theirs can't have been renewed in time."""
        now = time.monotonic()
        late = [(task.lease, Verdict.LOST) for task in held if task.task.strict_lease and now > task.expired]
        if late:
            self._on_answer(HeartbeatAnswer(late, drain=False))


def _as_told(error: Exception) -> BaseException:
    """What a run is told when its words can't be stored: it goes on with a mistake, but not without its lease."""
    return Stopped(str(error)) if isinstance(error, StoreError | WorkerUnknown) else error


def _settle(waiting: Iterable[Future[None]]) -> None:
    for future in waiting:
        with contextlib.suppress(InvalidStateError):  # whoever waited has been cancelled, perhaps just now
            future.set_result(None)

"""The heartbeat: renews every lease of a worker and sends what its runs report, from a separate thread.

It has its own event loop and link, so a handler that blocks the worker's loop never costs a lease. While the store is
unreachable it retries; when it reconnects, leases that no other worker took are renewed.
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
from reelstate.worker.leases import HeldTask, Lease, fail_futures
from reelstate.worker.link import Connect, Link

logger = logging.getLogger("reelstate.worker")

PROGRESS_INTERVAL = 0.5
"""Seconds between two checks for unsent progress."""
RENEWALS_PER_LEASE = 3
RETRY_DELAY = 1.0
JOIN_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What a heartbeat learned: the tasks to stop, and whether the worker drains."""

    refused: list[tuple[Lease, Verdict]]
    drain: bool
    states_stored: bool = False
    """Whether states were stored that subscribers may wait for."""
    progressed_jobs: frozenset[int] = frozenset()


class Heartbeat:
    """A thread that reports the tasks of `ledger` every `interval` seconds, and their progress as it comes."""

    def __init__(
        self,
        connect: Connect,
        worker_id: int,
        ledger: Mapping[Lease, HeldTask],
        *,
        interval: float,
        on_answer: Callable[[HeartbeatAnswer], None],
        on_unknown: Callable[[], None],
        stuck: Callable[[], int] = lambda: 0,
    ) -> None:
        """`stuck` returns how many handlers do not stop; it is reported when it changes."""
        self._connect = connect
        self._worker_id = worker_id
        self._ledger = ledger
        self._interval = interval
        self._on_answer = on_answer
        self._on_unknown = on_unknown
        self._stuck = stuck
        self._reported_stuck = 0
        self._loop = asyncio.new_event_loop()
        self._flush_requested = asyncio.Event()
        self._include_all = True
        self._stopping = False
        self._should_log = LogThrottle()
        self._thread = threading.Thread(target=self._run, name="reelstate heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def flush(self, *, include_all: bool = False) -> None:
        """Send unsent progress now; `include_all` also renews every other lease. Safe from any thread."""
        self._include_all |= include_all
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self._flush_requested.set)

    def request_stop(self) -> None:
        """Send nothing more, without waiting for a request in progress."""
        self._stopping = True
        self.flush()

    async def stop(self) -> None:
        """Stop and wait for the thread, for `JOIN_TIMEOUT` at most."""
        self.request_stop()
        await asyncio.to_thread(self._thread.join, JOIN_TIMEOUT)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._beat_forever())

    async def _beat_forever(self) -> None:
        while not self._stopping:
            try:
                async with self._connect() as link:
                    await self._beat_until_error(link)
            except StoreError as error:
                if self._should_log(str(error)):
                    logger.warning("heartbeat failed error=%s", error)
                await asyncio.sleep(RETRY_DELAY)
            except WorkerUnknown:
                self._on_unknown()
                return
            except Exception:
                logger.exception("heartbeat failed unexpectedly; restarting")
                await asyncio.sleep(RETRY_DELAY)

    async def _beat_until_error(self, link: Link) -> None:
        last_beat = time.monotonic()
        while not self._stopping:
            self._flush_requested.clear()
            include_all = self._include_all or time.monotonic() >= last_beat + self._renewal_interval()
            held = [task for task in list(self._ledger.values()) if include_all or task.has_unsent]
            if include_all:
                self._include_all, last_beat = False, time.monotonic()
            if held or include_all:
                await self._beat(link, held)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._flush_requested.wait(), min(PROGRESS_INTERVAL, self._renewal_interval()))

    def _renewal_interval(self) -> float:
        leases = [held.task.lease for held in list(self._ledger.values())]
        return min([self._interval, *(lease / RENEWALS_PER_LEASE for lease in leases)])

    async def _beat(self, link: Link, held: list[HeldTask]) -> None:
        """Send one report of these tasks and hand out the verdicts."""
        reports = [task.take_report() for task in held]
        try:
            sent_at, answer = await self._send(link, held, [report.progress for report in reports])
        except Exception as error:
            for report in reports:
                fail_futures(report.waiting, _error_for_run(error))
            raise
        refused: list[tuple[Lease, Verdict]] = []
        states_stored, progressed_jobs = False, set()
        for task, report, verdict in zip(held, reports, answer.verdicts, strict=True):
            task.sending = False
            if verdict is Verdict.OK:
                task.renewed_at = sent_at
                states_stored |= bool(report.progress.states)
                if report.progress.percent is not None:
                    progressed_jobs.add(task.task.key.job_id)
                _resolve_futures(report.waiting)
            else:
                refused.append((task.lease, verdict))
                fail_futures(report.waiting, Stopped(verdict))
        self._on_answer(HeartbeatAnswer(refused, answer.drain, states_stored, frozenset(progressed_jobs)))

    async def _send(self, link: Link, held: list[HeldTask], items: list[Progress]) -> tuple[float, Report]:
        """Send a report until the store accepts it; return when it was sent, and the answer."""
        while True:
            sent_at, stuck = time.monotonic(), self._stuck()
            try:
                report = await link.report(self._worker_id, items, None if stuck == self._reported_stuck else stuck)
            except StoreError as error:
                if self._should_log(str(error)):
                    logger.warning("lease renewal failed error=%s", error)
                self._stop_expired(held)
                if self._stopping:
                    raise
                await asyncio.sleep(RETRY_DELAY)
            else:
                logger.debug("heartbeat sent tasks=%d", len(items))
                self._reported_stuck = stuck
                return sent_at, report

    def _stop_expired(self, held: list[HeldTask]) -> None:
        """Stop tasks of stages with `strict_lease` whose lease has expired by this machine's clock."""
        now = time.monotonic()
        expired = [(task.lease, Verdict.LOST) for task in held if task.task.strict_lease and now > task.expires_at]
        if expired:
            self._on_answer(HeartbeatAnswer(expired, drain=False))


def _error_for_run(error: Exception) -> BaseException:
    """Return what a run that waits for its report is to raise: `Stopped` when its lease can't be renewed any more."""
    return Stopped(str(error)) if isinstance(error, StoreError | WorkerUnknown) else error


def _resolve_futures(waiting: Iterable[Future[None]]) -> None:
    for future in waiting:
        with contextlib.suppress(InvalidStateError):  # its waiter was cancelled
            future.set_result(None)

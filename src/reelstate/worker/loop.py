"""The worker: claims tasks in batches, runs them and delivers their outcomes until it is stopped.

```text
 wake-up, poll ──▶ claim ──▶ queue ──▶ runs (up to its concurrency) ──▶ outbox ──▶ complete | fail
                     ▲                  │  ▲
                     └── free slots ◀───┘  └── stop: lost, cancelled ◀── heartbeat (its own thread) ──▶ report
```

A task is in the ledger, and its lease is renewed, from its claim until the store has its outcome. A task that the
heartbeat finds lost or cancelled is stopped, and nothing more is reported of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.errors import ReelstateError, StoreError, WorkerRefused, WorkerUnknown
from reelstate.core.machine import Actor, WorkerStatus
from reelstate.core.model import ClaimedTask, Completion, Failure, Release, TaskKey, Verdict
from reelstate.core.outcome import RunOutcome, timeout_failure
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.pipelines.declaration import Pipeline, StageHandler
from reelstate.telemetry.facts import AttemptEnded, AttemptRecorded, TracedJob, emit, listening
from reelstate.telemetry.logs import job_log, log_fields
from reelstate.telemetry.trace_context import running_in
from reelstate.telemetry.tracing import attempt_context
from reelstate.worker.heartbeat import Heartbeat, HeartbeatAnswer
from reelstate.worker.leases import HeldTask, Lease, Stop, lease_fields
from reelstate.worker.link import Connect, Link
from reelstate.worker.outbox import Outbox
from reelstate.worker.pace import Pace
from reelstate.worker.reporter import LocalReporter
from reelstate.worker.runner import attempt
from reelstate.worker.settings import WorkerSettings

logger = logging.getLogger("reelstate.worker")

KILL_MARGIN = 1.0
"""Seconds beyond `kill_after` before a handler counts as stuck."""
MAX_UNSENT = 2000
"""Outcomes in the outbox beyond which nothing is claimed."""
NO_TASK = TaskKey(0, 0, 0)
"""A hint that matches nothing: such a claim only returns whether isolated tasks wait."""


class WorkerLoop:
    """Runs the tasks of some pipelines. `run` returns after `stop`, when every task is finished or released."""

    def __init__(
        self,
        link: Link,
        connect: Connect,
        dispatch: Dispatch,
        pipelines: Iterable[Pipeline],
        settings: WorkerSettings,
        *,
        limits: DocumentLimits = LIMITS,
        known_as: Callable[[], str] | None = None,
    ) -> None:
        """`known_as` returns the name under which the server knows the worker; by default that of its settings."""
        self.settings = settings
        self._known_as = known_as or (lambda: settings.name)
        self.id: int | None = None
        self.registered = asyncio.Event()
        self._link = link
        self._connect = connect
        self._dispatch = dispatch
        self._limits = limits
        pipelines = list(pipelines)
        self._handlers = {pipeline.name: pipeline.handlers for pipeline in pipelines}
        self._digests = {pipeline.name: pipeline.graph.digest for pipeline in pipelines}
        self._paused_until: dict[str, float] = {}
        self._ledger: dict[Lease, HeldTask] = {}
        self._queue: deque[HeldTask] = deque()
        self._running: set[HeldTask] = set()
        self._stuck: set[HeldTask] = set()
        """Runs whose handlers do not stop: each holds its slot until its handler ends."""
        self._outbox = Outbox(link, self._flush_reports, self._on_delivered, retry_delay=settings.retry_delay)
        self._pace = Pace(settings.concurrency, settings.prefetch)
        self._wake = asyncio.Event()
        self._should_claim = True
        self._draining = False
        self._published_busy = False
        self._yield_at: float | None = None
        """When to stop claiming, so that an isolated task can run; None when none waits."""
        self._stopping = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._heartbeat: Heartbeat | None = None
        self._registering_again: asyncio.Task[None] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._refusal: WorkerRefused | None = None
        self._should_log = LogThrottle()
        self._task_level = logging.getLevelNamesMapping()[settings.log_tasks.upper()]
        self._unreleased: set[Lease] = set()
        self.claim_unanswered = False
        """Whether it ended before a claim was answered: that claim may have leased tasks that are unknown here."""

    @property
    def still_leased(self) -> list[TaskKey]:
        """The tasks that this worker may still hold in the store; empty after a clean stop."""
        return sorted({key for key, _ in self._unreleased | self._ledger.keys()})

    @property
    def name(self) -> str:
        return self._known_as()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def load(self) -> float:
        """The share of its slots that are in use."""
        return (len(self._running) + len(self._stuck)) / self.settings.concurrency

    @property
    def unsent(self) -> int:
        """The outcomes that wait for the store."""
        return len(self._outbox)

    def stop(self) -> None:
        """Claim nothing more and let running tasks finish within the grace. A second call releases them at once."""
        if self._stopping.is_set():
            self._stop_now.set()
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Work until stopped, then release what is left; a release does not count as an attempt."""
        await self._register_unless_stopped()
        loops = [asyncio.create_task(loop) for loop in (self._listen(), self._claim_loop(), self._outbox.run())]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*loops, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            self._wake.set()
            try:
                # Wait for a claim in progress: cancelled, it could leave leases behind that are unknown here.
                _, unanswered = await asyncio.wait(loops[1:2], timeout=self.settings.shutdown_timeout)
                self.claim_unanswered = bool(unanswered)
                await self._shut_down()
            finally:
                self._cancel_all([*loops, stopping])
            results = await asyncio.gather(*loops, return_exceptions=True)
        for result in (*results, self._refusal):
            if isinstance(result, Exception):
                raise result

    def _cancel_all(self, loops: Iterable[asyncio.Task[Any]]) -> None:
        """Stop runs, loops and heartbeat, also when `run` is cancelled during its shutdown."""
        for held in self._running:
            self._stop_task(held, Stop.RELEASED)
        for loop in loops:
            loop.cancel()
        if self._registering_again is not None:
            self._registering_again.cancel()
        if self._heartbeat is not None:
            self._heartbeat.request_stop()

    async def _register_unless_stopped(self) -> None:
        """Register; a worker that is stopped before that does not wait for an unreachable store."""
        registering = asyncio.create_task(self._register())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([registering, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            registering.cancel()
            stopping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await registering

    async def _register(self) -> None:
        """Register under a new id, retrying while the store is unreachable."""
        while not self._stopping.is_set():
            try:
                self.id = await self._link.register(
                    self.settings.name, pipelines=sorted(self._handlers), **self.settings.registration(self._digests)
                )
            except StoreError as error:
                logger.warning("registration failed error=%s", error)
                await asyncio.sleep(self.settings.retry_delay)
            else:
                self._start_heartbeat(self.id)
                logger.info("worker ready name=%s id=%d slots=%d", self.name, self.id, self.settings.concurrency)
                self.registered.set()
                return

    def _start_heartbeat(self, worker_id: int) -> None:
        loop = asyncio.get_running_loop()
        self._heartbeat = Heartbeat(
            self._connect,
            worker_id,
            self._ledger,
            interval=self.settings.heartbeat,
            on_answer=lambda answer: _call_soon(loop, self._on_heartbeat, answer),
            on_unknown=lambda: _call_soon(loop, self._on_unknown),
            stuck=lambda: len(self._stuck),
        )
        self._heartbeat.start()

    async def _listen(self) -> None:
        """Claim after a wake-up or a poll interval; after a wake-up to stop, check every lease now."""
        listener = self._dispatch.listen()
        try:
            while True:
                wakeups = await listener.wait(self.settings.poll * random.uniform(0.8, 1.2))
                if Wakeup.STOP in wakeups or (wakeups and self._draining):
                    self._flush(include_all=True)
                if not wakeups or Wakeup.WORK in wakeups:
                    self._should_claim = True
                    self._wake.set()
        finally:
            listener.close()

    async def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            limit = self._claim_limit()
            if limit and self._should_claim:
                await self._claim_batch(limit)
            elif self._should_claim and self._must_yield():
                await self._claim_batch(1, hints=[NO_TASK])
            else:
                await self._wake.wait()

    def _claim_limit(self) -> int:
        """Return how many tasks to claim now. Prefetched tasks are claimed in batches, not one by one."""
        queued, prefetch = len(self._queue), self._pace.prefetch
        if not self._slots or self._draining or self._must_yield():
            return 0
        if queued * 2 > prefetch or len(self._outbox) > MAX_UNSENT:
            return 0
        return max(0, self._slots + prefetch - len(self._running) - queued)

    @property
    def _slots(self) -> int:
        """Tasks that may run at once: a handler that does not stop holds its slot."""
        return self.settings.concurrency - len(self._stuck)

    def _must_yield(self) -> bool:
        """Return whether to claim nothing until no task is held, so that an isolated task can run."""
        return self._yield_at is not None and time.monotonic() > self._yield_at and bool(self._ledger)

    async def _claim_batch(self, limit: int, **options: Any) -> None:
        self._should_claim = False
        now = time.monotonic()
        try:
            claim = await self._link.claim(
                self._require_id(),
                limit,
                pipelines=[name for name in self._handlers if self._paused_until.get(name, 0.0) <= now],
                gpu_grace=self.settings.gpu_grace,
                **options,
            )
        except WorkerUnknown:
            self._on_unknown()
            await asyncio.sleep(self.settings.retry_delay)
        except (StoreError, WorkerRefused) as error:
            if self._should_log(str(error)):
                logger.warning("claim failed error=%s", error)
            self._should_claim = True
            await asyncio.sleep(self.settings.retry_delay * random.uniform(0.5, 1.0))
        else:
            logger.debug("tasks claimed count=%d limit=%d", len(claim.tasks), limit)
            self._should_claim |= len(claim.tasks) == limit
            self._schedule_yield(isolated_waiting=claim.isolated_waiting)
            await self._accept(claim.tasks)

    def _schedule_yield(self, *, isolated_waiting: bool) -> None:
        if not isolated_waiting:
            self._should_claim |= self._yield_at is not None
            self._yield_at = None
        elif self._yield_at is None:
            self._yield_at = time.monotonic() + random.uniform(*self.settings.isolated_task_wait)

    async def _accept(self, tasks: Sequence[ClaimedTask]) -> None:
        """Queue claimed tasks; release those of unknown stages, and prefetched ones that may be long."""
        now = time.monotonic()
        unknown: list[HeldTask] = []
        for task in tasks:
            held = HeldTask(task, now)
            self._ledger[held.lease] = held
            (self._queue if task.stage_name in self._handlers[task.pipeline] else unknown).append(held)
        self._pace.record_claim({(task.pipeline, task.stage_name) for task in tasks})
        self._start_queued()
        if unknown:
            await self._release_unknown(unknown)
        if any(not self._pace.is_short((held.task.pipeline, held.task.stage_name)) for held in self._queue):
            await self._release_tasks(self._empty_queue())

    async def _release_unknown(self, unknown: Sequence[HeldTask]) -> None:
        """Release tasks of stages that this code does not have: another version of it is deployed elsewhere."""
        for held in unknown:
            self._paused_until[held.task.pipeline] = time.monotonic() + self.settings.unknown_stage_delay
            logger.error("unknown stage pipeline=%s %s; task released", held.task.pipeline, held.log_fields)
        await self._release_tasks(unknown)

    def _start_queued(self) -> None:
        """Start queued tasks while slots are free; a stopping worker releases them instead."""
        while self._queue and len(self._running) < self._slots and not self._stopping.is_set():
            held = self._queue.popleft()
            self._running.add(held)
            self._publish_busy()
            held.run = asyncio.create_task(self._run_task(held))

    async def _run_task(self, held: HeldTask) -> None:
        """Run one attempt, from its start to the outbox."""
        task = held.task
        context = None if task.trace is None else attempt_context(task.trace, *task.key, task.token)
        with log_fields(**held.ids, worker=self.name), running_in(context):
            await self._run_once(held)
        if held in self._stuck:
            self._stuck.discard(held)
            self._log_stuck(logging.WARNING, "stuck handler ended", held)
        self._start_queued()
        self._publish_busy()
        self._wake.set()

    async def _run_once(self, held: HeldTask) -> None:
        handler = self._handlers[held.task.pipeline].get(held.task.stage_name)
        began = time.perf_counter()
        self._log_task("task started", held)
        outcome = await self._attempt(held, handler) if handler and held.stop is None else None
        if isinstance(outcome, Completion):
            self._log_task("task completed", held, f" seconds={time.perf_counter() - began:.3f}")
        seconds, name = time.perf_counter() - began, _outcome_name(held, outcome)
        if held in self._running:
            self._running.discard(held)
            if held.task.trace is not None and listening():
                held.record = self._record_of(held, outcome, name, seconds)
            self._finish(held, outcome)
        emit(AttemptEnded(held.task.pipeline, held.task.stage_name, name, seconds))

    def _record_of(self, held: HeldTask, outcome: RunOutcome | None, name: str, seconds: float) -> AttemptRecorded:
        task = held.task
        return AttemptRecorded(
            TracedJob(task.key.job_id, task.trace or "", task.pipeline),
            task.key.stage,
            task.stage_name,
            task.key.part,
            task.token,
            task.attempt,
            self.name,
            name,
            seconds,
            ended=time.time(),
            error=outcome.error if isinstance(outcome, Failure) else None,
        )

    def _log_task(self, event: str, held: HeldTask, more: str = "") -> None:
        if logger.isEnabledFor(self._task_level):
            task = held.task
            attempts = f"attempt={task.attempt}/{task.max_attempts}"
            fields = (event, task.pipeline, held.log_fields, attempts, more)
            logger.log(self._task_level, "%s pipeline=%s %s %s%s", *fields)

    def _finish(self, held: HeldTask, outcome: RunOutcome | None) -> None:
        """Put the outcome of a run into the outbox. A stopped run has none, unless it timed out."""
        if held.stop is not None:
            outcome = timeout_failure(held.task) if held.stop is Stop.TIMED_OUT else None
        if outcome is not None:
            if isinstance(outcome, Failure):
                _log_failure(held, outcome)
            self._outbox.put(outcome)
        elif held.stop is not Stop.RELEASED:
            if held.stop is Stop.CANCELLED:
                _emit_record(held)
            self._drop(held)

    def _publish_busy(self) -> None:
        """Publish that this worker is busy or idle, when that has changed."""
        busy = bool(self._running or self._stuck)
        if busy != self._published_busy:
            self._published_busy = busy
            if self._dispatch.mirrors:
                status = {"status": "busy" if busy else "idle", "id": self.id, "name": self.name}
                self._dispatch.publish("worker_status", self._require_id(), status)

    async def _attempt(self, held: HeldTask, handler: StageHandler) -> RunOutcome | None:
        """Run the handler until it ends or the timeout of its stage stops it."""
        reporter = LocalReporter(held, self._link, self._limits, self._flush)
        started = time.perf_counter()
        seconds, limit = held.task.timeout, None
        if seconds is not None:  # by this machine's clock; the keeper reclaims what this misses
            limit = asyncio.get_running_loop().call_later(seconds, self._stop_task, held, Stop.TIMED_OUT)
        try:
            with job_log(reporter.log):
                outcome = await attempt(held, handler, reporter, kill_after=self.settings.kill_after)
        finally:
            if limit is not None:
                limit.cancel()
        self._pace.record_run((held.task.pipeline, held.task.stage_name), time.perf_counter() - started)
        return outcome

    async def _flush_reports(self, outcomes: Sequence[RunOutcome]) -> None:
        """Store what runs have reported before their outcomes: afterwards the store would refuse it."""
        held = [self._ledger.get((each.key, each.token)) for each in outcomes]
        waiting = [each.when_stored() for each in held if each is not None and (each.has_unsent or each.sending)]
        if waiting:
            self._flush()
            await asyncio.gather(*map(asyncio.wrap_future, waiting), return_exceptions=True)

    def _on_delivered(self, outcome: RunOutcome, verdict: Verdict) -> None:
        """Drop a task whose outcome the store has accepted or refused."""
        lease = outcome.key, outcome.token
        held = self._ledger.get(lease)
        if held is not None and verdict is not Verdict.LOST:
            _emit_record(held)
        if verdict not in {Verdict.OK, Verdict.REPEATED}:
            level = logging.INFO if verdict is Verdict.CANCELLED else logging.WARNING
            logger.log(level, "result refused %s verdict=%s", held.log_fields if held else lease_fields(lease), verdict)
        if held is not None:
            self._drop(held)

    def _drop(self, held: HeldTask) -> None:
        """Remove a task from the ledger, so that its lease is renewed no more."""
        self._ledger.pop(held.lease, None)
        if held.stop:
            held.discard_report()
        if held.task.lost or self._yield_at is not None:
            self._should_claim = True  # a task that had to wait for this one may be claimable now
        self._wake.set()

    def _on_heartbeat(self, answer: HeartbeatAnswer) -> None:
        """Notify subscribers and stop refused tasks. Runs on this loop, to which the dispatch belongs."""
        if answer.states_stored:
            self._dispatch.notify(Wakeup.STATE)
        self._dispatch.jobs_changed(answer.progressed_jobs)
        for lease, verdict in answer.refused:
            held = self._ledger.get(lease)
            if held is not None and held.stop is None and verdict is not Verdict.REPEATED:
                self._stop_task(held, Stop.CANCELLED if verdict is Verdict.CANCELLED else Stop.LOST)
        if answer.drain != self._draining:
            self._draining = answer.drain
            logger.info("worker %s name=%s", "draining" if answer.drain else "resumed", self.name)
            self._should_claim = True
            self._wake.set()

    def _stop_task(self, held: HeldTask, reason: Stop) -> None:
        """Stop a run, or remove a task from the queue; a task that is finished or being released is left alone."""
        loop = asyncio.get_running_loop()
        if held in self._running and held.run is not None:
            held.stop = held.stop or reason
            loop.call_soon(held.run.cancel)  # cancelled before its first step, it would not clean up after itself
            loop.call_later(self._stop_timeout, self._abandon, held)
        elif held in self._queue:
            held.stop = reason
            self._queue.remove(held)
            self._drop(held)
        if held.stop:
            if reason is Stop.LOST:
                logger.info("lease lost %s", held.log_fields)
            else:
                logger.info("task stopped %s reason=%s", held.log_fields, reason)

    @property
    def _stop_timeout(self) -> float:
        """Seconds after which a stopped handler that still runs is stuck."""
        return self.settings.kill_after + KILL_MARGIN

    def _abandon(self, held: HeldTask) -> None:
        """Stop waiting for a handler that does not stop. It keeps its slot; its token makes its reports refused."""
        if held not in self._running:
            return
        self._running.discard(held)
        self._stuck.add(held)
        self._log_stuck(logging.ERROR, "handler does not stop", held)
        self._finish(held, None)
        if not self._slots:
            logger.error("every slot is held by a stuck handler name=%s hint=restart the worker", self.name)
            self._releasing = asyncio.create_task(self._release_tasks(self._empty_queue()))
        self._publish_busy()
        self._wake.set()

    def _log_stuck(self, level: int, event: str, held: HeldTask) -> None:
        """Log a change of the number of stuck handlers and report it with a heartbeat now."""
        slots = self.settings.concurrency
        logger.log(level, "%s %s stuck=%d slots=%d", event, held.log_fields, len(self._stuck), slots)
        self._flush(include_all=True)

    def _on_unknown(self) -> None:
        """Stop every task and register again: the store does not know this worker any more."""
        if not self._stopping.is_set() and self.registered.is_set():
            self.registered.clear()
            logger.warning("worker unknown to the store; registering again name=%s", self.name)
            for held in list(self._ledger.values()):
                self._stop_task(held, Stop.LOST)
            self._registering_again = asyncio.create_task(self._register_again())

    async def _register_again(self) -> None:
        await self._stop_heartbeat()
        try:
            await self._register()
        except WorkerRefused as error:
            self._refusal = error
            self.stop()
        self._should_claim = True
        self._wake.set()

    async def _shut_down(self) -> None:
        """Let running tasks finish within the grace, release the others, and go offline."""
        await self._release_tasks(self._empty_queue())
        await self._wait_for_runs(self.settings.grace)
        left = [held for held in self._running if held.stop is None]
        for held in left:
            self._stop_task(held, Stop.RELEASED)
        if self._running:
            runs = [held.run for held in self._running if held.run is not None]
            await asyncio.wait(runs, timeout=self._stop_timeout)
        try:
            async with asyncio.timeout(self.settings.shutdown_timeout):
                await self._outbox.wait_empty()
                await self._release_tasks([*left, *self._empty_queue()])  # a late claim may have filled it again
                await self._go_offline()
        except (TimeoutError, ReelstateError) as error:
            logger.warning("shutdown incomplete; leases will expire name=%s id=%s error=%s", self.name, self.id, error)
            await self._stop_heartbeat()

    async def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            await self._heartbeat.stop()

    async def _wait_for_runs(self, grace: float) -> None:
        """Wait until nothing runs, the grace is over, or `stop` is called again."""
        stop_now = asyncio.create_task(self._stop_now.wait())
        deadline = time.monotonic() + grace
        if self._running and grace:
            logger.info("waiting for tasks count=%d grace=%.0f hint=stop again to release them", self.running, grace)
        while self._running and not stop_now.done() and (left := deadline - time.monotonic()) > 0:
            runs = [held.run for held in self._running if held.run is not None]
            await asyncio.wait([*runs, stop_now], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        stop_now.cancel()

    def _empty_queue(self) -> list[HeldTask]:
        """Remove and return the queued tasks."""
        queued = list(self._queue)
        self._queue.clear()
        return queued

    async def _release_tasks(self, held: Sequence[HeldTask]) -> None:
        """Give tasks back to the store without counting an attempt; if it is unreachable, their leases expire."""
        if held:
            try:
                async with asyncio.timeout(self.settings.shutdown_timeout):
                    await self._link.release([Release(key=each.task.key, token=each.task.token) for each in held])
                for each in held:
                    _emit_record(each)
            except (StoreError, TimeoutError) as error:
                logger.warning("release failed; leases will expire count=%d error=%s", len(held), error)
                if self._stopping.is_set():
                    self._unreleased.update(each.lease for each in held)
        for each in held:
            self._drop(each)

    async def _go_offline(self) -> None:
        await self._stop_heartbeat()  # first, because a heartbeat would bring the worker back online
        if self.id is not None:
            await self._link.move_worker(self.id, WorkerStatus.OFFLINE, actor=Actor.WORKER, reason="stopped")

    def _flush(self, *, include_all: bool = False) -> None:
        if self._heartbeat is not None:
            self._heartbeat.flush(include_all=include_all)

    def _require_id(self) -> int:
        if self.id is None:
            raise RuntimeError("the worker is not registered")
        return self.id


def _emit_record(held: HeldTask) -> None:
    """Emit a traced attempt whose outcome the store knows. The keeper emits one that is lost."""
    if held.record is not None:
        emit(held.record)
        held.record = None


def _will_retry(task: ClaimedTask, failure: Failure) -> bool:
    return failure.retryable and task.attempt < task.max_attempts


def _outcome_name(held: HeldTask, outcome: RunOutcome | None) -> str:
    """Return how an attempt ended, in one word."""
    match outcome:
        case Completion(skipped=skipped):
            return "skipped" if skipped else "completed"
        case Failure():
            return "retried" if _will_retry(held.task, outcome) else "failed"
    return (held.stop or Stop.LOST).name.lower()


def _log_failure(held: HeldTask, failure: Failure) -> None:
    task = held.task
    error = failure.error if isinstance(failure.error, dict) else {"message": failure.error}
    text = ": ".join(str(error[name]) for name in ("type", "message") if name in error)
    retry = _will_retry(task, failure)
    attempts = f"attempt={task.attempt}/{task.max_attempts} retry={'yes' if retry else 'no'}"
    logger.warning("task failed pipeline=%s %s %s error=%s", task.pipeline, held.log_fields, attempts, text)
    if "trace" in error:
        logger.info("%s", error["trace"])


def _call_soon(loop: asyncio.AbstractEventLoop, call: Any, *arguments: Any) -> None:
    """Call a function on the worker's loop; safe from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call, *arguments)

"""The worker: claims tasks in batches, runs them, reports what they came to, for ever.

```text
 bell, poll ──▶ claim ──▶ queue ──▶ runs (as many as its concurrency) ──▶ outbox ──▶ complete | fail
                  ▲                  │  ▲                                    │
                  └── room ◀─────────┘  └── stop: lost, cancelled ◀── heartbeat (its own thread) ──▶ report
```

A task is in the ledger from its claim until the store has its end, and as long as it is there its lease is renewed.
The store's word rules: a task that the heartbeat finds lost or cancelled is stopped, and nothing is reported of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.errors import ReelstateError, StoreError, WorkerRefused, WorkerUnknown
from reelstate.core.machine import Actor, WorkerStatus
from reelstate.core.model import ClaimedTask, Failure, Release, TaskKey, Verdict
from reelstate.core.outcome import Ended, timed_out
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.pipelines.declaration import Pipeline, StageHandler
from reelstate.worker.heartbeat import Heartbeat, HeartbeatAnswer
from reelstate.worker.leases import HeldTask, Lease, Stop
from reelstate.worker.link import Connect, Link
from reelstate.worker.outbox import Outbox
from reelstate.worker.pace import Pace, Stage
from reelstate.worker.reporter import LocalReporter
from reelstate.worker.runner import attempt
from reelstate.worker.settings import WorkerSettings

logger = logging.getLogger("reelstate.worker")

PAUSE = 1.0
"""Between two tries of something that the store could not do."""
UNKNOWN_STAGE_PAUSE = 10.0
"""How long a pipeline is left to others after a task of it that this code can't run."""
ISOLATED_TASK_WAIT = 5.0, 15.0
"""How long a task that must run alone may wait before this worker empties itself for it."""
SHUTDOWN_TIMEOUT = 10.0
"""How long a worker that ends waits for the store to take its last words."""
MAX_UNSENT = 2000
NO_TASK = TaskKey(0, 0, 0)
"""Asked for by a worker that empties itself: it only wants to know whether that is still needed."""


class WorkerLoop:
    """Runs the tasks of some pipelines. `run` returns after `stop`, when everything is finished or given back."""

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
        given = list(pipelines)
        self._handlers = {pipeline.name: pipeline.handlers for pipeline in given}
        self._digests = {pipeline.name: pipeline.graph.digest for pipeline in given}
        self._resting: dict[str, float] = {}
        self._ledger: dict[Lease, HeldTask] = {}
        self._queue: deque[HeldTask] = deque()
        self._running: set[HeldTask] = set()
        self._stuck: set[HeldTask] = set()
        """Runs that were stopped and go on: each holds its slot until its handler ends."""
        self._outbox = Outbox(link, self._store_words, self._delivered)
        self._pace = Pace(settings.concurrency, settings.prefetch)
        self._wake = asyncio.Event()
        self._look = True
        self._draining = False
        self._told_busy = False
        self._suspect_until: float | None = None
        self._stopping = asyncio.Event()
        self._hurried = asyncio.Event()
        self._heartbeat: Heartbeat | None = None
        self._again: asyncio.Task[None] | None = None
        self._giving_back: asyncio.Task[None] | None = None
        self._refused: WorkerRefused | None = None
        self._is_news = LogThrottle()
        self._not_given_back: set[Lease] = set()
        self.claim_unanswered = False
        """Whether it ended before a claim was answered: what that leased to it nobody here knows."""

    @property
    def still_leased(self) -> list[TaskKey]:
        """The tasks that the store may still count as this worker's; empty after a stop in which all went well."""
        return sorted({key for key, _ in self._not_given_back | self._ledger.keys()})

    @property
    def name(self) -> str:
        return self._known_as()

    @property
    def running(self) -> int:
        return len(self._running)

    def stop(self) -> None:
        """Take nothing more, let what runs finish within the grace. Told a second time: give it back at once."""
        if self._stopping.is_set():
            self._hurried.set()
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Work until stopped; whatever is left then goes back to the store, uncharged."""
        await self._begin()
        loops = [asyncio.create_task(loop) for loop in (self._listen(), self._claim_for_ever(), self._outbox.run())]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*loops, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            self._wake.set()
            try:
                # A claim on its way is waited for: cut off, it could leave leases behind that nobody knows of.
                _, unanswered = await asyncio.wait(loops[1:2], timeout=SHUTDOWN_TIMEOUT)
                self.claim_unanswered = bool(unanswered)
                await self._wind_down()
            finally:
                self._let_go([*loops, stopping])
            ends = await asyncio.gather(*loops, return_exceptions=True)
        for end in (*ends, self._refused):
            if isinstance(end, Exception):
                raise end

    def _let_go(self, loops: Iterable[asyncio.Task[Any]]) -> None:
        """However it ends, even cancelled while it ends: nothing runs on, and no lease is renewed for nobody."""
        for held in self._running:
            self._stop_task(held, Stop.RELEASED)
        for loop in loops:
            loop.cancel()
        if self._again is not None:
            self._again.cancel()
        if self._heartbeat is not None:
            self._heartbeat.end()

    async def _begin(self) -> None:
        """Register; a worker that is told to stop before that does not wait for a store that is away."""
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
        """Become known under a new id; wait for a store that is away."""
        while not self._stopping.is_set():
            try:
                self.id = await self._link.register(
                    self.settings.name, pipelines=sorted(self._handlers), **self.settings.registration(self._digests)
                )
            except StoreError as error:
                logger.warning("can't register: %s", error)
                await asyncio.sleep(PAUSE)
            else:
                self._start_heartbeat(self.id)
                logger.info("worker %s is ready: %d slots", self.name, self.settings.concurrency)
                self.registered.set()
                return

    def _start_heartbeat(self, worker_id: int) -> None:
        loop = asyncio.get_running_loop()
        self._heartbeat = Heartbeat(
            self._connect,
            worker_id,
            self._ledger,
            every=self.settings.heartbeat,
            on_answer=lambda answer: _post(loop, self._heed, answer),
            on_unknown=lambda: _post(loop, self._forgotten),
            stuck=lambda: len(self._stuck),
        )
        self._heartbeat.start()

    async def _listen(self) -> None:
        """Bells and the clock say when to look; a bell that says stop has every lease asked after."""
        listener = self._dispatch.listen()
        try:
            while True:
                bells = await listener.wait(self.settings.poll * random.uniform(0.8, 1.2))
                if Wakeup.STOP in bells or (bells and self._draining):
                    self._hurry(whole=True)
                if not bells or Wakeup.WORK in bells:
                    self._look = True
                    self._wake.set()
        finally:
            listener.close()

    async def _claim_for_ever(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            room = self._room()
            if room and self._look:
                await self._claim(room)
            elif self._look and self._yields():
                await self._claim(1, hints=[NO_TASK])
            else:
                await self._wake.wait()

    def _room(self) -> int:
        """How many tasks to ask for now. What is fetched ahead is asked for in batches, not one by one."""
        queued, ahead = len(self._queue), self._pace.ahead
        if not self._slots or self._draining or self._yields() or queued * 2 > ahead or len(self._outbox) > MAX_UNSENT:
            return 0
        return max(0, self._slots + ahead - len(self._running) - queued)

    @property
    def _slots(self) -> int:
        """Tasks that it may run at once: a handler that does not stop holds its slot."""
        return self.settings.concurrency - len(self._stuck)

    def _yields(self) -> bool:
        """Whether to run empty, so that a task which must be alone gets its turn."""
        return self._suspect_until is not None and time.monotonic() > self._suspect_until and bool(self._ledger)

    async def _claim(self, room: int, **which: Any) -> None:
        self._look = False
        try:
            claim = await self._link.claim(
                self._known_id(), room, pipelines=self._claimable(), gpu_grace=self.settings.gpu_grace, **which
            )
        except WorkerUnknown:
            self._forgotten()
            await asyncio.sleep(PAUSE)
        except (StoreError, WorkerRefused) as error:
            if self._is_news(str(error)):
                logger.warning("no claim: %s", error)
            self._look = True
            await asyncio.sleep(PAUSE * random.uniform(0.5, 1.0))
        else:
            self._look |= len(claim.tasks) == room
            self._note_suspects(waiting=claim.suspects_waiting)
            await self._take(claim.tasks)

    def _note_suspects(self, *, waiting: bool) -> None:
        if not waiting:
            self._look |= self._suspect_until is not None
            self._suspect_until = None
        elif self._suspect_until is None:
            self._suspect_until = time.monotonic() + random.uniform(*ISOLATED_TASK_WAIT)

    def _claimable(self) -> list[str]:
        now = time.monotonic()
        return [name for name in self._handlers if self._resting.get(name, 0.0) <= now]

    async def _take(self, tasks: Sequence[ClaimedTask]) -> None:
        now = time.monotonic()
        strange: list[HeldTask] = []
        for task in tasks:
            held = HeldTask(task, now)
            self._ledger[held.lease] = held
            (self._queue if self._handler(task) else strange).append(held)
        self._pace.claimed({_stage(task) for task in tasks})
        self._fill()
        if strange:
            await self._leave_to_others(strange)
        if any(not self._pace.short(_stage(held.task)) for held in self._queue):
            await self._give_back(self._taken_from_queue())

    def _handler(self, task: ClaimedTask) -> StageHandler | None:
        return self._handlers[task.pipeline].get(task.stage_name)

    async def _leave_to_others(self, strange: Sequence[HeldTask]) -> None:
        """Give back tasks of stages that this code does not have: another version of it was deployed elsewhere."""
        for held in strange:
            self._resting[held.task.pipeline] = time.monotonic() + UNKNOWN_STAGE_PAUSE
            names = held.task.pipeline, held.task.stage_name
            logger.error("this code has no stage %s.%s; its task is left to a worker that has it", *names)
        await self._give_back(strange)

    def _fill(self) -> None:
        """Start what waits in the queue while there are free slots; a worker that stops gives it back instead."""
        while self._queue and len(self._running) < self._slots and not self._stopping.is_set():
            held = self._queue.popleft()
            self._running.add(held)
            self._tell_if_busy()
            held.run = asyncio.create_task(self._run(held))

    async def _run(self, held: HeldTask) -> None:
        """One attempt, from its start to the outbox."""
        handler = self._handler(held.task)
        ended = await self._attempted(held, handler) if handler and held.stop is None else None
        if held in self._running:
            self._running.discard(held)
            self._finish(held, ended)
        if held in self._stuck:
            self._stuck.discard(held)
            self._log_stuck(logging.WARNING, "stuck handler ended", held)
        self._fill()
        self._tell_if_busy()
        self._wake.set()

    def _finish(self, held: HeldTask, ended: Ended | None) -> None:
        """Put the outcome of a run into the outbox. A run that was stopped has none, unless its time was over."""
        if held.stop is not None:
            ended = timed_out(held.task) if held.stop is Stop.TIMED_OUT else None
        if ended is not None:
            if isinstance(ended, Failure):
                _tell_of_failure(held.task, ended)
            self._outbox.put(ended)
        elif held.stop is not Stop.RELEASED:
            self._forget(held)

    def _tell_if_busy(self) -> None:
        """Tell whoever subscribes to workers that this one has begun to work, or has nothing to do any more."""
        busy = bool(self._running or self._stuck)
        if busy != self._told_busy:
            self._told_busy = busy
            status = {"status": "busy" if busy else "idle", "id": self.id, "name": self.name}
            self._dispatch.publish("worker_status", self._known_id(), status)

    async def _attempted(self, held: HeldTask, handler: StageHandler) -> Ended | None:
        desk = LocalReporter(held, self._link, self._limits, self._hurry)
        started = time.perf_counter()
        with self._time_limit(held):
            ended = await attempt(held, handler, desk, kill_after=self.settings.kill_after)
        self._pace.ran(_stage(held.task), time.perf_counter() - started)
        return ended

    @contextlib.contextmanager
    def _time_limit(self, held: HeldTask) -> Iterator[None]:
        """Stop the run at the timeout of its stage, by this machine's clock; the keeper is only the backstop."""
        if held.task.timeout is None:
            yield
            return
        limit = asyncio.get_running_loop().call_later(held.task.timeout, self._stop_task, held, Stop.TIMED_OUT)
        try:
            yield
        finally:
            limit.cancel()

    async def _store_words(self, ended: Sequence[Ended]) -> None:
        """What runs have said is stored before what they came to: afterwards nobody would take it."""
        held = [self._ledger.get((each.key, each.token)) for each in ended]
        waiting = [each.stored() for each in held if each is not None and (each.has_said or each.sending)]
        if waiting:
            self._hurry()
            await asyncio.gather(*map(asyncio.wrap_future, waiting), return_exceptions=True)

    def _delivered(self, ended: Ended, verdict: Verdict) -> None:
        """The store has taken (or refused) the end of a run."""
        if verdict not in {Verdict.OK, Verdict.REPEATED}:
            level = logging.INFO if verdict is Verdict.CANCELLED else logging.WARNING
            logger.log(level, "task %s: what it came to was refused: %s", ended.key, verdict)
        held = self._ledger.get((ended.key, ended.token))
        if held is not None:
            self._forget(held)

    def _forget(self, held: HeldTask) -> None:
        self._ledger.pop(held.lease, None)
        if held.stop:
            held.give_up()
        if held.task.lost or self._suspect_until is not None:
            self._look = True  # what it kept from being claimed may be free now
        self._wake.set()

    def _heed(self, answer: HeartbeatAnswer) -> None:
        """What the heartbeat learned. It rings here, because a dispatch belongs to the loop that opened it."""
        if answer.stated:
            self._dispatch.notify(Wakeup.STATE)
        self._dispatch.jobs_changed(answer.jobs)
        for lease, verdict in answer.refused:
            held = self._ledger.get(lease)
            if held is not None and held.stop is None and verdict is not Verdict.REPEATED:
                self._stop_task(held, Stop.CANCELLED if verdict is Verdict.CANCELLED else Stop.LOST)
        if answer.drain != self._draining:
            self._draining = answer.drain
            logger.info("worker %s %s", self.name, "drains" if answer.drain else "takes work again")
            self._look = True
            self._wake.set()

    def _stop_task(self, held: HeldTask, why: Stop) -> None:
        """Stop a run, or take a task from the queue; one that has ended, or is on its way back, needs neither."""
        loop = asyncio.get_running_loop()
        if held in self._running and held.run is not None:
            held.stop = held.stop or why
            loop.call_soon(held.run.cancel)  # cancelled before its first step, it would not clean up after itself
            loop.call_later(self.settings.kill_after + PAUSE, self._abandon, held)
        elif held in self._queue:
            held.stop = why
            self._queue.remove(held)
            self._forget(held)
        if held.stop:
            logger.info("task %s is stopped: %s", held.task.key, why)

    def _abandon(self, held: HeldTask) -> None:
        """Give up waiting for a handler that does not stop. It holds its slot; its token refuses what it reports."""
        if held not in self._running:
            return
        self._running.discard(held)
        self._stuck.add(held)
        self._log_stuck(logging.ERROR, "handler does not stop", held)
        self._finish(held, None)
        if not self._slots:
            logger.error("every slot is held by a handler that does not stop; hint: restart worker %s", self.name)
            self._giving_back = asyncio.create_task(self._give_back(self._taken_from_queue()))
        self._tell_if_busy()
        self._wake.set()

    def _log_stuck(self, level: int, event: str, held: HeldTask) -> None:
        """Log a change of the number of stuck handlers, and have the heartbeat report it now."""
        task = held.task
        place = f"task={task.key} stage={task.pipeline}.{task.stage_name}"
        logger.log(level, "%s %s stuck=%d slots=%d", event, place, len(self._stuck), self.settings.concurrency)
        self._hurry(whole=True)

    def _forgotten(self) -> None:
        """The store does not know this worker any more: whatever it held is lost; begin again."""
        if not self._stopping.is_set() and self.registered.is_set():
            self.registered.clear()
            logger.warning("worker %s is not known any more and registers again", self.name)
            for held in list(self._ledger.values()):
                self._stop_task(held, Stop.LOST)
            self._again = asyncio.create_task(self._register_again())

    async def _register_again(self) -> None:
        await self._stop_heartbeat()
        try:
            await self._register()
        except WorkerRefused as error:
            self._refused = error
            self.stop()
        self._look = True
        self._wake.set()

    async def _wind_down(self) -> None:
        """Let what runs finish within the grace, give back the rest, sign off."""
        await self._give_back(self._taken_from_queue())
        await self._settle(self.settings.grace)
        left = [held for held in self._running if held.stop is None]
        for held in left:
            self._stop_task(held, Stop.RELEASED)
        if self._running:
            runs = [held.run for held in self._running if held.run is not None]
            await asyncio.wait(runs, timeout=self.settings.kill_after + PAUSE)
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT):
                await self._outbox.emptied()
                await self._give_back([*left, *self._taken_from_queue()])  # a late claim may have filled it again
                await self._sign_off()
        except (TimeoutError, ReelstateError) as error:
            logger.warning("worker %s could not say good-bye; its leases run out by themselves: %s", self.id, error)
            await self._stop_heartbeat()

    async def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            await self._heartbeat.stop()

    async def _settle(self, grace: float) -> None:
        """Wait until nothing runs, the grace is over, or somebody is in a hurry."""
        hurried = asyncio.create_task(self._hurried.wait())
        end = time.monotonic() + grace
        if self._running and grace:
            logger.info("waiting up to %.0f s for %d tasks; stop again to give them back", grace, len(self._running))
        while self._running and not hurried.done() and (left := end - time.monotonic()) > 0:
            runs = [held.run for held in self._running if held.run is not None]
            await asyncio.wait([*runs, hurried], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()

    def _taken_from_queue(self) -> list[HeldTask]:
        taken = list(self._queue)
        self._queue.clear()
        return taken

    async def _give_back(self, held: Sequence[HeldTask]) -> None:
        """Release tasks, uncharged; if the store is away they run out instead."""
        if held:
            try:
                async with asyncio.timeout(SHUTDOWN_TIMEOUT):
                    await self._link.release([Release(key=each.task.key, token=each.task.token) for each in held])
            except (StoreError, TimeoutError) as error:
                logger.warning("%d tasks could not be given back and run out: %s", len(held), error)
                if self._stopping.is_set():
                    self._not_given_back.update(each.lease for each in held)
        for each in held:
            self._forget(each)

    async def _sign_off(self) -> None:
        await self._stop_heartbeat()  # first, because a sign of life would bring the worker back
        if self.id is not None:
            await self._link.move_worker(self.id, WorkerStatus.OFFLINE, actor=Actor.WORKER, reason="stopped")

    def _hurry(self, *, whole: bool = False) -> None:
        if self._heartbeat is not None:
            self._heartbeat.hurry(whole=whole)

    def _known_id(self) -> int:
        if self.id is None:
            raise RuntimeError("a worker claims after it has registered")
        return self.id


def _tell_of_failure(task: ClaimedTask, ended: Failure) -> None:
    error = ended.error if isinstance(ended.error, dict) else {"message": ended.error}
    words = ": ".join(str(error[name]) for name in ("type", "message") if name in error)
    place = f"{task.pipeline}.{task.stage_name}, task {task.key}"
    last = not ended.retryable or task.attempt >= task.max_attempts
    again = "it is not tried again" if last else "it will be tried again"
    logger.warning("%s failed (attempt %d of %d): %s; %s", place, task.attempt, task.max_attempts, words, again)
    if "trace" in error:
        logger.info("%s", error["trace"])


def _stage(task: ClaimedTask) -> Stage:
    return task.pipeline, task.stage_name


def _post(loop: asyncio.AbstractEventLoop, call: Any, *arguments: Any) -> None:
    """Have something done on the worker's loop; from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call, *arguments)

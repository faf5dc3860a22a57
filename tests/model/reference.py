"""A second implementation of the rules of the engine, kept simple: objects and loops, no SQL, time is a number.

It is written from the rules (docs/lifecycle.md), not from the statements, so that it does not repeat their mistakes.
A stage has no counters: they are computed from its tasks. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Json, TaskKey, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.policy import BACKSTOP_MARGIN, backstop

NEW, READY, RUNNING, DONE = TaskStatus.NEW, TaskStatus.READY, TaskStatus.RUNNING, TaskStatus.DONE
ERROR, SKIPPED, CANCELLED = TaskStatus.ERROR, TaskStatus.SKIPPED, TaskStatus.CANCELLED
PHASE_ORDER = ("validating", "planning", "downloading_inputs", "processing", "uploading_outputs")
ENDED = (JobStatus.COMPLETED, JobStatus.CANCELLED)
AT_REST = (JobStatus.FAILED, JobStatus.QUARANTINED)
STALE = 45.0

Held = tuple[TaskKey, int]


class Refused(Exception):
    """The rules do not allow it; `why` is the name of the error a caller gets."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass
class Ended:
    """The outcome of the run under one token."""

    target: TaskStatus
    by_worker: bool


@dataclass(eq=False)
class RefTask:
    key: TaskKey
    spec: StageSpec
    priority: int
    max_attempts: int
    status: TaskStatus = READY
    version: int = 1
    token: int = 0
    attempt: int = 0
    lost: int = 0
    lost_alone: int = 0
    alone: bool = False
    worker: int | None = None
    percent: float = 0.0
    claimed_at: float = 0.0
    progress_at: float = 0.0
    expires: float | None = None
    run_after: float | None = None
    result: Json = None
    ends: dict[int, Ended] = field(default_factory=dict)
    taken_back: bool = False
    """The keeper took it from its worker, and no worker has claimed it since."""
    loss_alone: bool | None = None
    """For a task reclaimed after a loss: whether its worker had run it alone."""

    @property
    def final(self) -> bool:
        return self.status is ERROR and self.run_after is None

    @property
    def order(self) -> tuple[int, TaskKey]:
        """Order by priority, then by age of the job."""
        return -self.priority, self.key

    def move(self, status: TaskStatus, *, by_worker: bool = False, run_after: float | None = None) -> None:
        """Make one transition: raise the version, and record the outcome of an ended run under its token."""
        self.taken_back = False
        if self.status is RUNNING:
            self.ends[self.token] = Ended(status, by_worker)
            self.worker = self.expires = None
        self.status, self.run_after, self.version = status, run_after, self.version + 1

    @property
    def isolated(self) -> bool:
        """Whether it has lost enough workers to run alone; a loss is never undone."""
        return self.lost >= self.spec.isolate_after

    def start(self, worker: int, now: float, *, alone: bool) -> None:
        self.move(RUNNING)
        self.token, self.attempt = self.token + 1, self.attempt + 1
        self.worker, self.alone, self.percent = worker, alone, 0.0
        self.claimed_at = self.progress_at = now
        self.renew(now)

    def renew(self, now: float) -> None:
        limits = [now + self.spec.lease]
        if self.spec.stall_after is not None:
            limits.append(self.progress_at + self.spec.stall_after)
        if self.spec.timeout is not None:
            limits.append(self.claimed_at + self.spec.timeout + BACKSTOP_MARGIN)
        self.expires = min(limits)

    def loss(self, now: float) -> bool:
        """Whether the lease ran out because the worker fell silent, not by a stall or a timeout."""
        limit = backstop(self.spec.timeout)
        timed_out = limit is not None and self.claimed_at + limit <= now
        stalled = self.spec.stall_after is not None and self.progress_at + self.spec.stall_after <= now
        return not timed_out and not stalled

    def give_back(self, *, resting: bool, by_worker: bool = False) -> None:
        """Give the task back without counting an attempt."""
        self.move(NEW if resting else READY, by_worker=by_worker)
        self.attempt -= 1

    def again(self, target: TaskStatus) -> None:
        """Run it again for an operator, with new attempts; an isolated task stays isolated."""
        self.move(target)
        self.max_attempts, self.lost_alone = self.attempt + self.spec.attempts, 0


@dataclass(eq=False)
class RefJob:
    id: int
    graph: Graph
    spec: Json
    priority: int
    phase: str
    status: str = JobStatus.PENDING
    version: int = 1
    opened: dict[int, bool] = field(default_factory=dict)
    """The stages that have been opened at least once; False while one waits to be opened again."""
    tasks: dict[TaskKey, RefTask] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.status == JobStatus.PENDING or self.status in PHASE_ORDER

    def stage(self, number: int) -> list[RefTask]:
        return [task for task in self.tasks.values() if task.key.stage == number]

    def counted(self, number: int) -> tuple[int, int, int, int]:
        """Total, done, skipped, failed."""
        tasks = self.stage(number)
        statuses = [task.status for task in tasks]
        return len(tasks), statuses.count(DONE), statuses.count(SKIPPED), sum(task.final for task in tasks)

    def closed(self, number: int) -> bool:
        """Whether the stages after this one may open."""
        total, done, skipped, failed = self.counted(number)
        satisfied = done + skipped + failed == total and not (failed and self.graph.stages[number].required)
        return self.opened.get(number, False) and satisfied

    def become(self, status: str) -> None:
        self.status, self.version = status, self.version + 1

    def reset_tasks(self, *, stop: bool) -> None:
        """Reset waiting tasks to `new`; with `stop` also running ones, which does not count as an attempt."""
        for task in self.tasks.values():
            if task.status is READY or (task.status is ERROR and not task.final):
                task.move(NEW)
            elif stop and task.status is RUNNING:
                task.give_back(resting=True)

    def advance(self, delay_until: float | None = None) -> None:
        """Open every stage whose predecessors are closed, until none is left; then update the status of the job."""
        if not self.active:
            return
        while openable := self._openable():
            parts = {number: self._parts(number) for number in openable}
            if None in parts.values():
                self.become(JobStatus.FAILED)
                self.reset_tasks(stop=False)
                return
            for number, inputs in parts.items():
                self._open(number, inputs or 0, delay_until)
        unfinished = [stage.phase for number, stage in enumerate(self.graph.stages) if not self.closed(number)]
        if not unfinished:
            self.become(JobStatus.COMPLETED)
            return
        phase = min(unfinished, key=PHASE_ORDER.index)
        if phase != self.phase:
            self.phase = phase
            if self.status != JobStatus.PENDING:
                self.become(phase)

    def reopen(self) -> None:
        """Run unfinished tasks of open stages again."""
        for number in [number for number, is_open in self.opened.items() if is_open and not self.closed(number)]:
            for task in self.stage(number):
                if task.status in (NEW, ERROR):
                    task.again(READY)

    def _openable(self) -> list[int]:
        names = {stage.name: number for number, stage in enumerate(self.graph.stages)}
        return [
            number
            for number, stage in enumerate(self.graph.stages)
            if not self.opened.get(number, False) and all(self.closed(names[name]) for name in stage.after)
        ]

    def _parts(self, number: int) -> int | None:
        each = self.graph.stages[number].each
        if each is None:
            return 1
        root, *path = each.split(".")
        value = self.spec if root == "spec" else self._result(root)
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, list):
            return len(value)
        return value if isinstance(value, int) and value >= 0 else None

    def _result(self, name: str) -> Json:
        number = next(number for number, stage in enumerate(self.graph.stages) if stage.name == name)
        return self.tasks[TaskKey(self.id, number, 0)].result

    def _open(self, number: int, parts: int, delay_until: float | None) -> None:
        self.opened[number] = True
        spec = self.graph.stages[number]
        for part in range(parts):
            key = TaskKey(self.id, number, part)
            if key in self.tasks:
                task = self.tasks[key]
                task.move(READY)
                task.max_attempts = max(task.max_attempts, task.attempt + spec.attempts)
            else:
                first = READY if delay_until is None else NEW
                self.tasks[key] = RefTask(key, spec, self.priority, spec.attempts, status=first, run_after=delay_until)
        for task in self.stage(number):
            if task.key.part >= parts and task.status is NEW:
                task.move(SKIPPED)


@dataclass(eq=False)
class RefWorker:
    id: int
    name: str
    slots: int
    heard: float
    status: WorkerStatus = WorkerStatus.ACTIVE
    version: int = 1

    def become(self, status: WorkerStatus) -> None:
        self.status, self.version = status, self.version + 1


class Reference:
    """All jobs and workers, and every verb."""

    def __init__(self) -> None:
        self.now = 0.0
        self.jobs: dict[int, RefJob] = {}
        self.workers: dict[int, RefWorker] = {}
        self.disabled: set[str] = set()
        self.keys: dict[str, tuple[object, int]] = {}

    def tasks(self) -> list[RefTask]:
        return [task for job in self.jobs.values() for task in job.tasks.values()]

    def known(self, request: object, key: str | None) -> int | None:
        """Return the job that already has this key."""
        if key is None or key not in self.keys:
            return None
        first, job_id = self.keys[key]
        if first != request:
            raise Refused("IdempotencyConflict")
        return job_id

    def submit(self, job: RefJob, *, delay: float, request: object, key: str | None) -> None:
        self.jobs[job.id] = job
        if key is not None:
            self.keys[key] = request, job.id
        job.advance(self.now + delay if delay else None)

    def claim(self, worker_id: int, limit: int) -> list[tuple[TaskKey, int, int]]:
        """Return the (task, token, attempt) that this worker leases, in the order to run them."""
        worker = self.workers[worker_id]
        if worker.name in self.disabled:
            raise Refused("WorkerRefused")
        if worker.status is WorkerStatus.OFFLINE:
            self._heard(worker)
        mine = [task for task in self.tasks() if task.worker == worker_id]
        if worker.status is WorkerStatus.DRAINING or any(task.isolated for task in mine):
            return []
        waiting = sorted((task for task in self.tasks() if task.status is READY), key=lambda task: task.order)
        isolated = [task for task in waiting if task.isolated]
        if isolated and not mine:
            taken, alone = isolated[:1], True
        else:
            taken = [task for task in waiting if not task.isolated][:limit]
            alone = worker.slots == 1 and limit == 1 and not mine
        for task in taken:
            task.start(worker_id, self.now, alone=alone)
        for job in {task.key.job_id: self.jobs[task.key.job_id] for task in taken}.values():
            if job.status == JobStatus.PENDING:
                job.become(job.phase)
        return [(task.key, task.token, task.attempt) for task in taken]

    def report(self, worker_id: int, held: Held, percent: float | None) -> tuple[Verdict, bool]:
        """Return the verdicts, and whether the worker should drain."""
        worker = self.workers[worker_id]
        self._heard(worker)

        def note(task: RefTask) -> None:
            if percent is not None and percent != task.percent:
                task.percent, task.progress_at = percent, self.now
            task.renew(self.now)

        (verdict,) = self._each([held], (), note)
        return verdict, worker.status is WorkerStatus.DRAINING or worker.name in self.disabled

    def complete(self, items: Sequence[tuple[Held, Json, bool]]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for held, result, skipped in items:
            target = SKIPPED if skipped else DONE

            def finish(task: RefTask, target: TaskStatus = target, result: Json = result) -> None:
                if task.taken_back:
                    task.ends[task.token] = Ended(target, by_worker=True)
                    task.lost -= task.loss_alone is not None
                    task.lost_alone -= bool(task.loss_alone)
                task.move(target, by_worker=True)
                task.result = result

            verdicts += self._each([held], [target], finish, late=True)
        self._advance_closed(held[0] for (held, _, _), verdict in zip(items, verdicts, strict=True) if verdict == "ok")
        return verdicts

    def fail(self, items: Sequence[Held], *, retryable: bool, retry_in: float) -> list[Verdict]:
        final: list[RefTask] = []

        def end(task: RefTask) -> None:
            again = retryable and task.attempt < task.max_attempts
            task.move(ERROR, by_worker=True, run_after=self.now + retry_in if again else None)
            if not again:
                final.append(task)

        verdicts = self._each(items, [ERROR], end)
        self._settle(final, poison=())
        return verdicts

    def release(self, items: Sequence[Held]) -> list[Verdict]:
        def back(task: RefTask) -> None:
            task.give_back(resting=not self._job(task).active, by_worker=True)

        return self._each(items, [READY, NEW], back)

    def enable(self, name: str) -> None:
        for worker in self.workers.values():
            if worker.name == name and worker.status is WorkerStatus.DRAINING:
                worker.become(WorkerStatus.ACTIVE)
        self.disabled.discard(name)
        self._edited(name)

    def disable(self, name: str) -> None:
        self.disabled.add(name)
        self._edited(name)
        for task in self.tasks():
            if task.worker is not None and self.workers[task.worker].name == name:
                task.give_back(resting=not self._job(task).active)

    def drain(self, name: str) -> None:
        for worker in self.workers.values():
            if worker.name == name and worker.status is WorkerStatus.ACTIVE:
                worker.become(WorkerStatus.DRAINING)

    def reclaim_workers(self) -> None:
        for worker in self.workers.values():
            if worker.status is not WorkerStatus.OFFLINE and worker.heard < self.now - STALE:
                worker.become(WorkerStatus.OFFLINE)

    def orchestrate(self) -> None:
        """Make due tasks ready; in an inactive job they become `new`."""
        for task in self.tasks():
            if task.run_after is not None and task.run_after <= self.now:
                if self._job(task).active:
                    task.move(READY)
                elif task.status is NEW:
                    task.run_after = None
                else:
                    task.move(NEW)

    def reclaim(self) -> None:
        """Expired leases: back to `ready`, or finally failed; silence while alone, too often, makes a poison task."""
        final: list[RefTask] = []
        poison: list[RefTask] = []
        expired = [task for task in self.tasks() if task.expires is not None and task.expires < self.now]
        for task in sorted(expired, key=lambda task: task.key):
            loss = task.loss(self.now)
            suspicious = loss and task.alone
            exhausted = task.attempt >= task.max_attempts
            too_often = suspicious and task.lost_alone + 1 >= task.spec.max_lost
            task.lost += loss
            task.lost_alone += suspicious
            if not self._job(task).active:
                task.move(NEW)
            elif exhausted or too_often:
                task.move(ERROR)
                final.append(task)
                if too_often or (suspicious and task.lost >= task.spec.max_lost):
                    poison.append(task)
            else:
                task.move(READY)
                task.taken_back, task.loss_alone = True, suspicious if loss else None
        self._settle(final, poison)

    def cancel(self, job_id: int) -> Verdict:
        return self._operate(job_id, JobStatus.CANCELLED, self._cancel_tasks)

    def quarantine(self, job_id: int) -> Verdict:
        return self._operate(job_id, JobStatus.QUARANTINED, lambda job: job.reset_tasks(stop=True))

    def force(self, job_id: int, target: JobStatus) -> Verdict:
        def apply(job: RefJob) -> None:
            if target is JobStatus.COMPLETED:
                self._cancel_tasks(job)
            else:
                job.reset_tasks(stop=True)
            if target is JobStatus.PENDING:
                job.reopen()

        verdict = self._operate(job_id, target, apply)
        if verdict is Verdict.OK and target is JobStatus.PENDING:
            self.jobs[job_id].advance()
        return verdict

    def retry(self, job_id: int, start: tuple[str, tuple[int, int]] | None = None) -> Verdict:
        def apply(job: RefJob) -> None:
            if start is not None:
                self._rewind(job, *start)
            job.reopen()

        if start is None and self.jobs[job_id].active:
            return Verdict.REPEATED
        verdict = self._operate(job_id, JobStatus.PENDING, apply, again=start is not None)
        if verdict is Verdict.OK:
            self.jobs[job_id].advance()
        return verdict

    def _rewind(self, job: RefJob, name: str, parts: tuple[int, int]) -> None:
        number = next(number for number, stage in enumerate(job.graph.stages) if stage.name == name)
        later = self._downstream(job.graph, number)
        if any(task.status is RUNNING for stage in later for task in job.stage(stage)):
            raise Refused("InvalidRequest")
        if number in job.opened and 0 < parts[0] >= len(job.stage(number)):
            raise Refused("InvalidRequest")
        if number not in job.opened and job.active:
            raise Refused("InvalidRequest")
        for stage in later:
            if stage in job.opened:
                job.opened[stage] = False
            for task in job.stage(stage):
                if task.status is not NEW:
                    task.again(NEW)
                task.run_after = None
        for task in job.stage(number):
            if (task.status in (DONE, SKIPPED) or task.final) and parts[0] <= task.key.part <= parts[1]:
                task.again(READY)

    def _downstream(self, graph: Graph, number: int) -> list[int]:
        names = {graph.stages[number].name}
        found = []
        for later, stage in enumerate(graph.stages):
            if names & set(stage.after):
                names.add(stage.name)
                found.append(later)
        return found

    def _operate(
        self, job_id: int, target: JobStatus, apply: Callable[[RefJob], None], *, again: bool = False
    ) -> Verdict:
        job = self.jobs[job_id]
        if job.status == target and not again:
            return Verdict.REPEATED
        if job.status in ENDED or (job.status not in (*AT_REST, JobStatus.PENDING, *PHASE_ORDER)):
            raise Refused("InvalidTransition")
        apply(job)
        job.become(target)
        return Verdict.OK

    def _cancel_tasks(self, job: RefJob) -> None:
        for task in job.tasks.values():
            if task.status in (NEW, READY, RUNNING, ERROR):
                task.move(CANCELLED)

    def _heard(self, worker: RefWorker) -> None:
        worker.heard = self.now
        if worker.status is WorkerStatus.OFFLINE:
            worker.become(WorkerStatus.ACTIVE)

    def _edited(self, name: str) -> None:
        """Record an operation on a worker name for each of its instances that is not offline."""
        for worker in self.workers.values():
            if worker.name == name and worker.status is not WorkerStatus.OFFLINE:
                worker.become(worker.status)

    def _job(self, task: RefTask) -> RefJob:
        return self.jobs[task.key.job_id]

    def _each(
        self,
        items: Iterable[Held],
        targets: Collection[TaskStatus],
        accept: Callable[[RefTask], None],
        *,
        late: bool = False,
    ) -> list[Verdict]:
        """Only a running task under the same token accepts a report; the others are refused with a reason.

        A `late` report is also accepted for a reclaimed task that no worker has claimed since.
        """
        verdicts = []
        for key, token in items:
            job = self.jobs.get(key.job_id)
            task = job.tasks.get(key) if job else None
            verdict = self._verdict(task, token, targets, late=late)
            if verdict is Verdict.OK and task is not None:
                accept(task)
            verdicts.append(verdict)
        return verdicts

    @staticmethod
    def _verdict(task: RefTask | None, token: int, targets: Collection[TaskStatus], *, late: bool) -> Verdict:
        if task is None or token > task.token:
            return Verdict.UNKNOWN
        if token == task.token and (task.status is RUNNING or (late and task.taken_back)):
            return Verdict.OK
        end = task.ends.get(token)
        if end is not None and end.by_worker and end.target in targets:
            return Verdict.REPEATED
        cancelled_since = task.status is CANCELLED and token == task.token
        if cancelled_since or (end is not None and end.target is CANCELLED):
            return Verdict.CANCELLED
        return Verdict.LOST

    def _advance_closed(self, keys: Iterable[TaskKey]) -> None:
        """Jobs in which a stage has nothing left to do move on."""
        for job_id, stage in sorted({key[:2] for key in keys}):
            total, done, skipped, failed = self.jobs[job_id].counted(stage)
            if done + skipped + failed == total:
                self.jobs[job_id].advance()

    def _settle(self, final: Sequence[RefTask], poison: Collection[RefTask]) -> None:
        """A poison task has its job quarantined, a required task fails it, an optional task is skipped."""
        moved: set[int] = set()
        for task in sorted(final, key=lambda task: (task not in poison, task.key)):
            job = self._job(task)
            if job.active and (task in poison or task.spec.required):
                killed = task in poison
                job.become(JobStatus.QUARANTINED if killed else JobStatus.FAILED)
                job.reset_tasks(stop=killed)
                moved.add(job.id)
        self._advance_closed(task.key for task in final if task.key.job_id not in moved)

"""Why a job or a task does not run now: the causes that `claim` and the keeper act on, asked one by one.

The functions here decide; `services/why.py` reads what they are given. A group is the tasks of one stage that wait in
one lane, so a job with 100,000 parts has a handful of reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from reelstate.core.machine import WorkerStatus
from reelstate.core.model import Json
from reelstate.core.outcome import mask_passwords
from reelstate.core.pause import Pause, PauseScope

CAP: Final = 1000
"""Tasks of a group that are counted; a larger group has this many "or more"."""
MAX_NAMES: Final = 5
"""Names of workers in a sentence; the data of a reason has all of them."""
LATE_SWEEP: Final = 60.0
"""Seconds without a sweep after which a reason that waits for a keeper says so."""
MAX_ERROR: Final = 300
"""Characters of an error in a sentence."""
SHORT: Final = 10
UNITS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


class ReasonKind(StrEnum):
    """The cause of a reason."""

    RUNS = "runs"
    READY = "ready"
    STAGE = "stage"
    AFTER = "after"
    AFTER_FAILED = "after_failed"
    DELAYED = "delayed"
    RETRY = "retry"
    DUE = "due"
    PAUSED = "paused"
    RESUMING = "resuming"
    LIMIT = "limit"
    NO_WORKER = "no_worker"
    NEEDS = "needs"
    WORKERS_PAUSED = "workers_paused"
    BUSY = "busy"
    STUCK = "stuck"
    PREFERRED = "preferred"
    ISOLATED = "isolated"
    BEHIND_ISOLATED = "behind_isolated"
    LEASE_EXPIRED = "lease_expired"
    NEXT_STEP = "next_step"
    KEEPER = "keeper"
    FLAGGED = "flagged"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    ARCHIVED = "archived"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One cause, and the tasks that it is about. `tasks` is 0 where it is about the job or a stage as a whole."""

    kind: ReasonKind
    sentence: str
    stage: str | None = None
    part: int | None = None
    """The first part that it is about, in the order of claims."""
    tasks: int = 0
    more: bool = False
    """Whether it is about more tasks than were counted."""
    data: Mapping[str, Json] = field(default_factory=dict)
    """The data of the cause: seconds until, limits, names, ids."""

    @property
    def subject(self) -> str:
        """Return what it is about, such as `encode/3` or `37 tasks of encode`; empty for the job."""
        if self.stage is None:
            return ""
        if self.tasks > 1 or self.more:
            return f"{number(self.tasks, more=self.more)} tasks of {self.stage}"
        return self.stage if self.part is None else f"{self.stage}/{self.part}"

    def __str__(self) -> str:
        return f"{self.subject}: {self.sentence}" if self.subject else self.sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job, a stage or a task does not run now, or that it runs."""

    job_id: int
    stage: str | None
    part: int | None
    status: str
    """The status of the job."""
    at: datetime
    reasons: tuple[Reason, ...]

    @property
    def runs(self) -> bool:
        """Whether a task that was asked about runs under a valid lease."""
        return any(reason.kind is ReasonKind.RUNS for reason in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGroup:
    """Ready tasks of one stage in one lane. `part` is the first of them."""

    stage: str
    lane: int
    isolated: bool
    parked: bool
    needs: frozenset[str]
    prefers: frozenset[str]
    part: int
    tasks: int
    lost: int
    spent: int
    """Tasks without an attempt left."""
    waited: float
    """Seconds for which the first of them is ready."""

    def reason(self, kind: ReasonKind, sentence: str, **data: Json) -> Reason:
        more = self.tasks >= CAP
        return Reason(
            kind=kind, sentence=sentence, stage=self.stage, part=self.part, tasks=self.tasks, more=more, data=data
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingWorker:
    """A worker that serves the pipeline, as `claim` sees it."""

    id: int
    name: str
    status: str
    enabled: bool
    slots: int
    stuck: int
    running: int
    runs_isolated: bool
    capabilities: frozenset[str]
    heard: bool
    """Whether it sent a heartbeat lately."""
    silent: float
    """Seconds since its last heartbeat."""

    @property
    def obstacle(self) -> str:
        """Return why it may not claim, whatever there is to claim; empty where it may."""
        if self.status != WorkerStatus.ACTIVE:
            return str(self.status)
        if not self.enabled:
            return "disabled"
        return "" if self.heard else "silent"

    @property
    def has_room(self) -> bool:
        """Return whether a slot is free that no stuck handler keeps."""
        return self.slots - self.stuck > self.running

    def serves(self, needs: frozenset[str]) -> bool:
        return needs <= self.capabilities


@dataclass(frozen=True, slots=True)
class Situation:
    """What the reasons of ready tasks are decided from."""

    pipeline: str
    user_id: str
    pauses: Sequence[Pause]
    workers: Sequence[ServingWorker]
    gpu_grace: float
    names: bool = True
    """Whether sentences and data may name workers, and not only count them."""

    def pauses_of(self, stage: str) -> list[Pause]:
        """Return the pauses that hold the tasks of a stage; those of workers' names are asked separately."""
        return [pause for pause in self.pauses if self._holds(pause, stage)]

    def _holds(self, pause: Pause, stage: str) -> bool:
        target = pause.target
        match target.scope:
            case PauseScope.ALL:
                return True
            case PauseScope.PIPELINE:
                return target.name == self.pipeline
            case PauseScope.STAGE:
                return (target.name, target.stage) == (self.pipeline, stage)
            case PauseScope.USER:
                return target.name == self.user_id
            case _:
                return False

    @property
    def paused_names(self) -> dict[str, Pause]:
        """Return the pauses of workers, by their name."""
        return {pause.target.name: pause for pause in self.pauses if pause.target.scope is PauseScope.WORKER}

    def candidates(self, group: WaitingGroup) -> list[ServingWorker]:
        """Return the workers that may claim tasks of the group as soon as they have a free slot."""
        paused = self.paused_names
        return [
            worker
            for worker in self.workers
            if not worker.obstacle and worker.serves(group.needs) and worker.name not in paused
        ]

    def worker_names(self, workers: Iterable[ServingWorker]) -> dict[str, Json]:
        """Return the names of workers as data, where they may be named."""
        return {"workers": sorted({worker.name for worker in workers})} if self.names else {}


def paused_reasons(group: WaitingGroup, situation: Situation) -> Iterator[Reason]:
    """Yield a reason for each pause that holds the tasks; where none does and they are parked, that they return."""
    held = situation.pauses_of(group.stage)
    for pause in held:
        yield group.reason(
            ReasonKind.PAUSED,
            str(pause),
            pause=pause.id,
            scope=pause.target.scope,
            reason=pause.reason,
            actor=pause.actor,
            paused_at=pause.paused_at,
        )
    if group.parked and not held:
        yield group.reason(ReasonKind.RESUMING, "its pause was lifted; a keeper returns it to the queue")


@dataclass(frozen=True, slots=True)
class KeyState:
    """A limit that tasks wait for: their key, and what it has admitted."""

    name: str
    key: str
    running: int | None
    admitted: int
    starts: int | None
    started: int
    period: float | None
    retry_in: float | None
    """Seconds until another start of the period may be admitted; None where that is not known."""

    @property
    def full(self) -> bool:
        """Return whether the key admits nothing now."""
        return self._runs_full or self._starts_full

    @property
    def _runs_full(self) -> bool:
        return self.running is not None and self.admitted >= self.running

    @property
    def _starts_full(self) -> bool:
        return self.starts is not None and self.started >= self.starts

    def __str__(self) -> str:
        """Return a text, such as `limit customers=acme 4/4 running`."""
        texts = []
        if self._runs_full:
            texts.append(f"{self.admitted}/{self.running} running")
        if self._starts_full:
            after = "" if self.retry_in is None else f", the next in {span(self.retry_in)}"
            texts.append(f"{self.started}/{self.starts} starts in {span(self.period or 0.0)}{after}")
        return f"limit {self.name}{'=' + self.key if self.key else ''} {' and '.join(texts)}".rstrip()


def limit_reason(group: WaitingGroup, keys: Sequence[KeyState], before: int) -> Reason:
    """Return which limits the tasks wait for; where all have room, that they are the next, or wait for their turn."""
    full = [key for key in keys if key.full]
    data: dict[str, Json] = {"before": before}
    data["limits"] = [
        {"name": key.name, "key": key.key, "running": key.running, "admitted": key.admitted, "starts": key.starts}
        for key in full or keys
    ]
    if full:
        texts = "; ".join(map(str, full[:MAX_NAMES]))
        return group.reason(ReasonKind.LIMIT, f"waits for {texts}{_place(before)}", **data)
    texts = ", ".join(str(key) for key in keys[:MAX_NAMES])
    sentence = f"waits for its turn under {texts}; admitted when a worker asks for more{_place(before)}"
    return group.reason(ReasonKind.LIMIT, sentence, **data)


def unserved_reason(group: WaitingGroup, situation: Situation) -> Reason | None:
    """Return why no worker can run the tasks, however few others run; None where one can."""
    live = [worker for worker in situation.workers if not worker.obstacle]
    if not live:
        others = _others(situation.workers, situation)
        text = f"no live worker serves pipeline {situation.pipeline}"
        return group.reason(
            ReasonKind.NO_WORKER,
            f"{text} ({others})" if others else text,
            pipeline=situation.pipeline,
            **_obstacles(situation.workers, situation),
        )
    able = [worker for worker in live if worker.serves(group.needs)]
    if not able:
        could = [worker for worker in situation.workers if worker.serves(group.needs)]
        needs = ", ".join(sorted(group.needs))
        others = _others(could, situation)
        return group.reason(
            ReasonKind.NEEDS,
            f"no live worker has {needs}" + (f" ({others})" if others else ""),
            needs=sorted(group.needs),
            could=len(could),
            **_obstacles(could, situation),
        )
    paused = situation.paused_names
    if all(worker.name in paused for worker in able):
        pauses = {worker.name: paused[worker.name] for worker in able}
        texts = "; ".join(str(pause) for pause in list(pauses.values())[:MAX_NAMES])
        text = texts if situation.names else _workers(len(able)) + " could run it, paused by their names"
        ids = sorted(pause.id for pause in pauses.values())
        return group.reason(
            ReasonKind.WORKERS_PAUSED,
            f"every worker that could run it is paused: {text}",
            pauses=ids,
            **situation.worker_names(able),
        )
    return None


def slot_reasons(group: WaitingGroup, situation: Situation, before: int) -> Iterator[Reason]:
    """Yield why the workers that can run the tasks do not claim them now, or that one should at its next claim.

    `before` is the number of ready tasks that they claim first.
    """
    candidates = situation.candidates(group)
    place = {"before": before, **situation.worker_names(candidates)}
    lost = f"it has lost {_workers(group.lost)} and runs alone on one"
    if group.isolated:
        eligible = [worker for worker in candidates if not worker.running]
    else:
        eligible = [worker for worker in candidates if worker.has_room and not worker.runs_isolated]
    if not eligible and group.isolated:
        sentence = f"isolated: {lost}; {_workers(len(candidates))} could run it, none of them is empty"
        yield group.reason(ReasonKind.ISOLATED, sentence, lost=group.lost, **place)
        return
    if not eligible:
        yield from _full_reasons(group, situation, candidates, before)
        return
    left = situation.gpu_grace - group.waited
    better = [worker for worker in candidates if worker.has_room and group.prefers <= worker.capabilities]
    if group.prefers and better and left > 0 and not all(group.prefers <= worker.capabilities for worker in eligible):
        wanted = ", ".join(sorted(group.prefers))
        yield group.reason(
            ReasonKind.PREFERRED,
            f"kept for {span(left)} for {_named(better, situation)}, with {wanted}; then others may run it",
            prefers=sorted(group.prefers),
            seconds=left,
            **{**place, **situation.worker_names(better)},
        )
        return
    since = f"ready for {span(group.waited)}"
    detail = f", isolated: {lost}; an empty" if group.isolated else "; a"
    sentence = f"{since}{detail} worker should claim it next{_place(before)}"
    yield group.reason(ReasonKind.READY, sentence, seconds=group.waited, free=len(eligible), **place)


def _full_reasons(
    group: WaitingGroup, situation: Situation, candidates: Sequence[ServingWorker], before: int
) -> Iterator[Reason]:
    """Yield why none of the candidates has a slot: other work, stuck handlers, isolated tasks."""
    stuck = [worker for worker in candidates if worker.stuck and worker.slots > worker.running]
    alone = [worker for worker in candidates if worker.runs_isolated]
    busy = [worker for worker in candidates if worker not in stuck and worker not in alone]
    if busy:
        slots = sum(worker.slots for worker in busy)
        running = sum(worker.running for worker in busy)
        yield group.reason(
            ReasonKind.BUSY,
            f"{_workers(len(busy))} could run it, with {_plural(slots, 'slot')}, all busy{_place(before)}",
            slots=slots,
            running=running,
            before=before,
            **situation.worker_names(busy),
        )
    if stuck:
        handlers = sum(worker.stuck for worker in stuck)
        yield group.reason(
            ReasonKind.STUCK,
            f"{_named(stuck, situation)} could run it, but {_plural(handlers, 'handler')} that did not stop hold the "
            "free slots: restart it",
            stuck=handlers,
            before=before,
            **situation.worker_names(stuck),
        )
    if alone:
        yield group.reason(
            ReasonKind.BEHIND_ISOLATED,
            f"{_named(alone, situation)} could run it, but runs an isolated task and nothing beside it",
            before=before,
            **situation.worker_names(alone),
        )


def spent_reason(group: WaitingGroup) -> Reason:
    """Return that the database refuses to lease tasks, because their row contradicts itself."""
    return group.reason(
        ReasonKind.UNREADABLE,
        "ready without an attempt left, so it can't be leased: run `reel doctor`",
        spent=group.spent,
    )


def error_text(error: Json) -> str:
    """Return the message of an error in one line, with its type unless that says nothing."""
    cause = error.get("cause", error) if isinstance(error, dict) else error
    if isinstance(cause, dict):
        message, kind = str(cause.get("message") or cause), cause.get("type")
        text = message if kind in {None, "Fail", "Retry", "lost", message} else f"{kind}: {message}"
    else:
        text = "no error was recorded" if cause is None else str(cause)
    line = mask_passwords(" ".join(text.encode("utf-8", "replace").decode().split()))
    return line if len(line) <= MAX_ERROR else f"{line[: MAX_ERROR - 1]}…"


def number(count: int, *, more: bool) -> str:
    """Return a number, and that it may be larger."""
    return f"{count:,} or more" if more else f"{count:,}"


def span(seconds: float) -> str:
    """Return a duration in at most two units."""
    if seconds < SHORT:
        return f"{max(0.0, seconds):.1f} s".replace(".0 s", " s")
    remainder, pieces = round(seconds), []
    for unit, size in UNITS:
        count, remainder = divmod(remainder, size)
        if count:
            pieces.append(f"{count} {unit}")
    return " ".join(pieces[:2])


def _place(before: int) -> str:
    if not before:
        return ""
    return f"; {number(before, more=before >= CAP)} task{'' if before == 1 else 's'} before it"


def _workers(count: int) -> str:
    return _plural(count, "worker")


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _named(workers: Collection[ServingWorker], situation: Situation) -> str:
    if not situation.names:
        return _workers(len(workers))
    names = sorted({worker.name for worker in workers})
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _others(workers: Sequence[ServingWorker], situation: Situation) -> str:
    """Return the workers that could run the tasks if they might claim, by why they may not."""
    if not workers:
        return ""
    counts: dict[str, list[ServingWorker]] = {}
    for worker in workers:
        counts.setdefault(worker.obstacle or "active", []).append(worker)
    shown = [
        f"{len(some)} {obstacle}" + (f": {_named(some, situation)}" if situation.names else "")
        for obstacle, some in sorted(counts.items())
    ]
    return f"{len(workers)} could: " + "; ".join(shown)


def _obstacles(workers: Iterable[ServingWorker], situation: Situation) -> dict[str, Json]:
    counts: dict[str, int] = {}
    found = list(workers)
    for worker in found:
        key = worker.obstacle or "active"
        counts[key] = counts.get(key, 0) + 1
    return {"obstacles": counts, **situation.worker_names(found)}

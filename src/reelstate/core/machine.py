"""The state machines of job, task and worker as data: which transitions exist, and which actors may make them.

The Python check below, the guards in both databases, the diagrams, the tables in the documentation and the exhaustive
tests are generated from this declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final, Literal, TypeAlias

from reelstate.core.errors import InvalidTransition


class Actor(StrEnum):
    """A role that changes state. On a row or an event it may be followed by a name: `operator:ada`."""

    USER = "user"
    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    KEEPER = "keeper"
    OPERATOR = "operator"
    DOCTOR = "doctor"


SQL_ACTOR = "sql"
"""The actor of manual SQL in psql or sqlite3. It may make any declared transition."""


class JobStatus(StrEnum):
    """The status of a job."""

    PENDING = "pending"
    VALIDATING = "validating"
    PLANNING = "planning"
    DOWNLOADING_INPUTS = "downloading_inputs"
    PROCESSING = "processing"
    UPLOADING_OUTPUTS = "uploading_outputs"
    COMPLETED = "completed"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"


class TaskStatus(StrEnum):
    """The status of a task."""

    NEW = "new"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class WorkerStatus(StrEnum):
    """The lifecycle status of a worker instance."""

    ACTIVE = "active"
    DRAINING = "draining"
    OFFLINE = "offline"


class UnknownStatus(str):
    """A stored status that this version does not know. It is shown, and no verb changes its row."""

    __slots__ = ()

    @property
    def value(self) -> str:
        return str(self)


Phase: TypeAlias = Literal[
    "validating",
    "planning",
    "downloading_inputs",
    "processing",
    "uploading_outputs",
    JobStatus.VALIDATING,
    JobStatus.PLANNING,
    JobStatus.DOWNLOADING_INPUTS,
    JobStatus.PROCESSING,
    JobStatus.UPLOADING_OUTPUTS,
]
"""A phase in a declaration: its name or its status."""
PHASES = (
    JobStatus.VALIDATING,
    JobStatus.PLANNING,
    JobStatus.DOWNLOADING_INPUTS,
    JobStatus.PROCESSING,
    JobStatus.UPLOADING_OUTPUTS,
)
"""The statuses of a running job, in order; a job only moves forward."""

ACTIVE_JOBS = (JobStatus.PENDING, *PHASES)
ANY_PHASE: Final = "running"
"""The name of all phases in a filter."""
STOPPED_JOBS = (JobStatus.FAILED, JobStatus.QUARANTINED)
FINISHED_JOBS = (JobStatus.COMPLETED, JobStatus.CANCELLED)
INACTIVE_JOBS = (*STOPPED_JOBS, *FINISHED_JOBS)


def job_statuses(names: Iterable[str] | None) -> list[JobStatus] | None:
    """Return the distinct statuses that a filter names; `running` names all phases, None is no filter."""
    found = [status for name in names or () for status in (PHASES if name == ANY_PHASE else (JobStatus(name),))]
    return list(dict.fromkeys(found)) or None


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition and the actors that may make it."""

    origin: str
    target: str
    actors: frozenset[Actor]


@dataclass(frozen=True)
class Machine:
    """The states of an entity, the states of new rows, and its transitions."""

    entity: str
    states: tuple[str, ...]
    initial_states: tuple[str, ...]
    transitions: tuple[Transition, ...]

    @cached_property
    def _actors(self) -> dict[tuple[str, str], frozenset[Actor]]:
        return {(transition.origin, transition.target): transition.actors for transition in self.transitions}

    @cached_property
    def terminal(self) -> tuple[str, ...]:
        """The states without a transition to another."""
        left = {transition.origin for transition in self.transitions}
        return tuple(state for state in self.states if state not in left)

    def who_may(self, origin: str, target: str) -> frozenset[Actor]:
        """Return the actors that may move an entity from `origin` to `target`."""
        return self._actors.get((origin, target), frozenset())

    def allows(self, origin: str, target: str, actor: str) -> bool:
        """Whether an actor may make a transition. Staying in a known state is always allowed."""
        if origin == target:
            return origin in self.states
        role = actor.partition(":")[0]
        if role == SQL_ACTOR:
            return bool(self.who_may(origin, target))
        return role in self.who_may(origin, target)

    def validate(self, origin: str, target: str, actor: str) -> bool:
        """Return whether the state changes; raises `InvalidTransition` if the actor may not make the transition."""
        if not self.allows(origin, target, actor):
            raise InvalidTransition(self.entity, origin, target, actor, who_may=sorted(self.who_may(origin, target)))
        return origin != target

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Yield every allowed (origin, target, actor), in the order of declaration."""
        for transition in self.transitions:
            for actor in sorted(transition.actors):
                yield transition.origin, transition.target, actor


def _machine(entity: str, states: type[StrEnum], initial_states: Iterable[str], rules: Iterable[_Rule]) -> Machine:
    actors: dict[tuple[str, str], frozenset[Actor]] = {}
    for origins, targets, who in rules:
        for origin in origins:
            for target in targets:
                if origin != target:
                    actors[origin, target] = actors.get((origin, target), frozenset()) | frozenset(who)
    return Machine(
        entity,
        tuple(states),
        tuple(initial_states),
        tuple(Transition(origin, target, who) for (origin, target), who in actors.items()),
    )


_Rule = tuple[Iterable[str], Iterable[str], Iterable[Actor]]


def _job_machine() -> Machine:
    at_work = [JobStatus.PENDING, *PHASES]
    forceable = [*at_work, *STOPPED_JOBS]
    rules: list[_Rule] = [
        ([JobStatus.PENDING], PHASES, [Actor.WORKER]),
        # A job whose fan-outs are all empty has no task to claim and shows no phase.
        (at_work, [JobStatus.COMPLETED], [Actor.ORCHESTRATOR]),
    ]
    rules += [([phase], PHASES[index + 1 :], [Actor.ORCHESTRATOR]) for index, phase in enumerate(PHASES)]
    rules += [
        (at_work, [JobStatus.FAILED], [Actor.ORCHESTRATOR, Actor.KEEPER]),
        (at_work, [JobStatus.QUARANTINED], [Actor.KEEPER, Actor.DOCTOR, Actor.OPERATOR]),
        ([JobStatus.FAILED], [JobStatus.QUARANTINED], [Actor.DOCTOR, Actor.OPERATOR]),
        ([JobStatus.FAILED], [JobStatus.PENDING], [Actor.USER, Actor.OPERATOR]),
        (forceable, [JobStatus.CANCELLED], [Actor.USER, Actor.OPERATOR]),
        # What a job waits for has failed, and it was submitted to be cancelled then.
        ([JobStatus.PENDING], [JobStatus.CANCELLED], [Actor.ORCHESTRATOR]),
        (forceable, [JobStatus.PENDING, JobStatus.FAILED, JobStatus.COMPLETED], [Actor.OPERATOR]),
    ]
    return _machine("job", JobStatus, [JobStatus.PENDING], rules)


def _task_machine() -> Machine:
    new, ready, running = TaskStatus.NEW, TaskStatus.READY, TaskStatus.RUNNING
    done, error, skipped, cancelled = (
        TaskStatus.DONE,
        TaskStatus.ERROR,
        TaskStatus.SKIPPED,
        TaskStatus.CANCELLED,
    )
    people = [Actor.USER, Actor.OPERATOR]
    rules: list[_Rule] = [
        ([new], [ready], [Actor.ORCHESTRATOR, *people]),
        ([new], [skipped], [Actor.ORCHESTRATOR]),
        ([ready], [running], [Actor.WORKER]),
        ([ready], [new], [Actor.ORCHESTRATOR, Actor.KEEPER, Actor.DOCTOR, *people]),
        ([running], [done, error, skipped], [Actor.WORKER]),
        # A result that arrives after the keeper reclaimed the task and before another worker claimed it.
        ([ready], [done, skipped], [Actor.WORKER]),
        ([running], [error], [Actor.KEEPER]),
        ([running], [ready], [Actor.WORKER, Actor.KEEPER, Actor.OPERATOR, Actor.DOCTOR]),
        ([running], [new], [Actor.WORKER, Actor.KEEPER, Actor.OPERATOR, Actor.DOCTOR]),
        ([error], [ready], [Actor.ORCHESTRATOR, *people]),
        ([error], [new], [Actor.ORCHESTRATOR, Actor.KEEPER, Actor.DOCTOR, *people]),
        # Retry from a stage: its parts become ready, the stages after it wait for them.
        ([done, skipped], [ready, new], people),
        ([new, ready, running, error], [cancelled], people),
        ([running], [cancelled], [Actor.KEEPER]),
    ]
    return _machine("task", TaskStatus, [new, ready], rules)


def _worker_machine() -> Machine:
    active, draining, offline = WorkerStatus.ACTIVE, WorkerStatus.DRAINING, WorkerStatus.OFFLINE
    rules: list[_Rule] = [
        ([active], [draining], [Actor.WORKER, Actor.OPERATOR]),
        ([draining], [active], [Actor.OPERATOR]),
        ([active, draining], [offline], [Actor.WORKER, Actor.KEEPER]),
        ([offline], [active], [Actor.WORKER]),
    ]
    return _machine("worker", WorkerStatus, [active], rules)


JOB = _job_machine()
TASK = _task_machine()
WORKER = _worker_machine()
MACHINES = {machine.entity: machine for machine in (JOB, TASK, WORKER)}

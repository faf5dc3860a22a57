"""The engine against the reference: the same requests, in any order, repeated, late or lost, end in the same state."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from reelstate.core.errors import ReelstateError
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, Event, Failure, Json, Progress, Release, TaskKey, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.policy import Backoff
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.engines import FakeClock, engine_at
from tests.model.reference import AT_REST, Held, Reference, RefJob, RefTask, Refused, RefWorker
from tests.postgres import PostgresServer

T = TypeVar("T")
Databases = Callable[[], Any]
"""Gives a context manager around the address of an empty database."""

AT_ONCE = Backoff(base=0.0, cap=0.0)
GRAPHS = {
    graph.name: graph
    for graph in (
        Graph.of("single", [StageSpec(name="main", attempts=2, backoff=AT_ONCE, max_lost=2)]),
        Graph.of(
            "video",
            [
                StageSpec(name="plan", phase=JobStatus.PLANNING, attempts=5),
                StageSpec(name="work", after=("plan",), each="plan.items", attempts=1, lease=30.0),
                StageSpec(name="pack", after=("work",), phase=JobStatus.UPLOADING_OUTPUTS),
            ],
        ),
        Graph.of(
            "join",
            [
                StageSpec(name="left", attempts=2, lease=30.0, stall_after=45.0, timeout=100.0),
                StageSpec(name="right", attempts=1, required=False, phase=JobStatus.VALIDATING),
                StageSpec(name="both", after=("left", "right")),
            ],
        ),
        Graph.of(
            "chain",
            [
                StageSpec(name="split", each="spec.parts", max_lost=1),
                StageSpec(name="merge", after=("split",), required=False, attempts=1),
                StageSpec(name="show", after=("merge",), each="spec.shows"),
            ],
        ),
    )
}
PLANS: list[Json] = [{"items": [1]}, {"items": 2}, {"items": ["a", "b", "c"]}, {"items": []}, {"items": "all"}, None]
WORKERS = {"ada": 1, "bob": 4, "cyd": 4}
MAX_JOBS = 6
SOME = st.integers(0, 200)
RECENT = st.one_of(st.integers(0, 4), st.integers(0, 4), SOME)
"""Of those remembered, mostly the latest."""


class EngineMachine(RuleBasedStateMachine):
    """Every rule does the same to the engine and to the reference, and compares the answers; then the states."""

    databases: ClassVar[Databases]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = ExitStack()
        self.opened = AsyncExitStack()
        self.clock = FakeClock()
        self.began = self.clock.now
        self.reference = Reference()
        self.held: list[tuple[int, Held]] = []
        """Every (worker, (task, token)) that a worker remembers, however old."""
        self.touched: set[int] = set()
        try:
            url = self.stack.enter_context(type(self).databases())
            self.engine: Engine = self.run(
                self.opened.enter_async_context(engine_at(url, self.clock, list(GRAPHS.values())))
            )
            for name, slots in WORKERS.items():
                self.register(name, slots)
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def register(self, name: str, slots: int) -> None:
        worker = self.run(self.engine.register(name, hostname="h", software="test", slots=slots))
        self.reference.workers[worker] = RefWorker(worker, name, slots, heard=self.reference.now)

    # -- requests

    @initialize(
        jobs=st.lists(st.tuples(st.sampled_from(sorted(GRAPHS)), st.integers(0, 3)), min_size=2, max_size=4),
        limits=st.lists(st.integers(0, 3), min_size=len(WORKERS), max_size=len(WORKERS)),
    )
    def begin(self, jobs: list[tuple[str, int]], limits: list[int]) -> None:
        """A morning like any other: some jobs, some of them begun."""
        for name, parts in jobs:
            self.submit(name, parts, priority=5, delay=0.0, key=None)
        for number, limit in enumerate(limits):
            if limit:
                self.claim(number, limit, answer_lost=False)

    @precondition(lambda self: len(self.reference.jobs) < MAX_JOBS)
    @rule(
        name=st.sampled_from(sorted(GRAPHS)),
        parts=st.integers(0, 3),
        priority=st.sampled_from([5, 5, 8]),
        delay=st.sampled_from([0.0, 0.0, 0.0, 20.0]),
        key=st.sampled_from([None, None, "a", "b"]),
    )
    def submit(self, name: str, parts: int, priority: int, delay: float, key: str | None) -> None:
        spec = {"parts": list(range(parts)), "shows": parts}
        request = (name, parts, priority, delay)
        options: dict[str, Any] = {"priority": priority, "delay": delay, "idempotency_key": key}
        expected = self.expect(lambda: self.reference.known(request, key))
        answer = self.ask(self.engine.submit(name, spec, **options))
        if isinstance(expected, str):
            assert answer == expected
        elif expected is not None:
            assert (answer.job_id, answer.verdict) == (expected, Verdict.REPEATED)
        else:
            assert answer.verdict is Verdict.OK
            graph = GRAPHS[name]
            phase = min((s.phase for s in graph.stages), key=list(JobStatus).index)
            job = RefJob(answer.job_id, graph, spec, priority, phase)
            self.reference.submit(job, delay=delay, request=request, key=key)
            self.touched.add(job.id)
        self.compare()

    def submit_nothing_to_fan_out_over(self) -> None:
        assert self.ask(self.engine.submit("chain", {"parts": "many"})) == "InvalidRequest"
        self.compare()

    @rule(worker=SOME, limit=st.integers(1, 4), answer_lost=st.sampled_from([False, False, False, True]))
    def claim(self, worker: int, limit: int, answer_lost: bool) -> None:
        self._claim(self.worker(worker), limit, remember=not answer_lost)
        self.compare()

    @rule(worker=SOME, limit=st.integers(1, 4), plan=st.sampled_from(PLANS), rounds=st.integers(1, 3))
    def work(self, worker: int, limit: int, plan: Json, rounds: int) -> None:
        """The good day: claim, and complete it all."""
        worker_id = self.worker(worker)
        for _ in range(rounds):
            claimed = self._claim(worker_id, limit, remember=True)
            self._complete([(held, plan, False) for held in claimed])
            self.compare()

    @precondition(lambda self: self.held)
    @rule(
        picks=st.lists(RECENT, min_size=1, max_size=3, unique=True),
        plan=st.sampled_from(PLANS),
        skipped=st.sampled_from([False, False, True]),
        times=st.sampled_from([1, 1, 2]),
    )
    def complete(self, picks: list[int], plan: Json, skipped: bool, times: int) -> None:
        """Of tasks held now or long ago; asked twice when the first answer was lost on its way."""
        items = list({self.pick(pick)[1]: None for pick in picks})
        for _ in range(times):
            self._complete([(held, plan, skipped) for held in items])
        self.compare()

    @precondition(lambda self: self.held)
    @rule(
        picks=st.lists(RECENT, min_size=1, max_size=2, unique=True),
        retryable=st.sampled_from([True, True, False]),
        retry_in=st.sampled_from([0.0, 5.0, 60.0]),
        times=st.sampled_from([1, 1, 2]),
    )
    def fail(self, picks: list[int], retryable: bool, retry_in: float, times: int) -> None:
        items = list({self.pick(pick)[1]: None for pick in picks})
        for _ in range(times):
            self.touch(items)
            failures = [
                Failure(key=key, token=token, error="no", retryable=retryable, retry_in=retry_in)
                for key, token in items
            ]
            expected = self.reference.fail(items, retryable=retryable, retry_in=retry_in)
            assert self.run(self.engine.fail(failures)) == expected
        self.compare()

    @precondition(lambda self: self.held)
    @rule(pick=RECENT, times=st.sampled_from([1, 1, 2]))
    def release(self, pick: int, times: int) -> None:
        _, held = self.pick(pick)
        self.touch([held])
        for _ in range(times):
            expected = self.reference.release([held])
            assert self.run(self.engine.release([Release(key=held[0], token=held[1])])) == expected
        self.compare()

    @precondition(lambda self: self.held)
    @rule(pick=RECENT, percent=st.sampled_from([None, 10.0, 60.0]))
    def report(self, pick: int, percent: float | None) -> None:
        worker, (key, token) = self.pick(pick)
        self.touch([(key, token)])
        expected = self.reference.report(worker, (key, token), percent)
        answer = self.run(self.engine.report(worker, [Progress(key=key, token=token, percent=percent)]))
        assert (answer.verdicts, answer.drain) == ([expected[0]], expected[1])
        self.compare()

    def speak_under_a_token_never_given(self, pick: int) -> None:
        if not self.held:
            return
        _, (key, _) = self.pick(pick)
        token = self.reference.jobs[key.job_id].tasks[key].token + 1
        self._complete([((key, token), None, False)])
        self._complete([((TaskKey(key.job_id, 99, 0), 1), None, False)])
        self.compare()

    def crash(self, worker: int) -> None:
        """The worker is gone with all it knew; only time frees what it held. Another instance starts."""
        worker_id = self.worker(worker)
        self.held = [item for item in self.held if item[0] != worker_id]
        name = self.reference.workers[worker_id].name
        if name not in self.reference.disabled:
            self.register(name, WORKERS[name])
        self.compare()

    @rule(
        seconds=st.sampled_from([0, 1, 6, 21, 31, 46, 61, 101]),
        verbs=st.sampled_from(["", "orchestrate reclaim", "reclaim orchestrate", "reclaim", "orchestrate"]),
    )
    def time_passes(self, seconds: int, verbs: str) -> None:
        """The clock jumps, and the keeper comes by, or not yet."""
        self.clock.advance(seconds)
        self.reference.now += seconds
        for verb in verbs.split():
            self.run(getattr(self.engine, verb)())
            getattr(self.reference, verb)()
            self.touched |= self.reference.jobs.keys()
        self.compare()

    @rule(seconds=st.sampled_from([31, 61, 101]))
    def silence(self, seconds: int) -> None:
        """Leases run out and are taken back."""
        self.time_passes(seconds, "reclaim orchestrate")
        self.run(self.engine.reclaim_workers())
        self.reference.reclaim_workers()
        self.compare_workers()

    @rule(pick=SOME, what=st.sampled_from(["crash", "command", "command", "fan_out", "token", "reading"]))
    def rarely(self, pick: int, what: str) -> None:
        """What happens once a day, in one rule, so that it does not crowd out the rest."""
        if what == "crash":
            self.crash(pick)
        elif what == "command":
            self.command_workers(sorted(WORKERS)[pick % 3], ["disable", "drain", "enable", "enable"][pick // 3 % 4])
        elif what == "fan_out":
            self.submit_nothing_to_fan_out_over()
        elif what == "token":
            self.speak_under_a_token_never_given(pick)
        else:
            self.act_on_an_old_reading(pick)

    # -- people

    @rule(pick=SOME, verb=st.sampled_from(["cancel", "retry", "retry", "quarantine", "pending", "failed", "completed"]))
    def operate(self, pick: int, verb: str) -> None:
        """cancel, retry, quarantine, or force to a status."""
        job_id = self.job(pick)
        engine, reference = self.engine, self.reference
        if verb == "cancel":
            self.both(job_id, lambda: reference.cancel(job_id), engine.cancel(job_id))
        elif verb == "retry":
            self.both(job_id, lambda: reference.retry(job_id), engine.retry(job_id))
        elif verb == "quarantine":
            self.both(job_id, lambda: reference.quarantine(job_id), engine.quarantine(job_id, reason="look"))
        else:
            status = JobStatus(verb)
            request = engine.force(job_id, status, reason="so be it")
            self.both(job_id, lambda: reference.force(job_id, status), request)

    @rule(pick=SOME)
    def retry_what_rests(self, pick: int) -> None:
        resting = [job.id for job in self.reference.jobs.values() if job.status in AT_REST]
        if resting:
            job_id = resting[pick % len(resting)]
            self.both(job_id, lambda: self.reference.retry(job_id), self.engine.retry(job_id))

    @rule(pick=SOME, stage=SOME, first=st.integers(0, 2), more=st.sampled_from([0, 9, 9]))
    def retry_from(self, pick: int, stage: int, first: int, more: int) -> None:
        job_id = self.job(pick)
        stages = self.reference.jobs[job_id].graph.stages
        name, parts = stages[stage % len(stages)].name, (first, first + more)
        self.both(
            job_id,
            lambda: self.reference.retry(job_id, (name, parts)),
            self.engine.retry(job_id, start=From(name, parts)),
        )

    def act_on_an_old_reading(self, pick: int) -> None:
        job_id = self.job(pick)
        stale = self.reference.jobs[job_id].version + 1
        assert self.ask(self.engine.cancel(job_id, version=stale)) == "VersionConflict"
        self.touched.add(job_id)
        self.compare()

    def command_workers(self, name: str, verb: str) -> None:
        self.run(getattr(self.engine, verb)(name))
        getattr(self.reference, verb)(name)
        self.touched |= self.reference.jobs.keys()
        self.compare()
        self.compare_workers()

    # -- how

    def _claim(self, worker_id: int, limit: int, *, remember: bool) -> list[Held]:
        expected = self.expect(lambda: self.reference.claim(worker_id, limit))
        answer = self.ask(self.engine.claim(worker_id, limit))
        if isinstance(expected, str):
            assert answer == expected
            return []
        assert not isinstance(answer, str), answer
        assert [(task.key, task.token, task.attempt) for task in answer.tasks] == expected
        claimed = [(task.key, task.token) for task in answer.tasks]
        self.touch(claimed)
        if remember:
            self.held += [(worker_id, held) for held in claimed]
        return claimed

    def _complete(self, items: list[tuple[Held, Json, bool]]) -> None:
        self.touch([held for held, _, _ in items])
        completions = [
            Completion(key=key, token=token, result=result, skipped=skipped) for (key, token), result, skipped in items
        ]
        expected = self.reference.complete(items)
        assert self.run(self.engine.complete(completions)) == expected

    def both(self, job_id: int, says: Callable[[], Verdict], does: Coroutine[Any, Any, Verdict]) -> None:
        expected = self.expect(says)
        assert self.ask(does) == expected
        self.touched.add(job_id)
        self.compare()

    def expect(self, says: Callable[[], T]) -> T | str:
        try:
            return says()
        except Refused as refused:
            return refused.why

    def ask(self, request: Coroutine[Any, Any, Any]) -> Any:
        """The answer, or the name of the error."""
        try:
            return self.run(request)
        except ReelstateError as error:
            return type(error).__name__ if error.hint else f"{error!r} without a hint"

    def worker(self, number: int) -> int:
        ids = sorted(self.reference.workers)
        return ids[-1 - number % len(ids)]

    def job(self, number: int) -> int:
        ids = sorted(self.reference.jobs)
        return ids[-1 - number % len(ids)]

    def pick(self, number: int) -> tuple[int, Held]:
        return self.held[-1 - number % len(self.held)]

    def touch(self, items: list[Held]) -> None:
        self.touched |= {key.job_id for key, _ in items} & self.reference.jobs.keys()

    # -- the same state?

    def compare(self) -> None:
        """Every job; the tasks of those that the last request was about, or that have changed."""
        self.run(self._compare(self.touched))
        self.touched = set()

    async def _compare(self, closely: set[int]) -> None:
        jobs = {job.id: job for job in (await self.engine.jobs(limit=100)).items}
        reference = self.reference.jobs
        assert {i: (str(job.status), str(job.phase), job.version) for i, job in jobs.items()} == {
            i: (str(job.status), str(job.phase), job.version) for i, job in reference.items()
        }
        for job_id in closely:
            tasks = {task.key: _seen(task, self.began) for task in (await self.engine.tasks(job_id)).items}
            assert tasks == {key: _wanted(task) for key, task in reference[job_id].tasks.items()}
            for stage in (await self.engine.job(job_id)).stages:
                counted = (stage.total, stage.done, stage.skipped, stage.failed)
                assert counted == reference[job_id].counted(stage.stage), stage

    def compare_workers(self) -> None:
        found = {worker.id: (worker.status, worker.version) for worker in self.run(self.engine.workers())}
        assert found == {worker.id: (worker.status, worker.version) for worker in self.reference.workers.values()}

    async def _replay(self) -> None:
        """The record alone gives every row."""
        for job_id, job in self.reference.jobs.items():
            events: list[Event] = []
            after = None
            while True:
                page = await self.engine.history(job_id, after=after)
                events += page.items
                if page.after is None:
                    break
                after = page.after
            assert _replayed(events, "job", -1, -1, first_version=1) == (job.version, job.status)
            for key, task in job.tasks.items():
                replayed = _replayed(events, "task", key.stage, key.part, first_version=2)
                assert replayed in ((task.version, task.status), None if task.version == 1 else ())

    def teardown(self) -> None:
        try:
            self.run(self._compare(set(self.reference.jobs)))
            self.compare_workers()
            self.run(self._replay())
            diagnosis = self.run(self.engine.doctor())
            assert diagnosis.healthy, diagnosis.findings
        finally:
            self.close()

    def close(self) -> None:
        with self.stack, self.runner:
            self.run(self.opened.aclose())


def _seen(task: Any, began: Any) -> tuple[Any, ...]:
    expires = task.lease_expires_at and (task.lease_expires_at - began).total_seconds()
    due = task.run_after and (task.run_after - began).total_seconds()
    numbers = (task.token, task.attempt, task.max_attempts, task.lost, task.version)
    return (
        task.status,
        *numbers,
        task.worker_id,
        expires,
        due,
        task.result if task.status is TaskStatus.DONE else None,
    )


def _wanted(task: RefTask) -> tuple[Any, ...]:
    numbers = (task.token, task.attempt, task.max_attempts, task.lost, task.version)
    result = task.result if task.status is TaskStatus.DONE else None
    return (task.status, *numbers, task.worker, task.expires, task.run_after, result)


def _replayed(events: list[Event], entity: str, stage: int, part: int, *, first_version: int) -> tuple[int, str] | None:
    """The version and status to which an entity's events lead; they must follow each other without a gap."""
    state = None
    place = (None if stage < 0 else stage, None if part < 0 else part)
    mine = sorted(
        (event for event in events if event.entity == entity and (event.stage_number, event.part) == place),
        key=lambda event: event.version,
    )
    for number, event in enumerate(mine, start=first_version):
        assert event.version == number, (entity, place, "gap before", event)
        assert state is None or event.origin == state[1], (entity, place, "broken at", event)
        state = event.version, event.target
    return state


@pytest.fixture
def databases(request: pytest.FixtureRequest, dialect: str) -> Databases:
    """An empty database for every example: a copy costs less than wiping one."""
    if dialect == "sqlite":
        return _sqlite_database
    server: PostgresServer = request.getfixturevalue("postgres_server")
    template: str = request.getfixturevalue("migrated_template")

    @contextmanager
    def copied() -> Iterator[str]:
        url = server.new_database(template)
        yield url
        server.drop_database(url)

    return copied


@contextmanager
def _sqlite_database() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="reelstate-model-") as folder:
        yield f"sqlite:///{Path(folder) / 'model.db'}"


def explore(databases: Databases, *, examples: int, steps: int) -> None:
    machine = type("Machine", (EngineMachine,), {"databases": staticmethod(databases)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


def test_the_engine_does_what_the_rules_say(databases: Databases) -> None:
    explore(databases, examples=15, steps=30)


@pytest.mark.prove
def test_the_engine_does_what_the_rules_say_for_long(databases: Databases) -> None:
    explore(databases, examples=300, steps=50)

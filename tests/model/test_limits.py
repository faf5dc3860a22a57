"""Limits, pauses, turns and priorities under random work: no limit is exceeded, no key starves, the order is kept."""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask
from reelstate.engine import Engine
from tests.conformance.scenarios import released, submitted
from tests.engines import FakeClock, a_worker, done, failed

USERS = ("ada", "bob", "eve")
CUSTOMERS = ("acme", "corp", "")
ALL = 1000


@dataclass
class JobFacts:
    user: str
    customer: str
    priority: int


@dataclass
class Limited:
    """A limit as the test has set it, with the tasks that ran beyond it when it was set."""

    per: str | None
    running: int | None = None
    starts: int | None = None
    period: float = 0.0
    excess: Counter[str] = field(default_factory=Counter)
    since: float = 0.0

    def key(self, job: JobFacts) -> str | None:
        if self.per is None:
            return ""
        return (job.user if self.per == "user" else job.customer) or None


class World:
    """Random operations on one engine, and what must hold after each."""

    def __init__(self, engine: Engine, clock: FakeClock, seed: int) -> None:
        self.engine, self.clock = engine, clock
        self.random = random.Random(seed)
        self.jobs: dict[int, JobFacts] = {}
        self.running: dict[int, ClaimedTask] = {}
        self.waiting: set[int] = set()
        self.delayed: set[int] = set()
        self.limits: dict[str, Limited] = {}
        self.starts: list[tuple[float, int]] = []
        self.paused: set[str] = set()
        self.all_paused = False
        self.workers: list[int] = []
        self.claims = 0
        self.lost = False
        """Whether a task may be isolated: it waits for an empty worker too."""

    @property
    def time(self) -> float:
        return self.clock.now.timestamp()

    async def run(self, steps: int) -> None:
        self.workers = [await a_worker(self.engine, f"w{number}") for number in range(3)]
        choices = [self.submit] * 8 + [self.claim] * 6 + [self.claim_all] * 3 + [self.end] * 8
        choices += [self.lose, self.pass_time, self.pause, self.set_limit, self.set_limit, self.remove_limit]
        for _ in range(steps):
            await self.random.choice(choices)()
        await self.drain()

    async def submit(self) -> None:
        for _ in range(self.random.randrange(1, 6)):
            facts = JobFacts(
                self.random.choice(USERS), self.random.choice(CUSTOMERS), self.random.choice((5, 5, 5, 2, 8))
            )
            spec = {"customer": facts.customer} if facts.customer else {}
            job = await submitted(self.engine, spec=spec, user_id=facts.user, priority=facts.priority)
            self.jobs[job] = facts
            self.waiting.add(job)

    async def claim(self) -> None:
        await self._claim(self.random.randrange(1, 4))

    async def claim_all(self) -> None:
        await self._claim(ALL)

    async def _claim(self, count: int) -> None:
        worker = self.random.choice(self.workers)
        taken = (await self.engine.claim(worker, count)).tasks
        self.claims += len(taken)
        for task in taken:
            job = task.key.job_id
            assert job in self.waiting, "claimed twice, or not ready"
            assert self.jobs[job].user not in self.paused
            assert not self.all_paused
            self.waiting.discard(job)
            self.running[job] = task
            self.starts.append((self.time, job))
        self._check_limits()
        if count == ALL and not (self.paused or self.all_paused or self.lost):
            self._check_nothing_starves()

    async def end(self) -> None:
        if not self.running:
            return
        job = self.random.choice(sorted(self.running))
        task = self.running.pop(job)
        self._forget_excess(job)
        ending = self.random.randrange(5)
        if ending == 0:
            await self.engine.release([released(task)])
            self.waiting.add(job)
        elif ending == 1 and task.attempt < task.max_attempts:
            await self.engine.fail([failed(task, retry_in=20)])
            self.delayed.add(job)
        elif ending == 2:
            await self.engine.cancel(job)
        else:
            await self.engine.complete([done(task)])

    def _forget_excess(self, job: int) -> None:
        for limit in self.limits.values():
            key = limit.key(self.jobs[job])
            if key is not None and limit.excess[key] > 0:
                limit.excess[key] -= 1

    async def lose(self) -> None:
        self.clock.advance(120)
        self.lost = True
        await self.engine.reclaim()
        await self._after_time()

    async def pass_time(self) -> None:
        self.clock.advance(self.random.choice((1.0, 10.0, 25.0)))
        await self.engine.reclaim()
        await self._after_time()

    async def _after_time(self) -> None:
        await self.engine.orchestrate()
        await self.engine.limits.settle()
        await self.engine.limits.admit()
        for job in sorted(self.running):
            (task,) = (await self.engine.tasks(job)).items
            if task.status is not TaskStatus.RUNNING:
                del self.running[job]
                self._forget_excess(job)
                if task.status is TaskStatus.READY:
                    self.waiting.add(job)
        for job in sorted(self.delayed):
            (task,) = (await self.engine.tasks(job)).items
            if task.status is TaskStatus.READY:
                self.delayed.discard(job)
                self.waiting.add(job)

    async def pause(self) -> None:
        user = self.random.choice((*USERS, ""))
        if user in self.paused or (not user and self.all_paused):
            await (self.engine.resume(user_id=user) if user else self.engine.resume(everything=True))
        else:
            await (self.engine.pause(user_id=user) if user else self.engine.pause(everything=True))
        if user:
            self.paused ^= {user}
        else:
            self.all_paused = not self.all_paused

    async def set_limit(self) -> None:
        name = self.random.choice(("a", "b", "c"))
        per = self.random.choice((None, "user", "spec.customer"))
        kind = self.random.randrange(4)
        limit = Limited(per, since=self.time)
        if kind < 2 or (kind == 3 and per is None):
            limit.running = self.random.randrange(1, 4)
        elif kind == 2:
            limit.starts, limit.period = self.random.randrange(1, 4), self.random.choice((15.0, 40.0))
        numbers = {"running": limit.running, "starts": limit.starts, "period": limit.period or None}
        await self.engine.limits.set(name, per=per, **numbers)  # type: ignore[arg-type]
        for key, running in self._running(limit).items():
            limit.excess[key] = max(0, running - (limit.running or running))
        self.limits[name] = limit

    async def remove_limit(self) -> None:
        if self.limits and self.random.random() < 0.5:
            name = self.random.choice(sorted(self.limits))
            await self.engine.limits.remove(name)
            del self.limits[name]

    def _running(self, limit: Limited) -> Counter[str]:
        keys = (limit.key(self.jobs[job]) for job in self.running)
        return Counter(key for key in keys if key is not None)

    def _started(self, limit: Limited) -> Counter[str]:
        """Starts within the period; those before the limit was set were not counted."""
        floor = max(self.time - limit.period, limit.since)
        started = (limit.key(self.jobs[job]) for at, job in self.starts if at > floor)
        return Counter(key for key in started if key is not None)

    def _check_limits(self) -> None:
        for name, limit in self.limits.items():
            for key, running in self._running(limit).items():
                if limit.running is not None:
                    assert running <= limit.running + limit.excess[key], f"{name} {key!r}"
            for key, started in self._started(limit).items():
                if limit.starts is not None:
                    assert started <= limit.starts, f"{name} {key!r}"

    def _check_nothing_starves(self) -> None:
        """Whoever still waits after a claim of all waits for a limit that is full."""
        full: dict[str, set[str]] = defaultdict(set)
        for name, limit in self.limits.items():
            running, started = self._running(limit), self._started(limit)
            for key in running | started:
                if limit.running is not None and running[key] >= limit.running:
                    full[name].add(key)
                if limit.starts is not None and started[key] >= limit.starts:
                    full[name].add(key)
        for job in self.waiting:
            held = [name for name, limit in self.limits.items() if limit.key(self.jobs[job]) in full[name]]
            held += [name for name, limit in self.limits.items() if limit.starts is not None]
            assert held, f"{self.jobs[job]} waits for nothing"

    async def drain(self) -> None:
        """Without pauses everything ends, however strict the limits are."""
        for user in sorted(self.paused):
            await self.engine.resume(user_id=user)
        if self.all_paused:
            await self.engine.resume(everything=True)
        self.paused, self.all_paused = set(), False
        for _ in range(2000):
            if not self.waiting and not self.running and not self.delayed:
                return
            await self._claim(ALL)
            for job in sorted(self.running):
                await self.engine.complete([done(self.running.pop(job))])
                self._forget_excess(job)
            self.clock.advance(20)
            await self._after_time()
        pytest.fail(f"starved: {[self.jobs[job] for job in self.waiting]}")


@pytest.mark.parametrize("seed", range(3))
async def test_no_limit_is_exceeded_and_no_key_starves(engine: Engine, clock: FakeClock, seed: int) -> None:
    world = World(engine, clock, seed)
    await world.run(120)
    assert world.claims > 50
    assert (await engine.doctor()).findings == ()


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(100, 130))
async def test_no_limit_is_exceeded_and_no_key_starves_for_long(engine: Engine, clock: FakeClock, seed: int) -> None:
    world = World(engine, clock, seed)
    await world.run(600)
    assert world.claims > 300
    assert (await engine.doctor()).findings == ()

"""Two verbs on a group and what waits for it: the first is paused after each of its statements while the second runs.

Whatever the order, every waiting job starts, every round of the group has one event, and nothing deadlocks. The search
for waiting jobs without a note is off, because it would make up for a lost one.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import psycopg
import pytest

from reelstate.core.group import Group
from reelstate.core.model import ClaimedTask, Submission
from reelstate.engine import Engine
from reelstate.services.groups import settle
from tests.engines import a_worker, done, engine_at, failed
from tests.faults.wrapped_store import Pause, wrap_engine
from tests.races.test_deadlocks import deadlocks
from tests.races.test_lock_order import Connection, allow_refusal
from tests.waiting import until

CALLBACK = "https://example.com/finished"


@dataclass
class RunningGroup:
    """A group with a completed job and one that runs, a job that waits for both, and one that runs `alone`."""

    name: str
    last: ClaimedTask
    waiting: int
    alone: ClaimedTask

    @property
    def after(self) -> list[int | Group]:
        return [Group(self.name), self.last.key.job_id, self.alone.key.job_id]


Verb = Callable[[Engine, RunningGroup], Awaitable[object]]
Stage = tuple[Engine, int, Connection]

VERBS: dict[str, Verb] = {
    "complete": lambda engine, group: engine.complete([done(group.last)]),
    "end": lambda engine, group: engine.complete([done(group.alone)]),
    "fail": lambda engine, group: engine.fail([failed(group.last, retryable=False)]),
    "wait": lambda engine, group: engine.submit("simple", after=[group.alone.key.job_id]),
    "join": lambda engine, group: engine.submit("simple", group=group.name, group_callback=CALLBACK),
    "both": lambda engine, group: engine.submit("simple", group="other", after=group.after),
    "keep": lambda engine, _: engine.orchestrate(stuck_after=0.0),
    "cancel": lambda engine, group: engine.cancel(group.waiting),
    "retry": lambda engine, group: engine.retry_group(group.name),
}


@pytest.fixture
async def stage(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    async def no_window(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(settle, "_window", no_window)
    async with (
        engine_at(f"{url}?options=-cdeadlock_timeout%3D200ms") as engine,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as observer,
    ):
        yield engine, await a_worker(engine), observer


async def start_group(engine: Engine, worker: int, name: str) -> RunningGroup:
    await engine.submit_many([Submission(pipeline="simple", group=name, group_callback=CALLBACK)] * 2)
    await engine.submit("simple")
    first, last, alone = (await engine.claim(worker, 3)).tasks
    waiting = await engine.submit("simple", after=[Group(name), last.key.job_id])
    await engine.complete([done(first)])
    await engine.orchestrate()
    return RunningGroup(name, last, waiting.job_id, alone)


async def finish(engine: Engine, worker: int, group: RunningGroup) -> None:
    """Complete what runs, and what may start then; a failed job is retried."""
    await engine.complete([done(group.last), done(group.alone)])
    await engine.retry_group(group.name)
    await engine.orchestrate()
    while tasks := (await engine.claim(worker, 100)).tasks:
        await engine.complete([done(task) for task in tasks])
        await engine.orchestrate()


async def broken(engine: Engine, group: RunningGroup, order: str) -> list[str]:
    found = [f"{order}: job {job.id} is {job.status}" for job in (await engine.jobs(limit=1000)).items if not job.ended]
    shown = await engine.group(group.name)
    (callbacks,) = await engine.webhooks.all()
    sent = [each for each in (await engine.webhooks.deliveries(callbacks.id, limit=1000)).items if each.type]
    events = sum(each.id not in SEEN for each in sent)
    SEEN.update(each.id for each in sent)
    if shown.finished_at is None or events != shown.round:
        found.append(f"{order}: {events} events in {shown.round} rounds, finished {shown.finished_at}")
    return found


SEEN: set[int] = set()
"""The deliveries of earlier groups."""


async def done_or_blocked(verbs: Sequence[asyncio.Future[None]], observer: Connection) -> bool:
    """Return whether each of these has ended or waits for a lock."""
    cursor = await observer.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    (blocked,) = await cursor.fetchone() or (0,)
    return blocked >= sum(not verb.done() for verb in verbs)


async def interleave(stage: Stage, url: str, names: tuple[str, str]) -> list[str]:
    engine, worker, observer = stage
    SEEN.clear()
    found: list[str] = []
    before = await deadlocks(url)
    for number in itertools.count(1):
        pause = Pause(number)
        group = await start_group(engine, worker, f"g{number}")
        first = asyncio.ensure_future(allow_refusal(VERBS[names[0]](wrap_engine(engine, pause), group)))
        stopped = asyncio.ensure_future(pause.reached.wait())
        await asyncio.wait({first, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if pause.reached.is_set():
            others: list[asyncio.Future[None]] = []
            for name in (names[1], "keep"):
                others.append(asyncio.ensure_future(allow_refusal(VERBS[name](engine, group))))
                await until(partial(done_or_blocked, others, observer))
            pause.go_on.set()
            await asyncio.gather(*others)
        await first
        order = f"{names[0]} stopped after {pause.statement}, {names[1]}"
        await engine.orchestrate()
        shown = await engine.group(group.name)
        if shown.finished_at is not None and not {"pending", "running"}.isdisjoint(shown.counts):
            found.append(f"{order}: finished with active jobs: {shown.counts}")
        await finish(engine, worker, group)
        found += await broken(engine, group, order)
        if not pause.reached.is_set():
            break
    if (now := await deadlocks(url)) > before:
        found.append(f"{now - before} deadlocks: {names}")
    findings = (await engine.doctor()).findings
    return found + [f"{finding.check}: {finding.job_id}: {finding.detail}" for finding in findings]


@pytest.mark.parametrize("names", [("end", "wait"), ("join", "complete")])
async def test_nothing_is_lost_between_two_verbs(stage: Stage, url: str, names: tuple[str, str]) -> None:
    lost = await interleave(stage, url, names)
    assert not lost, "\n".join(lost)


@pytest.mark.prove
@pytest.mark.parametrize("second", VERBS)
@pytest.mark.parametrize("first", VERBS)
async def test_nothing_is_lost_between_any_two_verbs(stage: Stage, url: str, first: str, second: str) -> None:
    lost = await interleave(stage, url, (first, second))
    assert not lost, "\n".join(lost)

"""A client watches one job while four processes change it: it receives every event once, in order."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from reelstate.core.model import Event, TaskKey, Verdict
from reelstate.engine import Engine
from reelstate.services import watch
from reelstate.services.watch import _Reading, in_order
from tests.engines import a_worker, done, engine_at, failed
from tests.races.racing_processes import RacingProcesses, start

WRITERS = 4
PARTS = 400


async def work(url: str, number: int, parties: int) -> int:
    """Claim parts of the job in batches of very different sizes; complete some and fail some until none is left."""
    finished = 0
    async with engine_at(url) as engine:
        worker = await a_worker(engine, f"worker-{number}")
        start(parties)
        size = number * 7 + 1
        while tasks := (await engine.claim(worker, size)).tasks:
            size = 60 if size < 10 else 1 + number
            broken = tasks[0].attempt == 1 and len(tasks) > 1
            verdicts = await engine.complete([done(task) for task in tasks[broken:]])
            if broken:
                await engine.fail([failed(tasks[0], retry_in=0)])
                await engine.orchestrate()
            finished += verdicts.count(Verdict.OK)
    return finished


async def watched(engine: Engine, job_id: int, began: asyncio.Event) -> list[Event]:
    events = []
    async for event in engine.watch(job_id):
        events.append(event)
        began.set()
    return events


async def test_a_watcher_receives_every_event(url: str, racers: RacingProcesses) -> None:
    async with engine_at(url) as engine:
        job_id = (await engine.submit("parts", {"parts": PARTS})).job_id
        began = asyncio.Event()
        watchers = [asyncio.create_task(watched(engine, job_id, began)) for _ in range(2)]
        await began.wait()
        finished = await asyncio.get_running_loop().run_in_executor(None, lambda: racers.all(work, url, size=WRITERS))
        assert sum(finished) == PARTS
        assert len([number for number in finished if number]) > 1, "one writer did it all, so nothing was raced"
        recorded = await _recorded(url, job_id)
        for watcher in watchers:
            events = await asyncio.wait_for(watcher, 300)
            versions = [(event.entity, event.stage_number, event.part, event.version) for event in events]
            assert len(versions) == len(set(versions))
            assert set(versions) == recorded
            assert (events[-1].entity, events[-1].target) == ("job", "completed")
            assert _gapless(events)


def _gapless(events: list[Event]) -> bool:
    """Whether the versions of every task came in their order, none of them left out."""
    last: dict[TaskKey, int] = {}
    for event in events:
        if (
            event.entity == "task"
            and event.job_id is not None
            and event.stage_number is not None
            and event.part is not None
        ):
            key = TaskKey(event.job_id, event.stage_number, event.part)
            if key in last and event.version != last[key] + 1:
                return False
            last[key] = event.version
    return len(last) == PARTS


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def event(number: int, entity: str, version: int, second: float = 0) -> Event:
    return Event(
        cursor=f"e.{number}.{number}",
        entity=entity,
        job_id=1,
        stage="main" if entity == "task" else None,
        stage_number=0 if entity == "task" else None,
        part=0 if entity == "task" else None,
        worker_id=None,
        worker=None,
        version=version,
        origin=None,
        target="",
        actor="",
        reason=None,
        token=None,
        data=None,
        at=NOON + timedelta(seconds=second),
    )


CLAIM_OF_A_YOUNGER_SUBMIT = [event(1, "job", 2, 8), event(2, "task", 2, 8), event(3, "job", 1, 7)]


def test_what_an_older_transaction_did_to_the_work_of_a_younger_comes_after_it() -> None:
    in_turn = [(event.entity, event.version) for event in in_order(CLAIM_OF_A_YOUNGER_SUBMIT)]
    assert in_turn == [("job", 1), ("job", 2), ("task", 2)]


def test_a_clock_that_was_set_back_does_not_turn_versions_round() -> None:
    assert [event.version for event in in_order([event(1, "job", 1, 9), event(2, "job", 2, 3)])] == [1, 2]


def test_who_goes_on_after_any_event_misses_nothing() -> None:
    reading = _Reading()
    for each in CLAIM_OF_A_YOUNGER_SUBMIT:
        reading.read(each)
    given = list(reading.ordered(settled=True))
    assert [event.cursor for event in given] == ["e.0.0", "e.1.1", "e.3.3"]
    for place, last in enumerate(given):
        left = {(event.entity, event.version) for event in given[place + 1 :]}
        number = int(last.cursor.rpartition(".")[2])
        assert left <= {(event.entity, event.version) for event in CLAIM_OF_A_YOUNGER_SUBMIT[number:]}


def test_what_overlaps_from_page_to_page_is_put_in_order_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "OVERLAP", 2)
    reading = _Reading()
    given: list[Event] = []
    for each in [event(0, "stage", 1), event(0, "stage", 2), *CLAIM_OF_A_YOUNGER_SUBMIT]:
        reading.read(each)
        given += reading.ordered(settled=False)
    assert [(event.entity, event.version) for event in given] == [("stage", 1), ("stage", 2)]
    given += reading.ordered(settled=True)
    in_turn = [(event.entity, event.version) for event in given]
    assert in_turn == [("stage", 1), ("stage", 2), ("job", 1), ("job", 2), ("task", 2)]


async def _recorded(url: str, job_id: int) -> set[tuple[object, ...]]:
    """Every event of the job: its entity and version."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        cursor = await connection.execute(
            "SELECT entity, nullif(stage, -1), nullif(part, -1), version FROM reelstate.history WHERE job_id = %s",
            [job_id],
        )
        return set(await cursor.fetchall())

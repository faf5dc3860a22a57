"""Workers report the states of many tasks at once, each report twice: subscribers get every version once, in order."""

import asyncio
import contextlib

from reelstate.app import open_engine
from reelstate.core.model import ClaimedTask, Progress, TaskState, Verdict
from reelstate.core.state import StateKey
from reelstate.engine import Engine
from reelstate.states.manager import StateManager
from tests.engines import PARTS, a_worker
from tests.waiting import until

WORKERS, PARTS_EACH, REPORTS = 3, 4, 15
TAGS = ("a", "b")
EACH = 2 * REPORTS
"""Versions of a key: two in every report."""


def report_of(task: ClaimedTask, number: int) -> Progress:
    """The same tag twice in a report, between another: in the order of their numbers."""
    tags = [tag for _ in range(2) for tag in TAGS]
    states = [TaskState(number=number * len(tags) + index, tag=tag, status=number) for index, tag in enumerate(tags, 1)]
    return Progress(key=task.key, token=task.token, states=tuple(states))


async def reporting(engine: Engine, worker: int, tasks: list[ClaimedTask]) -> None:
    for number in range(REPORTS):
        items = [report_of(task, number) for task in tasks]
        answers = await asyncio.gather(engine.report(worker, items), engine.report(worker, items[::-1]))
        assert {verdict for answer in answers for verdict in answer.verdicts} == {Verdict.OK}


async def watching(monitor: StateManager, seen: dict[StateKey, list[tuple[int, int]]]) -> None:
    async with contextlib.aclosing(monitor.subscribe(after="0")) as messages:
        async for message in messages:
            if message.item is not None:
                seen.setdefault(message.item.key, []).append((message.item.version, message.item.status))
                if len(seen) == WORKERS * PARTS_EACH * len(TAGS) and all(len(each) >= EACH for each in seen.values()):
                    return


async def test_every_state_of_every_report_is_seen_once_and_in_order(state_database: str) -> None:
    seen: dict[StateKey, list[tuple[int, int]]] = {}
    async with (
        open_engine(state_database, pipelines=[PARTS], connections=8) as engine,
        open_engine(state_database, pipelines=[PARTS]) as elsewhere,
        asyncio.timeout(300),
    ):
        job_id = (await engine.submit("parts", {"parts": WORKERS * PARTS_EACH})).job_id
        workers = [await a_worker(engine, f"worker-{number}") for number in range(WORKERS)]
        claims = [(await engine.claim(worker, PARTS_EACH)).tasks for worker in workers]
        async with asyncio.TaskGroup() as group:
            for worker, tasks in zip(workers, claims, strict=True):
                group.create_task(reporting(engine, worker, tasks))
            await until(lambda: _made(elsewhere, job_id))
            group.create_task(watching(await elsewhere.state_manager(f"{job_id}.part"), seen))
    expected = [(version, (version - 1) // 2) for version in range(1, EACH + 1)]
    assert all(each == expected for each in seen.values())


async def _made(engine: Engine, job_id: int) -> bool:
    return bool((await engine.states(job_id)).stages)

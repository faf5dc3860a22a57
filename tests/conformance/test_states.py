"""report: states of a run are kept under its token, once and in order."""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound, TooLarge
from reelstate.core.model import ClaimedTask, Report, TaskState, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.core.state import FINISHED, Severity, State
from reelstate.dispatch.dispatch import Wakeup
from reelstate.engine import Engine
from reelstate.feed.subscriber import MessageKind
from reelstate.services.states import States
from reelstate.states.manager import StateManager
from reelstate.states.sql import SqlStateStore
from reelstate.stores.store import Batch, Flow, Store, Transaction
from reelstate.telemetry.facts import Fact
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    lose,
    progress,
    running_parts,
    submitted,
    take,
    take_one,
)
from tests.engines import FakeClock, a_worker, done


def state_of(number: int, tag: str, status: int | None, message: str = "", **rest: Any) -> TaskState:
    return TaskState(number=number, tag=tag, status=status, message=message, **rest)


async def report(engine: Engine, task: ClaimedTask, *states: TaskState) -> Verdict:
    (worker,) = {each.id for each in await engine.workers() if each.name == "worker"} or {0}
    report = await engine.report(worker, [progress(task, states=states)])
    assert isinstance(report, Report)
    return report.verdicts[0]


async def log_of(engine: Engine, name: str) -> list[State]:
    """Every version, in the order of the feed."""
    job = await engine.state_store.find_job(name)
    log = (await engine.state_store.feed(job.job_id)).log
    return [entry.item for entry in (await log.read(log.first(), 1000)).entries]


def lowest_of(states: States) -> State:
    assert states.lowest is not None
    return states.lowest


def versions(states: list[State]) -> list[tuple[int, str, int, int, str]]:
    return [(state.task, state.tag, state.version, state.status, state.message) for state in states]


async def test_states_of_a_run_are_kept_in_the_order_of_its_reports(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    assert (
        await report(
            engine, task, state_of(1, "a", 1), state_of(2, "b", 5), state_of(3, "a", 40, "half"), state_of(4, "a", 41)
        )
        == "ok"
    )
    assert await report(engine, task, state_of(5, "a", FINISHED)) is Verdict.OK
    name = f"{task.key.job_id}.main"
    assert versions(await log_of(engine, name)) == [
        (0, "a", 1, 1, ""), (0, "b", 1, 5, ""), (0, "a", 2, 40, "half"), (0, "a", 3, 41, ""), (0, "a", 4, FINISHED, ""),
    ]  # fmt: skip
    newest = {state.tag: state for state in (await engine.state_store.states(name)).states}
    assert (newest["a"].version, newest["a"].status, newest["a"].timestamp) == (4, FINISHED, clock.now)
    assert newest["a"].event_id == f"{task.token}.5"


async def test_a_repeated_state_is_kept_once(engine: Engine) -> None:
    task = await a_running_task(engine)
    for _ in range(2):
        assert await report(engine, task, state_of(1, "a", 1), state_of(2, "a", 2)) is Verdict.OK
    assert await report(engine, task, state_of(2, "a", 2), state_of(3, "a", 3)) is Verdict.OK
    assert [state.status for state in await log_of(engine, f"{task.key.job_id}.main")] == [1, 2, 3]


async def test_a_warning_leaves_the_status_within_a_report_and_after_it(engine: Engine) -> None:
    task = await a_running_task(engine)
    warning = {"severity": "warning"}
    await report(
        engine, task, state_of(1, "a", None, "early", **warning), state_of(2, "a", 7), state_of(3, "a", None, **warning)
    )
    await report(engine, task, state_of(4, "a", None, "slow", **warning), state_of(5, "a", -3, severity="error"))
    await report(engine, task, state_of(6, "a", None, **warning))
    log = await log_of(engine, f"{task.key.job_id}.main")
    assert [state.status for state in log] == [0, 7, 7, 7, -3, -3]
    assert [state.severity for state in log][3:] == [Severity.WARNING, Severity.ERROR, Severity.WARNING]


async def test_the_states_of_a_lost_run_are_refused(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    assert await report(engine, task, state_of(1, "a", 10)) is Verdict.OK
    await lose(engine, clock)
    again = await take_one(engine, await a_worker(engine, "other"))
    assert await report(engine, task, state_of(2, "a", 99)) is Verdict.LOST
    assert await report(engine, again, state_of(1, "a", 20)) is Verdict.OK
    assert await report(engine, task, state_of(3, "a", 99)) is Verdict.LOST
    assert [state.status for state in await log_of(engine, f"{task.key.job_id}.main")] == [10, 20]


async def test_a_lost_run_makes_no_job_of_states(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    assert await report(engine, task, state_of(1, "a", 10)) is Verdict.LOST
    with pytest.raises(NotFound):
        await engine.state_store.find_job(f"{task.key.job_id}.main")


async def test_the_parts_of_a_stage_are_the_tasks_of_one_job(engine: Engine) -> None:
    tasks = await running_parts(engine, 3)
    (worker,) = [each.id for each in await engine.workers()]
    items = [progress(task, states=(state_of(1, "a", 10 + task.key.part), state_of(2, "b", 5))) for task in tasks]
    assert (await engine.report(worker, items)).verdicts == [Verdict.OK] * 3
    job = await engine.state_store.find_job(f"{tasks[0].key.job_id}.part")
    assert (job.tasks, job.tags, job.generation) == (3, (), 1)
    _, states = await engine.state_store.states(job.job_id)
    assert sorted((state.task, state.tag, state.status) for state in states) == [
        (0, "a", 10), (0, "b", 5), (1, "a", 11), (1, "b", 5), (2, "a", 12), (2, "b", 5),
    ]  # fmt: skip


async def test_stages_of_several_jobs_in_one_report(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 2})
    await submitted(engine)
    worker = await a_worker(engine)
    tasks = await take(engine, worker)
    items = [progress(task, states=(state_of(1, "a", task.key.part),)) for task in tasks]
    assert (await engine.report(worker, items)).verdicts == [Verdict.OK] * 3
    names = {f"{task.key.job_id}.{task.stage_name}" for task in tasks}
    assert sorted([len((await engine.state_store.states(name)).states) for name in names]) == [1, 2]


async def test_expected_tags_come_with_the_stage(engine: Engine) -> None:
    await declared(engine, "tagged", StageSpec(name="main", tags=("ingest", "export")))
    task = await a_running_task(engine, "tagged")
    await report(engine, task, state_of(1, "ingest", FINISHED))
    (grid,) = (await engine.states(task.key.job_id)).stages
    assert grid.job.tags == ("export", "ingest")
    assert (grid.lowest.tag, grid.lowest.status) == ("export", 0)
    await report(engine, task, state_of(2, "export", FINISHED))
    assert lowest_of(await engine.states(task.key.job_id)).status == FINISHED


async def test_a_deleted_job_of_states_is_created_again(engine: Engine) -> None:
    task = await a_running_task(engine)
    name = f"{task.key.job_id}.main"
    await report(engine, task, state_of(1, "a", 1))
    assert await engine.state_store.delete_job(name)
    await report(engine, task, state_of(2, "a", 2))
    (state,) = (await engine.state_store.states(name)).states
    assert (state.version, state.status) == (1, 2)
    assert (await engine.state_store.find_job(name)).generation == 2


async def test_the_grid_of_a_job_has_every_stage_with_states(engine: Engine) -> None:
    await declared(
        engine,
        "two",
        StageSpec(name="one"),
        StageSpec(name="mute"),
        StageSpec(name="late", after=("one",), tags=("x",)),
    )
    job_id = await submitted(engine, "two")
    assert [grid.name for grid in (await engine.states(job_id)).stages] == ["late"]
    worker = await a_worker(engine)
    first = next(task for task in await take(engine, worker) if task.stage_name == "one")
    await report(engine, first, state_of(1, "a", FINISHED))
    states = await engine.states(job_id)
    assert [(grid.name, grid.lowest.status) for grid in states.stages] == [("one", FINISHED), ("late", 0)]
    assert (lowest_of(states).job_id, lowest_of(states).status) == (f"{job_id}.late", 0)
    assert [grid.name for grid in (await engine.states(job_id, "one")).stages] == ["one"]
    assert (await engine.states(f"{job_id}.one")).stages[0].states == states.stages[0].states


async def test_missing_states_are_not_found(engine: Engine) -> None:
    job_id = await submitted(engine)
    assert (await engine.states(job_id)).stages == ()
    with pytest.raises(InvalidRequest, match="no stage 'nowhere'"):
        await engine.states(job_id, "nowhere")
    for missing in (123, "my-job", f"{job_id}.main"):
        with pytest.raises(NotFound):
            await engine.states(missing)


MISTAKES: list[tuple[TaskState, str]] = [
    (state_of(1, "", 1), "tag"),
    (state_of(1, "a/b", 1), "slash"),
    (state_of(1, "a" * 2000, 1), "tag"),
    (state_of(1, "a", 2**31), "2147483647"),
    (state_of(1, "a", True), "2147483647"),
    (state_of(-1, "a", 1), "number"),
    (state_of(1, "a", 1, severity="loud"), "severity"),
    (state_of(1, "a", 1, payload={1}), "JSON"),
]


@pytest.mark.parametrize("mistake, text", MISTAKES, ids=[text for _, text in MISTAKES])
async def test_a_mistake_is_named_and_nothing_is_stored(engine: Engine, mistake: TaskState, text: str) -> None:
    task = await a_running_task(engine)
    with pytest.raises((InvalidRequest, TooLarge), match=text):
        await report(engine, task, state_of(2, "good", 1), mistake)
    assert (await engine.states(task.key.job_id)).stages == ()


async def test_a_stored_state_sends_a_wakeup(engine: Engine) -> None:
    task = await a_running_task(engine)
    listener = engine.dispatch.listen([Wakeup.STATE])
    await report(engine, task)
    assert not await listener.wait(0)
    await report(engine, task, state_of(1, "a", 1))
    assert await listener.wait(300) == {Wakeup.STATE}
    await engine.complete([done(task)])
    await report(engine, task, state_of(2, "a", 2))
    assert not await listener.wait(0)


async def test_a_manager_on_the_store_of_the_engine(engine: Engine) -> None:
    async with await engine.state_manager("mine", 0, 2, tags=("a",)) as manager:
        await manager.set_state("a", 40)
    states = await engine.states("mine")
    assert [(state.task, state.status) for state in states.stages[0].states] == [(0, 40)]
    assert (lowest_of(states).task, lowest_of(states).status) == (1, 0)


async def test_only_its_tasks_write_the_states_of_a_stage(engine: Engine) -> None:
    task = await a_running_task(engine)
    await report(engine, task, state_of(1, "a", 1))
    name = f"{task.key.job_id}.main"
    async with await engine.state_manager(name) as monitor:
        assert (await monitor.get_state()).status == 1
    async with await engine.state_manager(name, 0) as manager:
        with pytest.raises(InvalidRequest, match="belongs to a stage"):
            await manager.set_state("a", 5)
    with pytest.raises(InvalidRequest, match="belongs to a stage"):
        await engine.state_manager(f"{task.key.job_id}.other", 0, 1)


class Counting:
    """A store that counts the statements of its reads and the rows that they give."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.statements: list[str] = []
        self.rows = 0

    async def read(self, flow: Flow[Any]) -> Any:
        return await self._store.read(lambda transaction: flow(CountingTransaction(self, transaction)))


class CountingTransaction:
    def __init__(self, counting: Counting, transaction: Transaction) -> None:
        self._counting = counting
        self._transaction = transaction

    def note(self, fact: Fact) -> None:
        self._transaction.note(fact)

    async def run(self, statement: Any, batch: Batch | None = None, /, **parameters: Any) -> list[Any]:
        rows = await self._transaction.run(statement, batch, **parameters)
        self._counting.statements.append(statement.name)
        self._counting.rows += len(rows)
        return rows


async def test_one_state_is_read_by_one_statement_with_one_row(engine: Engine) -> None:
    for task in range(3):
        async with await engine.state_manager("mine", task, 3) as manager:
            for tag in ("a", "b"):
                await manager.set_state(tag, 10 + task)
    counting = Counting(engine.store)
    monitor = await StateManager.open("mine", None, None, SqlStateStore(engine.store, engine.dispatch))
    monitor._store = SqlStateStore(counting, engine.dispatch)  # type: ignore[arg-type]  # it only reads
    assert (await monitor.get_state(task=1, tag="b")).status == 11
    assert (await monitor.get_state(task=1, tag="c")).version == 0
    assert (counting.statements, counting.rows) == (["states_one"] * 2, 2)


@pytest.mark.parametrize("what", ["jobs", "versions"])
async def test_a_subscriber_from_before_a_pruned_version_gets_a_reset(
    engine: Engine, clock: FakeClock, what: str
) -> None:
    async with await engine.state_manager("other", 0, 1) as manager:
        await manager.set_state("a", 1)
        cursor = await engine.head()
        await manager.set_state("a", 2)
        await manager.set_state("a", 3 if what == "versions" else FINISHED)
    after = await submitted(engine)
    clock.now += timedelta(days=40)
    jobs, versions = await engine.prune_states(older=30 * 86_400)
    assert (jobs, versions) == ((["other"], 0) if what == "jobs" else ([], 2))
    head = await engine.head()
    async with asyncio.timeout(300), contextlib.aclosing(engine.subscribe(after=cursor)) as messages:
        assert (await anext(messages)).kind is MessageKind.RESET
    async with asyncio.timeout(300), contextlib.aclosing(engine.subscribe(after=head)) as messages:
        assert (await anext(messages)).kind is MessageKind.REPLAY_COMPLETE
    assert [each.id for each in (await engine.jobs()).items] == [after], "nothing else is deleted"


async def test_states_of_a_stage_are_kept_until_its_job_is_over(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await report(engine, task, state_of(1, "a", FINISHED), state_of(2, "b", -1, "broken"))
    name = f"{task.key.job_id}.main"
    clock.now += timedelta(days=40)
    assert await engine.state_store.forget(older=86_400) == []
    await engine.cancel(task.key.job_id)
    assert await engine.state_store.forget(older=86_400) == [name]
    with pytest.raises(NotFound):
        await engine.state_store.find_job(name)


async def test_pruning_goes_on_until_nothing_old_is_left(
    engine: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.states.sql.PRUNE_BATCH", 2)
    monkeypatch.setattr("reelstate.states.sql.FORGET_BATCH", 2)
    for number in range(5):
        async with await engine.state_manager(f"job-{number}", 0, 1) as manager:
            await manager.set_started("a")
            await manager.set_finished("a")
    clock.now += timedelta(days=1)
    assert await engine.state_store.prune(older=3600) == 5
    assert await engine.state_store.forget(older=3600) == [f"job-{number}" for number in range(5)]

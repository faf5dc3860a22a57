"""The feed of the engine: what subscribers receive, in which order, and from which jobs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import Event, TaskProgress, TaskState
from reelstate.core.state import State
from reelstate.engine import Engine
from reelstate.feed import feed
from reelstate.feed.feed import FeedTimings
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.services import feed as log
from reelstate.services.feed import FeedItem
from tests.conformance.scenarios import a_running_task, finish, progress, running_parts, submitted, take_one
from tests.engines import a_worker, done
from tests.manual_sql import ManualSql
from tests.waiting import until

TIMEOUT = 300.0
Enough = Callable[[FeedMessage[FeedItem]], bool]


class Reader:
    """A subscriber that reads on until it has seen enough."""

    def __init__(self, messages: AsyncIterator[FeedMessage[FeedItem]]) -> None:
        self._messages = messages

    async def until(self, enough: Enough) -> list[FeedMessage[FeedItem]]:
        found = []
        async for message in self._messages:
            found.append(message)
            if enough(message):
                break
        return found

    async def replayed(self) -> list[Event | State]:
        messages = await self.until(lambda message: message.kind is MessageKind.REPLAY_COMPLETE)
        assert all(message.replay for message in messages[:-1])
        return items(messages)


@asynccontextmanager
async def subscribed(engine: Engine, *job_id: int, **options: Any) -> AsyncIterator[Reader]:
    async with asyncio.timeout(TIMEOUT), aclosing(engine.subscribe(*job_id, **options)) as messages:
        yield Reader(messages)


def items(messages: Sequence[FeedMessage[FeedItem]]) -> list[Event | State]:
    return [message.item for message in messages if isinstance(message.item, Event | State)]


def targets(found: Sequence[FeedItem]) -> list[tuple[str, str]]:
    return [(item.entity, item.target) for item in found if isinstance(item, Event)]


def is_event(entity: str, target: str) -> Enough:
    return lambda message: isinstance(message.item, Event) and targets([message.item]) == [(entity, target)]


def is_state(message: FeedMessage[FeedItem]) -> bool:
    return isinstance(message.item, State)


def is_progress(message: FeedMessage[FeedItem]) -> bool:
    return message.kind is MessageKind.PROGRESS


async def test_a_job_is_replayed_from_its_creation_and_then_live(engine: Engine) -> None:
    task = await a_running_task(engine)
    job_id = task.key.job_id
    async with subscribed(engine, job_id) as reader:
        before = await reader.replayed()
        assert before == (await engine.history(job_id)).items
        await engine.complete([done(task)])
        after = items(await reader.until(is_event("job", "completed")))
    assert [*before, *after] == (await engine.history(job_id)).items


@pytest.mark.parametrize("far", [True, False])
async def test_events_and_states_come_in_one_order_from_one_cursor(
    engine: Engine, far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both when they are read by the index of the job, as far behind the head, and from the whole record."""
    monkeypatch.setattr(log, "_is_far", lambda *_: far)
    task = await a_running_task(engine)
    worker = task.key.job_id and (await engine.workers())[0].id
    states = [TaskState(tag="ingest", number=number, status=number) for number in (1, 2)]
    await engine.report(worker, [progress(task, states=states)])
    await engine.complete([done(task)])
    async with subscribed(engine, task.key.job_id) as reader:
        messages = await reader.until(lambda message: message.kind is MessageKind.REPLAY_COMPLETE)
    whole = items(messages)
    assert [item.version for item in whole if isinstance(item, State)] == [1, 2]
    is_state = [isinstance(item, State) for item in whole]
    assert is_state.index(True) > targets(whole[: is_state.index(True)]).index(("task", "running"))
    assert targets(whole)[-1] == ("job", "completed")
    for index, message in enumerate(messages[:-1]):
        async with subscribed(engine, task.key.job_id, after=message.cursor) as reader:
            assert await reader.replayed() == whole[index + 1 :]


async def test_pages_are_no_seam_between_events_and_states(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    task = await a_running_task(engine)
    (worker,) = [worker.id for worker in await engine.workers()]
    for number in range(1, 4):
        await engine.report(worker, [progress(task, states=[TaskState(tag="a", number=number, status=1)])])
        await submitted(engine)
    async with subscribed(engine, after="0") as reader:
        whole = await reader.replayed()
    for size in (1, 2, 3, len(whole) - 1, len(whole)):
        monkeypatch.setattr(feed, "PAGE", size)
        async with subscribed(engine, after="0") as reader:
            assert await reader.replayed() == whole
    assert sum(isinstance(item, State) for item in whole) == 3


async def test_many_subscribers_read_as_one(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = await submitted(engine)
    reads = 0
    read = log._read_page

    async def counted(*arguments: Any) -> Any:
        nonlocal reads
        reads += 1
        return await read(*arguments)

    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(subscribed(engine, *([job_id] * (n % 2)))) for n in range(50)]
        await asyncio.gather(*(reader.replayed() for reader in readers))
        waiting = [asyncio.create_task(reader.until(is_event("job", "cancelled"))) for reader in readers]
        await until(lambda: engine.feed.figures.subscribers == len(readers))
        monkeypatch.setattr(log, "_read_page", counted)
        await engine.cancel(job_id)
        seen = [items(messages)[-1] for messages in await asyncio.gather(*waiting)]
        assert seen == (await engine.history(job_id)).items[-1:] * len(readers)
        assert reads < 10


async def test_a_slow_subscriber_overflows_and_resumes_where_it_was(engine: Engine) -> None:
    engine.feed._buffer = 3
    async with subscribed(engine) as reader:
        await reader.replayed()
        first = asyncio.create_task(reader.until(lambda message: message.kind is MessageKind.ITEM))
        await until(lambda: engine.feed.figures.subscribers == 1)
        for _ in range(4):
            await submitted(engine)
        got = await first
        got += await reader.until(lambda message: message.kind is MessageKind.OVERFLOW)
        assert await reader.until(lambda _: True) == []
    async with subscribed(engine, after=got[-1].cursor) as reader:
        remaining = await reader.replayed()
    assert [*items(got), *remaining] == (await engine.events()).items


async def test_the_feed_of_everything_starts_now_or_at_the_beginning(engine: Engine) -> None:
    first = await submitted(engine)
    async with subscribed(engine) as reader:
        assert await reader.replayed() == []
        second = await submitted(engine)
        news = items(await reader.until(is_event("job", "pending")))
        assert {item.job_id for item in news} == {second}
    async with subscribed(engine, after="0") as reader:
        assert {item.job_id for item in await reader.replayed() if isinstance(item, Event)} >= {first, second}


async def test_states_of_other_jobs_reach_only_subscribers_of_everything(engine: Engine) -> None:
    async with subscribed(engine) as all_of_it, subscribed(engine, user_id="") as own:
        await all_of_it.replayed()
        await own.replayed()
        async with await engine.state_manager("12.Free", 0, 1) as manager:
            await manager.set_started("ingest")
        (state,) = items(await all_of_it.until(is_state))
        assert isinstance(state, State)
        assert state.job_id == "12.Free"
        job_id = await submitted(engine)
        assert {item.job_id for item in items(await own.until(is_event("job", "pending")))} == {job_id}


async def test_an_owner_receives_only_events_of_their_jobs(engine: Engine) -> None:
    async with (
        subscribed(engine, user_id="ann") as ann,
        subscribed(engine, user_id="bob") as bob,
        subscribed(engine) as admin,
    ):
        for reader in (ann, bob, admin):
            await reader.replayed()
        ending = is_event("job", "completed")
        waiting = [asyncio.create_task(reader.until(ending)) for reader in (ann, bob, admin)]
        await until(lambda: engine.feed.figures.subscribers == len(waiting))
        hers, his = await submitted(engine, user_id="ann"), await submitted(engine, user_id="bob")
        worker = await a_worker(engine)
        for _ in range(2):
            task = await take_one(engine, worker)
            await engine.report(worker, [progress(task, states=[TaskState(tag="a", number=1, status=1)])])
            await engine.complete([done(task)])
        *seen, all_of_it = await asyncio.gather(*waiting)
        for messages, job_id in zip(seen, (hers, his), strict=True):
            assert {str(item.job_id).partition(".")[0] for item in items(messages)} == {str(job_id)}
            assert any(map(is_state, messages))
        assert "worker" in {item.entity for item in items(all_of_it) if isinstance(item, Event)}
    for user_id, job_id, other in (("ann", hers, his), ("bob", his, hers)):
        async with subscribed(engine, job_id, user_id=user_id, after="0") as reader:
            assert targets(await reader.replayed())[-1] == ("job", "completed")
        async with subscribed(engine, user_id=user_id, after="0") as reader:
            assert {str(item.job_id).partition(".")[0] for item in await reader.replayed()} == {str(job_id)}
        with pytest.raises(NotFound):
            async with subscribed(engine, other, user_id=user_id) as reader:
                await reader.replayed()


async def test_only_the_selected_kinds_are_sent(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), {"plan": {"items": [1, 2, 3]}})
    async with subscribed(engine, job_id, only=["stage", "job"]) as reader:
        assert {entity for entity, _ in targets(await reader.replayed())} == {"stage", "job"}
    with pytest.raises(InvalidRequest, match="stages"):
        engine.subscribe(job_id, only=["stages"])  # type: ignore[list-item]


async def test_a_subscriber_with_few_events_gets_bookmarks(engine: Engine) -> None:
    engine.feed.timings = FeedTimings(bookmark=0.0)
    quiet, loud = await submitted(engine), await submitted(engine)
    async with subscribed(engine, quiet) as reader:
        await reader.replayed()
        await engine.cancel(loud)
        after = (await engine.history(loud)).items[-1].cursor
        order = engine.feed.log.order
        messages = await reader.until(lambda message: bool(message.cursor) and order(message.cursor) >= order(after))
        assert {message.kind for message in messages} == {MessageKind.BOOKMARK}
        cursor = messages[-1].cursor
    async with subscribed(engine, after=cursor) as reader:
        assert await reader.replayed() == []


@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "a.b.c", "a.1", "a.1.2.3", "a.-1.2", f"a.{2**64}.1", f"a.1.{2**63}", "a.¹.2"]
)
async def test_an_invalid_cursor_is_refused(engine: Engine, cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="not a cursor"):
        async with subscribed(engine, after=cursor) as reader:
            await reader.replayed()


async def test_a_cursor_of_another_database_resets(engine: Engine) -> None:
    job_id = await submitted(engine)
    whole = (await engine.history(job_id)).items
    epoch, xid, number = (await engine.head()).split(".")
    for cursor in (f"other.{xid}.{number}", f"{epoch}.{int(xid) + 10**6}.{number}"):
        async with subscribed(engine, after=cursor) as reader:
            messages = await reader.until(lambda message: message.kind is MessageKind.REPLAY_COMPLETE)
            assert [message.kind for message in messages] == [MessageKind.RESET, MessageKind.REPLAY_COMPLETE]
        async with subscribed(engine, job_id, after=cursor) as reader:
            messages = await reader.until(lambda message: message.kind is MessageKind.REPLAY_COMPLETE)
            assert messages[0].kind is MessageKind.RESET
            assert items(messages) == whole


async def test_progress_is_sent_without_a_cursor_and_only_when_it_changes(engine: Engine) -> None:
    (first, second) = await running_parts(engine, 2)
    job_id = first.key.job_id
    worker = (await engine.workers())[0].id
    async with subscribed(engine, job_id) as reader:
        await reader.replayed()
        await engine.report(worker, [progress(first, percent=10, message="a"), progress(second, percent=1)])
        seen: dict[object, float] = {}
        while len(seen) < 2 or sum(seen.values()) < 11:
            (*_, frame) = await reader.until(is_progress)
            assert isinstance(frame.item, TaskProgress)
            assert frame.cursor == ""
            seen[frame.item.key] = frame.item.percent
        assert seen == {first.key: 10.0, second.key: 1.0}
        await engine.report(worker, [progress(first, percent=10), progress(second, percent=20)])
        (*_, frame) = await reader.until(is_progress)
        assert isinstance(frame.item, TaskProgress)
        assert (frame.item.key, frame.item.percent, frame.item.token) == (second.key, 20.0, second.token)
        await engine.complete([done(first), done(second)])
        remaining = await reader.until(is_event("job", "completed"))
        assert not any(map(is_progress, remaining))


async def test_a_late_subscriber_gets_the_progress_of_tasks(engine: Engine) -> None:
    task = await a_running_task(engine)
    worker = (await engine.workers())[0].id
    await engine.report(worker, [progress(task, percent=40, step="encode")])
    async with subscribed(engine, task.key.job_id) as early, subscribed(engine, task.key.job_id) as late:
        for reader in (early, late):
            (*_, frame) = await reader.until(is_progress)
            assert isinstance(frame.item, TaskProgress)
            assert (frame.item.percent, frame.item.step) == (40.0, "encode")
    async with (
        subscribed(engine, task.key.job_id, progress=False) as without,
        subscribed(engine, progress=True) as everything,
    ):
        await without.replayed()
        (*_, frame) = await everything.until(is_progress)
        await engine.complete([done(task)])
        assert not any(map(is_progress, await without.until(is_event("job", "completed"))))


async def test_a_cursor_from_before_what_is_kept_resets(engine: Engine, manual_sql: ManualSql) -> None:
    cursor = (await engine.history(await submitted(engine))).items[0].cursor
    _, xid, number = (await engine.head()).split(".")
    manual_sql.run("INSERT INTO facts VALUES ('floor', ?)", f"{xid}.{number}")
    async with subscribed(engine, after=cursor) as reader:
        messages = await reader.until(lambda message: message.kind is MessageKind.REPLAY_COMPLETE)
        assert [message.kind for message in messages] == [MessageKind.RESET, MessageKind.REPLAY_COMPLETE]
    async with subscribed(engine, after=messages[-1].cursor) as reader:
        assert await reader.replayed() == []
    async with subscribed(engine, after="0") as reader:
        assert await reader.replayed() == (await engine.events()).items


async def test_a_database_that_is_replaced_while_one_reads_resets(engine: Engine, manual_sql: ManualSql) -> None:
    await submitted(engine)
    async with subscribed(engine) as reader:
        await reader.replayed()
        manual_sql.run("UPDATE facts SET value = 'other' WHERE name = 'epoch'")
        (*_, message) = await reader.until(lambda message: message.kind is MessageKind.RESET)
        assert message.cursor.startswith("other.")
        job_id = await submitted(engine)
        assert {item.job_id for item in items(await reader.until(is_event("job", "pending")))} == {job_id}

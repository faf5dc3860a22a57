"""The manager on every store: writing, aggregation, replay and live, isolation, deletion."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, NotFound, TooLarge
from reelstate.core.state import FINISHED, LOWEST, Severity, State
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.states.manager import StateManager
from reelstate.states.state_store import StateStore
from tests.waiting import let_others_run

Messages = AsyncGenerator[FeedMessage[State], None]


async def manager(store: StateStore, task: int | None = 0, tasks: int | None = 3, **options: Any) -> StateManager:
    return await StateManager.open("job", task, tasks, store, **options)


async def taken(messages: Messages, count: int) -> list[FeedMessage[State]]:
    async with asyncio.timeout(300):
        return [await anext(messages) for _ in range(count)]


def summary(messages: list[FeedMessage[State]]) -> list[Any]:
    return [
        (message.item.task, message.item.tag, message.item.version, message.replay) if message.item else message.kind
        for message in messages
    ]


async def test_a_state_comes_back_as_it_was_written(store: StateStore) -> None:
    one = await manager(store)
    stored = await one.set_state("ingest", 40, "almost half", payload={"files": [1, 2]}, schema_version=2)
    assert (stored.status, stored.message, stored.version) == (40, "almost half", 1)
    assert (stored.payload, stored.schema_version, stored.severity) == ({"files": [1, 2]}, 2, Severity.INFO)
    assert await one.get_state(task=0, tag="ingest") == stored


async def test_versions_count_from_one_without_a_gap_per_task_and_tag(store: StateStore) -> None:
    one, other = await manager(store, 0), await manager(store, 1)
    written = [await each.set_state(tag, 5) for tag in ("a", "b", "a") for each in (one, other)]
    assert [(state.task, state.tag, state.version) for state in written] == [
        (0, "a", 1), (1, "a", 1), (0, "b", 1), (1, "b", 1), (0, "a", 2), (1, "a", 2),
    ]  # fmt: skip


async def test_a_write_that_is_repeated_is_answered_as_the_first_time(store: StateStore) -> None:
    one = await manager(store)
    first = await one.set_state("a", 1, event_id="e")
    await one.set_state("a", 2)
    assert await one.set_state("a", 9, "other text", event_id="e") == first
    assert (await one.get_state(task=0, tag="a")).status == 2
    assert (await one.set_state("b", 3, event_id="e")).version == 1, "another tag is another write"


async def test_convenience(store: StateStore) -> None:
    one = await manager(store)
    assert (await one.set_started("a")).status == 1
    assert (await one.set_finished("a")).status == FINISHED
    failed = await one.set_error("a", ValueError("no disk"), code=-7)
    assert (failed.status, failed.severity, failed.message) == (-7, Severity.ERROR, "no disk")
    with pytest.raises(InvalidRequest, match="negative"):
        await one.set_error("a", "x", code=0)


async def test_a_warning_leaves_the_status_as_it_is(store: StateStore) -> None:
    one = await manager(store)
    assert (await one.set_warning("a", "slow")).status == 0
    await one.set_error("a", "broken")
    warned = await one.set_warning("a", "slow")
    assert (warned.status, warned.severity, warned.version) == (-1, Severity.WARNING, 3)


AGGREGATES: list[tuple[str, list[tuple[int, str, int]], dict[str, Any], tuple[int, int, str]]] = [
    ("nothing at all", [], {}, (0, 0, "")),
    ("nothing of a tag", [], {"tag": "a"}, (0, 0, "a")),
    ("nothing of a task", [(0, "a", 5)], {"task": 1}, (0, 1, "")),
    ("a task without states counts as not started", [(0, "a", 5), (2, "a", 7)], {"tag": "a"}, (0, 1, "a")),
    ("the lowest of a tag", [(0, "a", 5), (1, "a", 4), (2, "a", 7)], {"tag": "a"}, (4, 1, "a")),
    ("the lowest of a task", [(0, "a", 5), (0, "b", 3)], {"task": 0}, (3, 0, "b")),
    ("an error before what has not started", [(1, "a", -1)], {}, (-1, 1, "a")),
    ("the lowest error", [(0, "a", -1), (1, "a", -5), (2, "a", 3)], {}, (-5, 1, "a")),
    ("of equals the lowest task", [(2, "a", 4), (1, "a", 4), (0, "a", 9)], {"tag": "a"}, (4, 1, "a")),
    ("of equals of a task the oldest", [(0, "b", 4), (0, "a", 4)], {"task": 0}, (4, 0, "b")),
    ("all finished", [(0, "a", FINISHED), (1, "a", FINISHED), (2, "b", FINISHED)], {}, (FINISHED, 0, "a")),
]


@pytest.mark.parametrize("_name, writes, scope, expected", AGGREGATES, ids=[case[0] for case in AGGREGATES])
async def test_the_lowest_status_wins(store: StateStore, _name: str, writes: Any, scope: Any, expected: Any) -> None:
    managers = [await manager(store, task) for task in range(3)]
    for task, tag, status in writes:
        await managers[task].set_state(tag, status)
    found = await managers[0].get_state(**scope)
    assert (found.status, found.task, found.tag) == expected


async def test_a_job_is_not_finished_before_its_expected_tags_are(store: StateStore) -> None:
    one = await manager(store, 0, 1, tags=("a", "b"))
    await one.set_finished("a")
    assert (await one.get_state()).status == 0
    await one.set_finished("b")
    assert (await one.get_state()).status == FINISHED


MISTAKES: list[tuple[str, dict[str, Any], type[Exception]]] = [
    ("another task", {"task": 1}, InvalidRequest),
    ("another job", {"job_id": "other"}, InvalidRequest),
    ("a status beyond 32 bits", {"status": FINISHED + 1}, InvalidRequest),
    ("a status below 32 bits", {"status": LOWEST - 1}, InvalidRequest),
    ("a status that is no number", {"status": True}, InvalidRequest),
    ("no tag", {"tag": ""}, InvalidRequest),
    ("a tag of 2,000 bytes", {"tag": "t" * 2000}, TooLarge),
    ("a tag with a slash", {"tag": "a/b"}, InvalidRequest),
    ("a payload that is no JSON", {"payload": {1, 2}}, InvalidRequest),
    ("an event id that is too long", {"event_id": "e" * 300}, TooLarge),
    ("a schema version of nothing", {"schema_version": 0}, InvalidRequest),
]


@pytest.mark.parametrize("_name, mistake, error", MISTAKES, ids=[case[0] for case in MISTAKES])
async def test_a_mistake_is_named_and_nothing_is_stored(
    store: StateStore, _name: str, mistake: Any, error: type[Exception]
) -> None:
    one = await manager(store)
    with pytest.raises(error):
        await one.set_state(**{"tag": "a", "status": 1, **mistake})
    assert list((await store.states("job")).states) == []


async def test_a_job_has_the_tasks_it_was_made_with(store: StateStore) -> None:
    await manager(store, 0, 3)
    with pytest.raises(InvalidRequest, match="num_tasks"):
        await manager(store, 0, 4)
    with pytest.raises(InvalidRequest, match="task"):
        await manager(store, 3, 3)
    assert (await manager(store, 2, None)).job.tasks == 3
    with pytest.raises(NotFound):
        await StateManager.open("nobody", 0, None, store)


async def test_a_monitor_sees_everything_and_writes_nothing(store: StateStore) -> None:
    one = await manager(store)
    await one.set_started("a")
    monitor = await manager(store, None)
    assert (await monitor.get_state(task=0, tag="a")).status == 1
    with pytest.raises(InvalidRequest, match="monitor"):
        await monitor.set_state("a", 2)


async def test_replay_then_live(store: StateStore) -> None:
    one, other = await manager(store, 0), await manager(store, 1)
    await one.set_state("a", 1)
    await other.set_state("a", 1)
    await one.set_state("a", 2)
    async with contextlib.aclosing(one.subscribe()) as messages:
        assert summary(await taken(messages, 3)) == [(1, "a", 1, True), (0, "a", 2, True), MessageKind.REPLAY_COMPLETE]
        await other.set_state("b", 7)
        await one.set_state("a", 3)
        assert summary(await taken(messages, 2)) == [(1, "b", 1, False), (0, "a", 3, False)]


@pytest.mark.parametrize("read", ["head", "states"])
async def test_a_write_between_the_snapshot_and_the_cursor_is_delivered_once(
    store: StateStore, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    one, other = await manager(store, 0), await manager(store, 1)
    await one.set_state("a", 1)
    reader = store if read == "states" else (await store.feed(one.job.job_id)).log
    real, writes = getattr(reader, read), [5]

    async def read_then_write(*arguments: Any) -> Any:
        found = await real(*arguments)
        if writes:
            await other.set_state("a", writes.pop())
        return found

    monkeypatch.setattr(reader, read, read_then_write)
    async with contextlib.aclosing(one.subscribe()) as messages:
        met = await taken(messages, 3)
        await other.set_state("a", 6)
        met += await taken(messages, 1)
    states = [(message.item.task, message.item.version) for message in met if message.item]
    assert writes == []
    assert states == [(0, 1), (1, 1), (1, 2)]


async def test_an_empty_replay_is_complete_too(store: StateStore) -> None:
    one = await manager(store)
    async with contextlib.aclosing(one.subscribe(tag="a")) as messages:
        assert summary(await taken(messages, 1)) == [MessageKind.REPLAY_COMPLETE]


@pytest.mark.parametrize(
    "scope, expected",
    [
        ({}, [(0, "a"), (0, "b"), (1, "a"), (1, "b")]),
        ({"tag": "a"}, [(0, "a"), (1, "a")]),
        ({"task": 1}, [(1, "a"), (1, "b")]),
        ({"task": 1, "tag": "b"}, [(1, "b")]),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_subscription_has_its_scope(store: StateStore, scope: Any, expected: Any, when: str) -> None:
    managers = [await manager(store, task) for task in range(2)]

    async def write() -> None:
        for task in managers:
            for tag in ("a", "b"):
                await task.set_state(tag, 5)

    if when == "before":
        await write()
    async with contextlib.aclosing(managers[0].subscribe(**scope)) as messages:
        found = await taken(messages, len(expected) + 1 if when == "before" else 1)
        if when == "after":
            await write()
            found += await taken(messages, len(expected))
    assert [(message.item.task, message.item.tag) for message in found if message.item] == expected


async def test_a_cursor_goes_on_where_it_was_and_zero_replays_everything(store: StateStore) -> None:
    one = await manager(store)
    for status in range(1, 4):
        await one.set_state("a", status)
    async with contextlib.aclosing(one.subscribe(after="0")) as messages:
        found = await taken(messages, 4)
    assert summary(found) == [(0, "a", 1, True), (0, "a", 2, True), (0, "a", 3, True), MessageKind.REPLAY_COMPLETE]
    await one.set_state("a", 4)
    async with contextlib.aclosing(one.subscribe(after=found[1].cursor)) as messages:
        assert summary(await taken(messages, 3)) == [(0, "a", 3, True), (0, "a", 4, True), MessageKind.REPLAY_COMPLETE]
        await one.set_state("a", 5)
        assert summary(await taken(messages, 1)) == [(0, "a", 5, False)]


async def test_a_cursor_of_another_job_is_refused(store: StateStore) -> None:
    one = await manager(store)
    with pytest.raises(InvalidRequest, match="cursor"):
        await anext(one.subscribe(after="no cursor"))


async def test_a_deleted_job_is_gone_and_a_new_one_of_its_name_is_another(store: StateStore) -> None:
    one = await manager(store)
    await one.set_finished("a")
    other = await manager(store, 1)
    with pytest.raises(InvalidRequest, match="task 0"):
        await other.delete_job()
    assert await one.delete_job()
    assert not await one.delete_job()
    with pytest.raises(NotFound):
        await one.set_started("a")
    again = await manager(store, 0, 5)
    assert (again.job.generation, (await again.get_state()).status) == (2, 0)
    with pytest.raises(NotFound):
        await one.set_started("a")


async def test_finished_jobs_are_forgotten_after_a_while(store: StateStore) -> None:
    one = await manager(store, 0, 1)
    await one.set_started("a")
    assert await store.forget(older=0) == []
    await one.set_finished("a")
    assert await store.forget(older=3600) == []
    assert await store.forget(older=0) == ["job"]
    with pytest.raises(NotFound):
        await store.find_job("job")


async def until_reset(messages: Messages) -> FeedMessage[State]:
    """The reset that a deletion is followed by; what was already on the way may come before it."""
    async with asyncio.timeout(300):
        while (message := await anext(messages)).kind is not MessageKind.RESET:
            pass
    return message


@pytest.mark.parametrize("scope", [{}, {"task": 0, "tag": "a"}])
@pytest.mark.parametrize("written", [True, False])
async def test_a_job_that_is_deleted_and_created_again_goes_on_in_the_same_subscription(
    store: StateStore, scope: Any, written: bool
) -> None:
    one = await manager(store)
    if written:
        await one.set_state("a", 1)
        await one.set_state("a", 2)
    async with contextlib.aclosing((await manager(store, None)).subscribe(**scope)) as messages:
        await taken(messages, 2 if written else 1)
        await one.delete_job()
        await until_reset(messages)
        again = await manager(store, 0, 5)
        await again.set_state("a", 7)
        await again.set_state("a", 8)
        found = await taken(messages, 2)
    assert summary(found) == [(0, "a", 1, False), (0, "a", 2, False)]
    assert [message.item and (message.item.generation, message.item.status) for message in found] == [(2, 7), (2, 8)]


async def test_a_subscriber_that_was_disconnected_during_a_deletion_gets_a_reset_and_the_whole_new_job(
    store: StateStore,
) -> None:
    one = await manager(store)
    await one.set_state("a", 1)
    async with contextlib.aclosing(one.subscribe()) as messages:
        cursor = (await taken(messages, 2))[-1].cursor
    await one.delete_job()
    again = await manager(store)
    await again.set_state("a", 7)
    for reader in (one, again):
        async with contextlib.aclosing(reader.subscribe(after=cursor)) as messages:
            assert summary(await taken(messages, 3)) == [
                MessageKind.RESET,
                (0, "a", 1, True),
                MessageKind.REPLAY_COMPLETE,
            ]
    async with contextlib.aclosing(again.subscribe(after="0")) as messages:
        assert summary(await taken(messages, 2)) == [(0, "a", 1, True), MessageKind.REPLAY_COMPLETE]


async def test_a_monitor_reads_a_job_that_was_created_again_as_it_is_now(store: StateStore) -> None:
    one, monitor = await manager(store, 0, 1), await manager(store, None, 1)
    await one.set_finished("a")
    await one.delete_job()
    again = await manager(store, 0, 2)
    await again.set_finished("a")
    assert (await monitor.get_state()).status == 0, "the second task has no state"
    assert (await monitor.get_state(task=1, tag="a")).status == 0
    assert (await monitor.get_state(task=0, tag="a")).generation == 2


@pytest.mark.parametrize("by", ["manager", "store"])
async def test_closing_ends_a_subscription_that_waits(store: StateStore, by: str) -> None:
    one = await manager(store)
    messages = one.subscribe()
    await taken(messages, 1)
    await one.set_state("a", 1)
    assert summary(await taken(messages, 1)) == [(0, "a", 1, False)], "it is live"
    waiting = asyncio.ensure_future(anext(messages, None))
    await let_others_run()
    await (one if by == "manager" else store).close()
    async with asyncio.timeout(300):
        assert await waiting is None
    await messages.aclose()


async def test_closing_a_manager_leaves_the_subscriptions_of_others_alone(store: StateStore) -> None:
    one, other = await manager(store, 0), await manager(store, 1)
    async with contextlib.aclosing(other.subscribe()) as messages:
        await taken(messages, 1)
        await one.close()
        await other.set_state("a", 1)
        assert summary(await taken(messages, 1)) == [(1, "a", 1, False)]


async def test_old_versions_that_a_newer_one_follows_are_pruned_and_an_older_cursor_gets_a_reset(
    store: StateStore,
) -> None:
    one, other = await manager(store, 0), await manager(store, 1)
    await one.set_state("a", 1)
    async with contextlib.aclosing(one.subscribe()) as messages:
        cursor = (await taken(messages, 2))[-1].cursor
    await other.set_state("a", 5)
    await one.set_state("a", 2)
    last = await one.set_state("a", 3, event_id="event 3")
    async with contextlib.aclosing(one.subscribe()) as live:
        await taken(live, 3)
        assert await store.prune(older=3600) == 0
        assert await store.prune(older=0) == 2
        assert await store.prune(older=0) == 0
        await one.set_state("a", 4)
        assert summary(await taken(live, 1)) == [(0, "a", 4, False)], "a reader past the pruned versions needs no reset"
    assert await one.set_state("a", 9, event_id="event 3") == last, "the newest version is still known by its event"
    async with contextlib.aclosing(one.subscribe(after=cursor)) as messages:
        found = summary(await taken(messages, 4))
    assert found == [MessageKind.RESET, (0, "a", 3, True), (0, "a", 4, True), MessageKind.REPLAY_COMPLETE]
    async with contextlib.aclosing(one.subscribe(after="0")) as messages:
        assert summary(await taken(messages, 4))[-1] == MessageKind.REPLAY_COMPLETE
    assert (await other.get_state(task=1, tag="a")).status == 5, "however old, the newest version stays"

"""What is Firestore's own: names, cuts, cursors that are times, versions that were missed, and what a project needs."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import google.cloud
import pytest

from reelstate.core.errors import InvalidRequest, StoreUnavailable
from reelstate.core.state import State, StateJob, StateKey
from reelstate.feed import feed
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.states import firestore_log
from reelstate.states.firestore import EMULATOR, MILLISECOND, FirestoreStore
from reelstate.states.firestore_documents import LoggedState, can_hold, job_name, log_name, state_name
from reelstate.states.firestore_log import FirestoreLog
from reelstate.states.manager import StateManager
from tests.states.conftest import PROJECT, firestore_states
from tests.states.emulated import emulator, proxy_to

SECONDS = 120


async def manager(store: FirestoreStore, task: int | None = 0, tasks: int = 3) -> StateManager:
    return await StateManager.open("job", task, tasks, store)


async def versions(messages: AsyncGenerator[FeedMessage[State], None], count: int) -> list[tuple[int, str, int]]:
    """Return the next `count` states, without the other messages between them."""
    found: list[tuple[int, str, int]] = []
    async with asyncio.timeout(SECONDS):
        async for message in messages:
            if message.item is not None:
                found.append((message.item.task, message.item.tag, message.item.version))
            if len(found) == count:
                break
    return found


@asynccontextmanager
async def two_stores(project: str) -> Any:
    """As two processes have them."""
    async with firestore_states(project) as one:
        name = one._jobs.id
        async with firestore_states(project, collection=name) as other:
            yield one, other


async def store_late(store: FirestoreStore, tag: str, version: int, stamped: datetime) -> None:
    """A version whose commit comes long after the server has stamped it."""
    fields = {
        "taskID": 0, "tag": tag, "status": 5, "severity": "info", "message": "", "version": version,
        "eventID": f"late-{version}", "payload": None, "payloadText": None, "schemaVersion": 1, "generation": 1,
        "timestamp": stamped,
    }  # fmt: skip
    document = store._document("job")
    batch = store._client.batch()
    batch.set(document.collection("states").document(state_name(StateKey(0, tag))), fields)
    batch.create(document.collection("log").document(log_name(1, StateKey(0, tag), f"late-{version}")), fields)
    await batch.commit()


async def test_after_a_broken_connection_nothing_is_missed_or_delivered_twice(
    firestore_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy_to(firestore_server) as proxy, asyncio.timeout(SECONDS):
        monkeypatch.setenv(EMULATOR, proxy.address)
        project = f"cut-{os.getpid()}-{id(proxy)}"
        reader = FirestoreStore(project, delay=0.05)
        monitor = await manager(reader, None)
        monkeypatch.setenv(EMULATOR, firestore_server)
        writer = FirestoreStore(project)
        one = await manager(writer)
        kinds: list[MessageKind] = []
        seen: list[int] = []
        received = {kind: asyncio.Event() for kind in MessageKind}

        async def follow() -> None:
            async with contextlib.aclosing(monitor.subscribe(after="0")) as messages:
                async for message in messages:
                    kinds.append(message.kind)
                    received[message.kind].set()
                    if message.item is not None:
                        seen.append(message.item.version)
                        if message.item.version == 30:
                            return

        following = asyncio.create_task(follow())
        for number in range(30):
            if number in {10, 20}:
                received[MessageKind.STALE].clear()
                await proxy.cut()
                await received[MessageKind.STALE].wait()
            await one.set_state("a", number)
            if number in {15, 25}:
                received[MessageKind.FRESH].clear()
                await proxy.restore()
                await received[MessageKind.FRESH].wait()
                while len(seen) <= number:  # what was missed comes by itself, not with the next write
                    received[MessageKind.ITEM].clear()
                    await received[MessageKind.ITEM].wait()
        await following
        await reader.close()
        await writer.close()
    assert seen == list(range(1, 31))
    assert kinds.count(MessageKind.STALE) == kinds.count(MessageKind.FRESH) == 2
    assert kinds.count(MessageKind.REPLAY_COMPLETE) == 1


async def test_the_server_is_killed_and_started_again(firestore_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It restarts with all acknowledged writes; a writer repeats those without a response."""
    assert firestore_server, "an emulator can be started here"
    with emulator() as server:
        monkeypatch.setenv(EMULATOR, server.address)
        store, writer = FirestoreStore("restart", delay=0.05), FirestoreStore("restart", delay=0.05)
        monitor, one = await manager(store, None), await manager(writer)
        seen: list[int] = []
        kinds: list[MessageKind] = []
        received = asyncio.Event()

        async def follow() -> None:
            async with contextlib.aclosing(monitor.subscribe(after="0")) as messages:
                async for message in messages:
                    kinds.append(message.kind)
                    received.set()
                    if message.item is not None:
                        seen.append(message.item.version)
                        if message.item.version == 40:
                            return

        async def until(*, stale: bool) -> None:
            while (kinds.count(MessageKind.STALE) > kinds.count(MessageKind.FRESH)) is not stale:
                received.clear()
                await received.wait()

        async def write(number: int) -> None:
            while True:
                with contextlib.suppress(StoreUnavailable):
                    await one.set_state("a", number, event_id=f"event-{number}")
                    return

        async with asyncio.timeout(SECONDS):
            following = asyncio.create_task(follow())
            for number in range(1, 41):
                if number in {10, 25}:
                    await until(stale=False)
                    server.kill()
                    await until(stale=True)
                    await asyncio.to_thread(server.start)
                await write(number)
            await following
        await store.close()
        await writer.close()
    assert seen == list(range(1, 41))
    assert kinds.count(MessageKind.STALE) == kinds.count(MessageKind.FRESH) == 2
    assert kinds.count(MessageKind.REPLAY_COMPLETE) == 1


async def test_only_jobs_that_are_due_are_looked_at_to_be_forgotten(
    firestore_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    async with firestore_states(firestore_project) as store:
        look = store._newest

        async def noted(job: StateJob) -> tuple[datetime, bool]:
            looked.append(job.job_id)
            return await look(job)

        monkeypatch.setattr(store, "_newest", noted)
        for number in range(5):
            await (await StateManager.open(f"job-{number}", 0, 1, store)).set_started("a")
        await (await StateManager.open("over", 0, 1, store)).set_finished("a")
        assert await store.forget(older=3600) == []
        assert looked == []
        assert await store.forget(older=0) == ["over"]
        assert len(looked) == 6
        assert await store.forget(older=3600) == []
        await store.forget(older=0)
        assert sorted(looked[6:]) == [f"job-{number}" for number in range(5)], "a tombstone is not looked at"


async def test_a_commit_whose_answer_is_lost_is_made_once(
    firestore_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy_to(firestore_server) as proxy, asyncio.timeout(SECONDS):
        monkeypatch.setenv(EMULATOR, proxy.address)
        store = FirestoreStore(f"lost-{os.getpid()}-{id(proxy)}")
        one = await manager(store)
        await one.set_state("a", 1)
        proxy.lose_answer_to(b"eventID")
        assert (await one.set_state("a", 2, event_id="second")).version == 2
        assert proxy.answers_lost == 1
        assert (await one.set_state("a", 3)).version == 3
        logged = [found.to_dict()["status"] async for found in store._document("job").collection("log").stream()]
        await store.close()
    assert sorted(logged) == [1, 2, 3]


async def test_two_processes_write_and_every_reader_sees_every_version_once(firestore_project: str) -> None:
    tasks, tags, count = 4, 2, 6
    everything = tasks * tags * count
    async with two_stores(firestore_project) as (one, other), asyncio.timeout(2 * SECONDS):
        monitors = [await manager(store, None, tasks) for store in (one, other)]

        async def write(task: int, tag: int) -> None:
            own = await manager((one, other)[task % 2], task, tasks)
            for status in range(count):
                await own.set_state(f"tag-{tag}", status)

        async def read(monitor: StateManager, leaves: int) -> list[tuple[int, str, int]]:
            """Reconnects with its cursor after a number of messages."""
            cursor = "0"
            seen: list[tuple[int, str, int]] = []
            while len(seen) < everything:
                left = leaves
                async with contextlib.aclosing(monitor.subscribe(after=cursor)) as messages:
                    async for message in messages:
                        cursor = message.cursor
                        if message.item is not None:
                            seen.append((message.item.task, message.item.tag, message.item.version))
                            left -= 1
                        if not left or len(seen) == everything:
                            break
            return seen

        readers = [asyncio.create_task(read(monitor, leaves)) for monitor in monitors for leaves in (everything, 7, 40)]
        await asyncio.gather(*(write(task, tag) for task in range(tasks) for tag in range(tags)))
        seen = await asyncio.gather(*readers)
        for each in seen:
            assert len(each) == len(set(each)) == everything
            assert each == seen[0], "all see the same order"
        assert sorted(seen[0]) == sorted(
            (task, f"tag-{tag}", version + 1)
            for task in range(tasks)
            for tag in range(tags)
            for version in range(count)
        )
        assert len(one._logs) == len(other._logs) == 1, "one listener a process and job"


async def test_what_is_older_than_the_tail_is_read_from_the_store(
    firestore_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PAGE", 7)
    monkeypatch.setattr(firestore_log, "TAIL_LENGTH", 5)
    async with two_stores(firestore_project) as (one, other):
        writer = await manager(one)
        async with contextlib.aclosing(writer.subscribe()) as messages:
            assert (await anext(messages)).kind is MessageKind.REPLAY_COMPLETE
            for status in range(40):
                await writer.set_state("a", status)
            assert await versions(messages, 40) == [(0, "a", version) for version in range(1, 41)]
        (log,) = one._logs.values()
        assert len(log._tail) <= 10, "the tail does not grow"
        for store in (one, other):
            async with contextlib.aclosing((await manager(store, None)).subscribe(after="0")) as messages:
                assert await versions(messages, 40) == [(0, "a", version) for version in range(1, 41)]


async def test_a_commit_that_took_seconds_is_not_missed_by_a_cursor(firestore_project: str) -> None:
    async with two_stores(firestore_project) as (one, other):
        writer = await manager(one)
        await writer.set_state("a", 1)
        async with contextlib.aclosing(writer.subscribe(after="0")) as messages:
            cursor = (await anext(messages)).cursor
        await store_late(one, "late", 1, datetime.now(UTC) - timedelta(seconds=10))
        await writer.set_state("a", 2)
        async with contextlib.aclosing((await manager(other, None)).subscribe(after=cursor)) as messages:
            assert await versions(messages, 2) == [(0, "late", 1), (0, "a", 2)]


async def test_a_version_that_was_missed_is_fetched_before_the_next(firestore_project: str) -> None:
    async with firestore_states(firestore_project) as store:
        one = await manager(store)
        await one.set_state("a", 1)
        async with contextlib.aclosing(one.subscribe()) as messages:
            assert await versions(messages, 1) == [(0, "a", 1)]
            await store_late(store, "a", 2, datetime.now(UTC) - timedelta(hours=1))
            await one.set_state("a", 3)
            assert await versions(messages, 2) == [(0, "a", 2), (0, "a", 3)]
        assert [log.back_filled for log in store._logs.values()] == [1]


async def test_the_cache_has_the_writes_of_other_processes(firestore_project: str) -> None:
    async with two_stores(firestore_project) as (one, other):
        monitor = await manager(one, None)
        assert (await monitor.get_state()).status == 0
        async with contextlib.aclosing(monitor.subscribe()) as messages:
            await (await manager(other)).set_state("a", 7)
            assert await versions(messages, 1) == [(0, "a", 1)]
        (log,) = one._logs.values()
        assert [(state.status, state.version) for state in log.states()] == [(7, 1)]


async def test_a_writer_reads_its_own_write_at_once_and_from_memory(firestore_project: str) -> None:
    async with firestore_states(firestore_project) as store:
        one = await manager(store)
        assert (await one.get_state()).status == 0
        for status in range(1, 6):
            stored = await one.set_state("a", status)
            assert await one.get_state(task=0, tag="a") == stored
        assert (store.figures.cache_hits, store.figures.cache_misses, store.figures.writes) == (5, 1, 5)


@pytest.mark.parametrize(
    "payload, held",
    [([1, {"a": [2]}], True), ([[1]], False), ({"a": [[1]]}, False), ({"__a__": 1}, False), ({"": 1}, False)],
)
def test_values_that_a_document_can_not_hold_are_detected(payload: Any, held: bool) -> None:
    assert can_hold(payload) is held


async def test_a_payload_of_any_shape_and_a_tag_of_any_letters_come_back(firestore_project: str) -> None:
    shapes: list[Any] = [[[1, [2]], []], {"__name__": 1}, {"": 1}, 1.0, 2**50, "text", None, {"a": {"b": [1, {}]}}]
    for _ in range(30):
        shapes[0] = {"deep": shapes[0]}
    async with two_stores(firestore_project) as (one, other):
        writer = await manager(one)
        for number, shape in enumerate(shapes):
            await writer.set_state(f"% é:{number}-x.", 1, payload=shape)
        found = {state.tag: state.payload for state in (await other.states("job")).states}
    assert found == {f"% é:{number}-x.": shape for number, shape in enumerate(shapes)}


@pytest.mark.parametrize("name", [".", "..", "__x__", "a/b", "ü", "job"])
def test_a_job_has_a_name_that_firestore_takes(name: str) -> None:
    made = job_name(name)
    assert made not in {".", ".."}
    assert not (made.startswith("__") and made.endswith("__"))
    assert "/" not in made
    assert (made == name) == (name == "job")


async def test_a_deleted_job_leaves_a_tombstone_and_nothing_else(
    firestore_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.states.firestore.BATCH", 3)
    async with firestore_states(firestore_project) as store:
        one = await manager(store)
        for status in range(8):
            await one.set_state("a", status)
        await one.delete_job()
        document = store._document("job")
        left = [[found.id async for found in document.collection(name).stream()] for name in ("states", "log")]
        assert left == [[], ["deleted"]]
        assert (await document.get()).to_dict()["deleted"] is True


async def test_calls_are_bounded(firestore_project: str) -> None:
    async with firestore_states(firestore_project, calls=1) as store:
        one = await manager(store)
        async with store._calls:
            writing = asyncio.create_task(one.set_state("a", 1))
            _, waiting = await asyncio.wait({writing}, timeout=0.2)
            assert waiting == {writing}
        assert (await writing).version == 1


async def test_writers_of_one_key_in_one_process_wait_for_each_other(firestore_project: str) -> None:
    async with firestore_states(firestore_project) as store:
        one = await manager(store)
        written = await asyncio.gather(*(one.set_state("a", status) for status in range(10)))
    assert sorted(state.version for state in written) == list(range(1, 11))


async def test_no_version_is_returned_before_its_clock_tick_is_over(firestore_project: str) -> None:
    """Otherwise a commit of the same tick could get a position before a cursor that was returned."""
    async with firestore_states(firestore_project) as store:
        job = (await manager(store)).job
        log = FirestoreLog(
            store._client, store._document("job"), job, store._guard_call, store._floor, tick=MILLISECOND
        )
        now = 1_000 * MILLISECOND
        late, early = (
            LoggedState((now, 1, number), State(job_id="job", task=number, tag="a", version=1)) for number in (2, 1)
        )
        await log._add([late], now)
        assert (log._tail, await log.head()) == ([], log.first())
        await log._add([early], now + MILLISECOND)
        assert log._tail == [early, late]


async def test_writers_of_one_key_in_two_processes_get_versions_without_a_gap(firestore_project: str) -> None:
    if PROJECT not in os.environ:
        pytest.skip(f"THE EMULATOR DOES NOT ISOLATE TRANSACTIONS: name a real project in {PROJECT}")
    async with two_stores(firestore_project) as (one, other):
        writers = [await manager(store) for store in (one, other)]
        written = await asyncio.gather(*(each.set_state("a", 1) for each in writers for _ in range(5)))
    assert sorted(state.version for state in written) == list(range(1, 11))


def test_a_project_is_never_guessed() -> None:
    with pytest.raises(InvalidRequest, match="project_id"):
        FirestoreStore("")


def test_without_the_library_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.firestore", None)
    monkeypatch.delattr(google.cloud, "firestore", raising=False)
    with pytest.raises(StoreUnavailable, match=r"pip install reelstate\[firestore\]"):
        FirestoreStore("project")

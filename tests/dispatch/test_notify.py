import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.dispatch.notify import NotifyDispatch, NotifyTimings
from tests.dispatch.conftest import StartNotifier, wait_for
from tests.dispatch.pooler import pooled
from tests.postgres import PostgresServer, memory_folder
from tests.waiting import until, until_true


@asynccontextmanager
async def dispatching(url: str, **timings: float) -> AsyncIterator[NotifyDispatch]:
    dispatch = NotifyDispatch(url, NotifyTimings(**timings))
    await dispatch.open()
    try:
        yield dispatch
    finally:
        await dispatch.close()


@asynccontextmanager
async def raw_listener(url: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
    """A listener that counts every NOTIFY."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("LISTEN reelstate")
        yield connection


async def payloads(connection: psycopg.AsyncConnection[tuple[object, ...]], seconds: float) -> list[str]:
    """Return what is sent during the next seconds."""
    return [notification.payload async for notification in connection.notifies(timeout=seconds)]


async def sessions(url: str) -> list[str]:
    """Return the last statements of all other sessions of this database."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(
            "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return [str(query) for (query,) in await cursor.fetchall()]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that may be stopped."""
    with PostgresServer(folder=memory_folder()) as server:
        yield server


async def test_a_wakeup_reaches_its_own_process_at_once(postgres_url: str) -> None:
    async with dispatching(postgres_url) as dispatch:
        listener = dispatch.listen()
        dispatch.notify(Wakeup.WORK)
        assert await listener.wait(0) == {Wakeup.WORK}


async def test_another_process_receives_a_wakeup(postgres_url: str, start_notifier: StartNotifier) -> None:
    other = await start_notifier(postgres_url)
    async with dispatching(postgres_url) as dispatch:
        listener = dispatch.listen(EVERY_WAKEUP)
        assert await wait_for(listener, Wakeup.WORK) == set(Wakeup), "a new listener may have missed some"
        for wakeup in Wakeup:
            other.notify(wakeup)
            assert await wait_for(listener, wakeup) == {wakeup}


async def test_the_last_wakeup_of_a_process_is_sent(postgres_url: str, start_notifier: StartNotifier) -> None:
    async with raw_listener(postgres_url) as listening:
        other = await start_notifier(postgres_url)
        other.notify(Wakeup.WORK, Wakeup.STOP)
        await other.end()
        assert set(" ".join(await payloads(listening, 0.2)).split()) == {"work", "stop"}


async def test_a_process_does_not_receive_its_own_wakeups_again(postgres_url: str) -> None:
    async with dispatching(postgres_url) as dispatch, dispatching(postgres_url) as neighbour:
        own, theirs = dispatch.listen(EVERY_WAKEUP), neighbour.listen(EVERY_WAKEUP)
        await wait_for(own, Wakeup.WORK)
        await wait_for(theirs, Wakeup.WORK)
        dispatch.notify(Wakeup.WORK)
        assert await own.wait(0) == {Wakeup.WORK}
        await wait_for(theirs, Wakeup.WORK)
        neighbour.notify(Wakeup.STOP)
        assert await wait_for(own, Wakeup.STOP) == {Wakeup.STOP}


async def test_a_thousand_wakeups_are_a_handful_of_notifications(postgres_url: str) -> None:
    async with raw_listener(postgres_url) as listening, dispatching(postgres_url) as dispatch:
        dispatch.notify(Wakeup.WORK)
        await anext(listening.notifies(timeout=300))
        sending = asyncio.create_task(payloads(listening, 0.6))
        began = time.monotonic()
        for _ in range(100):
            for _ in range(10):
                dispatch.notify(Wakeup.WORK)
            await asyncio.sleep(0.002)  # the pace of a busy process
        took = time.monotonic() - began
        sent = await sending
    assert sent, "the last of them must not be lost"
    assert len(sent) <= took / 0.05 + 2


async def test_the_first_wakeup_after_a_pause_is_written_before_notify_returns(postgres_url: str) -> None:
    async with raw_listener(postgres_url) as listening, dispatching(postgres_url) as dispatch:
        dispatch.notify(Wakeup.WORK)
        await anext(listening.notifies(timeout=300))
        await until(lambda: dispatch._batch.is_idle)
        dispatch.notify(Wakeup.STOP)
        # This process does nothing more, not even a turn of its event loop: the server has it already.
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            until_true(lambda: _stop_was_sent(connection))


def _stop_was_sent(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    return bool(connection.execute("SELECT FROM pg_stat_activity WHERE query = 'NOTIFY reelstate, ''stop'''").rowcount)


async def test_connections_are_opened_when_they_are_needed(postgres_url: str) -> None:
    async with dispatching(postgres_url) as silent, dispatching(postgres_url) as submitter:
        assert await sessions(postgres_url) == []
        submitter.notify(Wakeup.WORK)
        await asyncio.wait_for(submitter._sender._idle.wait(), 300)
        assert await sessions(postgres_url) == ["NOTIFY reelstate, 'work'"]
        listener = silent.listen(EVERY_WAKEUP)
        await wait_for(listener, Wakeup.WORK)
        assert sorted(await sessions(postgres_url)) == ["NOTIFY reelstate, 'work'", "SELECT pg_backend_pid()"]

    async def all_ended() -> bool:
        return not await sessions(postgres_url)

    await until(all_ended, "the server has ended the sessions")


async def test_after_a_restart_both_ends_reconnect_and_all_listeners_wake(
    own_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = own_server.url
    async with dispatching(url) as sender, dispatching(url) as listening:
        listener = listening.listen(EVERY_WAKEUP)
        await wait_for(listener, Wakeup.WORK)
        sender.notify(Wakeup.STOP)
        assert await wait_for(listener, Wakeup.STOP) == {Wakeup.STOP}
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, own_server.stop, "immediate")
        sender.notify(Wakeup.WORK)  # no listener can receive it now
        assert await listener.wait(0.3) == frozenset()
        await loop.run_in_executor(None, own_server.start)
        assert await wait_for(listener, Wakeup.WORK) == set(Wakeup)
        await listener.wait(0.5)
        await asyncio.wait_for(sender._sender._idle.wait(), 300)
        sender.notify(Wakeup.STOP)
        assert Wakeup.STOP in await wait_for(listener, Wakeup.STOP)
    warnings = [record for record in caplog.records if "unreachable" in record.message]
    assert len(warnings) == 1, "logged once, however often it was tried"


async def test_a_wakeup_under_way_when_the_connection_broke_is_sent_again(own_server: PostgresServer) -> None:
    async with dispatching(own_server.url) as sender, raw_listener(own_server.url) as listening:
        sender.notify(Wakeup.WORK)
        await anext(listening.notifies(timeout=300))
        await until(lambda: sender._batch.is_idle)
        with psycopg.connect(own_server.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [sender._sender.pid])
        sender.notify(Wakeup.STOP)  # this end has not seen yet that the other is gone
        assert (await anext(listening.notifies(timeout=300))).payload == "stop"


async def test_on_a_dead_server_a_wakeup_costs_nothing_and_is_logged_once(
    caplog: pytest.LogCaptureFixture, refusing_port: int
) -> None:
    async with dispatching(f"postgresql://nobody@127.0.0.1:{refusing_port}/nowhere", flush=3600.0) as dispatch:
        listener = dispatch.listen(EVERY_WAKEUP)
        began = time.perf_counter()
        for _ in range(1000):
            dispatch.notify(Wakeup.WORK)
        assert time.perf_counter() - began < 60
        assert await listener.wait(0) == {Wakeup.WORK}
        await listener.wait(0.5)  # long enough for some retries
        dispatch.notify(Wakeup.WORK)
        began = time.perf_counter()
    assert time.perf_counter() - began < 600, "closing does not wait for an unreachable server"
    assert sorted(record.message.split(" error=")[0] for record in caplog.records) == [
        "no wake-ups, database unreachable",
        "wake-ups not sent",
    ]


async def test_behind_a_pooler_that_delivers_nothing_it_falls_back_to_polling(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with pooled(postgres_url, drops_notifications=True) as url, dispatching(url, probe=0.2) as dispatch:
        listener = dispatch.listen(EVERY_WAKEUP)
        assert dispatch._listening is not None
        with caplog.at_level(logging.WARNING):
            await asyncio.wait_for(dispatch._listening, 300)
        assert len(caplog.records) == 1
        assert "REEL_DISPATCH=poll" in caplog.text
        dispatch.notify(Wakeup.WORK)
        assert await listener.wait(0) == {Wakeup.WORK}, "its own wake-ups still arrive"
        dispatch.listen()
        assert dispatch._listening.done(), "it stays off"


async def test_a_server_that_refuses_to_listen_is_tried_again(
    own_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = own_server.new_database()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as owner:
        await owner.execute("CREATE ROLE guest LOGIN")
        await owner.execute("REVOKE EXECUTE ON FUNCTION pg_backend_pid() FROM PUBLIC")
        async with dispatching(f"{url}?user=guest", refused_retry=0.05) as dispatch:
            listener = dispatch.listen(EVERY_WAKEUP)
            with caplog.at_level(logging.WARNING):
                while "permission denied" not in caplog.text:
                    assert await listener.wait(0.05) == set()
            await owner.execute("GRANT EXECUTE ON FUNCTION pg_backend_pid() TO PUBLIC")
            assert await wait_for(listener, Wakeup.WORK) == set(Wakeup), "it has missed nothing that matters"
    assert len(caplog.records) == 1


async def test_behind_a_pooler_that_keeps_sessions_it_listens(postgres_url: str, start_notifier: StartNotifier) -> None:
    other = await start_notifier(postgres_url)
    async with pooled(postgres_url, drops_notifications=False) as url, dispatching(url) as dispatch:
        listener = dispatch.listen(EVERY_WAKEUP)
        await wait_for(listener, Wakeup.WORK)
        other.notify(Wakeup.STOP)
        assert await wait_for(listener, Wakeup.STOP) == {Wakeup.STOP}


async def test_unknown_payloads_wake_no_listener(postgres_url: str) -> None:
    async with dispatching(postgres_url) as dispatch:
        listener = dispatch.listen(EVERY_WAKEUP)
        await wait_for(listener, Wakeup.WORK)
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            for payload in ("gong", "", "work-ish", "stop"):
                await connection.execute("SELECT pg_notify('reelstate', %s)", [payload])
        assert await wait_for(listener, Wakeup.STOP) == {Wakeup.STOP}


async def test_after_close_notify_does_nothing(postgres_url: str) -> None:
    async with dispatching(postgres_url) as dispatch:
        dispatch.notify(Wakeup.WORK)
    dispatch.notify(Wakeup.WORK)

    async def none_left() -> bool:
        return await sessions(postgres_url) == []

    await until(none_left, "the server has ended the session")

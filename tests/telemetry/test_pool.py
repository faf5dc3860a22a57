"""The figures of the connection pool: its size, calls that wait, connections that are lost."""

import asyncio

import psycopg

from reelstate.app import open_engine, store_at
from reelstate.stores.store import Transaction
from tests.waiting import let_others_run, until


async def test_a_call_that_waits_for_a_connection_is_counted(migrated_url: str) -> None:
    async with open_engine(migrated_url, migrate=False, connections=1) as engine:
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(_: Transaction) -> None:
            held.set()
            await go_on.wait()

        async def pass_by(_: Transaction) -> None:
            pass

        first = asyncio.create_task(engine.store.read(hold))
        await held.wait()
        second = asyncio.create_task(engine.store.read(pass_by))
        await until(lambda: engine.store.pool().waiting == 1)
        assert engine.store.pool().size == 1
        go_on.set()
        await asyncio.gather(first, second)
        assert engine.store.pool().waiting == 0


async def test_a_lost_connection_is_counted(migrated_url: str) -> None:
    async with open_engine(migrated_url, migrate=False, connections=1) as engine:
        await engine.ready()
        before = engine.store.pool().errors
        async with await psycopg.AsyncConnection.connect(migrated_url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await engine.ready()
        assert engine.store.pool().errors > before


async def test_a_call_that_waits_for_the_thread_of_sqlite_is_counted() -> None:
    store = store_at("sqlite://")
    await store.migrate()
    await store.open()
    try:
        reads = [asyncio.create_task(store.missing_guards()) for _ in range(50)]
        await let_others_run()
        assert (store.pool().size, store.pool().waiting > 0) == (1, True)
        await asyncio.gather(*reads)
        assert store.pool().waiting == 0
    finally:
        await store.close()

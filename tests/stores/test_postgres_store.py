"""Failures of a PostgreSQL server, and how the store recovers."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from reelstate.app import open_engine, store_at
from reelstate.config import Settings
from reelstate.core.errors import SchemaMismatch, StoreUnavailable
from reelstate.core.machine import JobStatus
from reelstate.core.model import Completion, SubmitOptions, Verdict
from reelstate.engine import Engine
from reelstate.stores.postgres.store import PostgresStore
from reelstate.stores.store import STATEMENTS, Transaction
from tests.engines import FAN, PARTS, SIMPLE, a_worker, engine_at
from tests.faults.proxy import Cut, through_proxy
from tests.postgres import PostgresServer, PostgresUnavailable, system_bins
from tests.waiting import let_others_run


@pytest.fixture
def url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)


@pytest.fixture
async def onlooker(url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield connection


async def fetch(connection: psycopg.AsyncConnection[Any], query: str) -> Any:
    row = await (await connection.execute(query)).fetchone()
    return row and row[0]


def connection_of(transaction: Transaction) -> psycopg.AsyncConnection[Any]:
    return transaction._connection  # type: ignore[attr-defined]


SUBMIT = b"INSERT INTO reelstate.jobs"
CLAIM = b"taken AS"
WORKER: dict[str, Any] = {
    "name": "w",
    "hostname": "h",
    "software": "s",
    "kind": "local",
    "slots": 1,
    "capabilities": [],
    "pipelines": [],
    "metadata": None,
    "max_instances": None,
}


class Counting:
    """A flow that counts its runs, and runs a callback first."""

    def __init__(self) -> None:
        self.runs = 0

    async def note(self, transaction: Transaction) -> int:
        self.runs += 1
        ((number,),) = await transaction.run(STATEMENTS["submit_ids"], count=1)
        await transaction.run(STATEMENTS["workers_register"], id=number, **WORKER)
        await connection_of(transaction).execute(
            "INSERT INTO reelstate.facts VALUES ('noted', '1') ON CONFLICT (name)"
            " DO UPDATE SET value = (facts.value::integer + 1)::text"
        )
        return self.runs


# A connection cut at COMMIT.


@pytest.mark.parametrize("cut, runs", [("after", 1), ("before", 2)])
async def test_a_connection_cut_at_commit_leaves_one_effect(
    url: str, onlooker: psycopg.AsyncConnection[Any], cut: Cut, runs: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        counting = Counting()
        proxy.cut = cut
        assert await engine.store.write(counting.note) == runs
        assert (proxy.cuts, counting.runs) == (1, runs)
        assert await fetch(onlooker, "SELECT value FROM reelstate.facts WHERE name = 'noted'") == "1"
    assert any("connection lost during COMMIT" in record.message for record in caplog.records)


@pytest.mark.parametrize("options", [{}, {"idempotency_key": "k"}], ids=["by one statement", "with a key"])
@pytest.mark.parametrize("cut", ["after", "before"])
async def test_a_submit_cut_at_commit_makes_one_job(
    url: str, onlooker: psycopg.AsyncConnection[Any], cut: Cut, options: SubmitOptions
) -> None:
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        proxy.at, proxy.cut = None if options else SUBMIT, cut
        submitted = await engine.submit("simple", **options)
        assert proxy.cuts == 1
        assert submitted.verdict is Verdict.OK
        assert [job.id for job in (await engine.jobs()).items] == [submitted.job_id]
        assert await fetch(onlooker, "SELECT count(*) FROM reelstate.history WHERE entity = 'job'") == 1


@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("cut", ["after", "before"])
async def test_a_claim_cut_at_commit_returns_the_tasks_it_leased(url: str, cut: Cut, earlier: int) -> None:
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        proxy.at = CLAIM
        await engine.submit("parts", {"parts": 6})
        worker = await a_worker(engine, slots=6)
        before = (await engine.claim(worker, earlier)).tasks if earlier else []
        proxy.cut = cut
        after = (await engine.claim(worker, 2)).tasks
        assert proxy.cuts == 1
        assert [task.key.part for task in (*before, *after)] == list(range(earlier + 2))
        assert {(task.token, task.attempt, task.spec["parts"]) for task in after} == {(1, 1, 6)}
        assert (await engine.job(after[0].key.job_id)).stages[0].running == earlier + 2


async def test_a_result_recovered_after_one_lost_commit_is_not_returned_for_the_next(url: str) -> None:
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        proxy.at = CLAIM
        await engine.submit("parts", {"parts": 6})
        worker = await a_worker(engine, slots=6)
        given = []
        for _ in range(3):
            proxy.cut = "after"
            given += [task.key.part for task in (await engine.claim(worker, 2)).tasks]
        assert (proxy.cuts, given) == (3, list(range(6)))


@pytest.mark.parametrize("cut", ["after", "before"])
async def test_a_completion_cut_at_commit_counts_once(url: str, cut: Cut) -> None:
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        job_id = (await engine.submit("parts", {"parts": 2})).job_id
        first, second = (await engine.claim(await a_worker(engine), 2)).tasks
        proxy.cut = cut
        assert await engine.complete([Completion(key=first.key, token=first.token)]) == [Verdict.OK]
        assert proxy.cuts == 1
        assert (await engine.job(job_id)).stages[0].done == 1
        assert await engine.complete([Completion(key=second.key, token=second.token)]) == [Verdict.OK]
        assert (await engine.job(job_id)).job.status is JobStatus.COMPLETED
        assert (await engine.doctor()).findings == ()


@pytest.mark.parametrize("cut", ["after", "before"])
async def test_all_connections_cut_at_commit_at_once_leave_one_effect_each(url: str, cut: Cut) -> None:
    """Resolving a COMMIT takes no connection of the pool: the waiting transactions hold all of them."""
    connections = 3
    async with (
        through_proxy(url) as (address, proxy),
        open_engine(address, pipelines=[SIMPLE], connections=connections, timeout=10.0) as engine,
    ):
        proxy.together, proxy.cut = connections, cut
        keys = map(str, range(connections))
        submitted = await asyncio.gather(*(engine.submit("simple", idempotency_key=key) for key in keys))
        assert proxy.cuts == connections
        assert {answer.verdict for answer in submitted} == {Verdict.OK}
        assert {job.id for job in (await engine.jobs()).items} == {answer.job_id for answer in submitted}
        assert len({answer.job_id for answer in submitted}) == connections


# A killed backend, a transaction that must be run again.


async def test_a_backend_killed_in_the_middle_is_replaced_and_the_flow_runs_again(
    url: str, onlooker: psycopg.AsyncConnection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_at(url) as engine:
        counting = Counting()

        async def flow(transaction: Transaction) -> int:
            runs = await counting.note(transaction)
            if runs == 1:
                pid = connection_of(transaction).info.backend_pid
                await onlooker.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            await counting.note(transaction)
            return counting.runs

        assert await engine.store.write(flow) == 4, "noted, killed, noted twice"
        assert await fetch(onlooker, "SELECT value FROM reelstate.facts WHERE name = 'noted'") == "2"
    (line,) = [record.message for record in caplog.records if "database unreachable" in record.message]
    assert "terminating connection" in line
    assert "retry_seconds=" in line


async def test_a_transaction_ended_for_idling_is_run_again(url: str, onlooker: psycopg.AsyncConnection[Any]) -> None:
    """A laptop slept, a debugger stopped: the server has ended the session meanwhile."""
    async with engine_at(url) as engine:
        counting = Counting()

        async def flow(transaction: Transaction) -> int:
            runs = await counting.note(transaction)
            connection = connection_of(transaction)
            if runs == 1:
                await connection.execute("SET idle_in_transaction_session_timeout = '10ms'")
                pid = connection.info.backend_pid
                alive = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}"
                while await fetch(onlooker, alive):  # each look is a pause: a round trip to the server
                    pass
            await connection.execute("SELECT 1")
            return runs

        assert await engine.store.write(flow) == 2
        assert await fetch(onlooker, "SELECT value FROM reelstate.facts WHERE name = 'noted'") == "1"


async def test_a_deadlock_is_run_again(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with engine_at(f"{url}?options=-cdeadlock_timeout%3D20ms") as engine:
        job_ids = sorted([(await engine.submit("simple")).job_id for _ in range(2)])
        both = asyncio.Barrier(2)
        runs = 0

        async def crossed(first: int, second: int) -> None:
            raced = False

            async def flow(transaction: Transaction) -> None:
                nonlocal runs, raced
                runs += 1
                lock = "SELECT FROM reelstate.jobs WHERE id = %s FOR UPDATE"
                await connection_of(transaction).execute(lock, [first])
                if not raced:
                    raced = True
                    await both.wait()
                await connection_of(transaction).execute(lock, [second])

            await engine.store.write(flow)

        await asyncio.gather(crossed(*job_ids), crossed(*reversed(job_ids)))
        assert runs == 3, "one of the two was run again"
    assert any("transaction conflict error=deadlock detected" in record.message for record in caplog.records)


async def test_a_serialization_failure_is_run_again(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with engine_at(f"{url}?options=-cdefault_transaction_isolation%3Dserializable") as engine:
        counting = Counting()
        await engine.store.write(counting.note)
        both = asyncio.Barrier(2)

        async def racing() -> None:
            raced = False

            async def flow(transaction: Transaction) -> None:
                nonlocal raced
                await connection_of(transaction).execute("SELECT value FROM reelstate.facts")
                if not raced:
                    raced = True
                    await both.wait()
                await counting.note(transaction)

            await engine.store.write(flow)

        await asyncio.gather(racing(), racing())
        assert counting.runs == 4, "once before, two at once, one of them again"
    assert any("could not serialize access" in record.message for record in caplog.records)


async def test_the_reconnect_timeout_ends_with_a_clear_error(url: str) -> None:
    async with through_proxy(url) as (address, _):
        store = PostgresStore(address, timeout=0.3)
        await store.open()
    # The proxy is gone, and the server with it.
    with pytest.raises(StoreUnavailable, match="has been unreachable for") as raised:
        await Engine(store).jobs()
    assert raised.value.hint
    await store.close()


# A server that is stopped and restarted.


@pytest.fixture(scope="module")
def mortal_server() -> Iterator[PostgresServer]:
    """A server that this module may stop."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(PostgresServer())
        except PostgresUnavailable as error:
            pytest.skip(str(error))
        yield server


class Crowd:
    """Writers that continue through failures, and record the acknowledgements."""

    def __init__(self, engine: Engine, worker: int) -> None:
        self._engine = engine
        self._worker = worker
        self._stop = False
        self.acknowledged: list[int] = []
        self.completed: list[Verdict] = []
        self._news = asyncio.Condition()

    async def submit(self) -> None:
        while not self._stop:
            job_id = (await self._engine.submit("simple")).job_id
            async with self._news:
                self.acknowledged.append(job_id)
                self._news.notify_all()

    async def work(self) -> None:
        while not self._stop:
            tasks = (await self._engine.claim(self._worker, 5)).tasks
            self.completed += await self._engine.complete(
                [Completion(key=task.key, token=task.token) for task in tasks]
            )
            await let_others_run()

    async def more(self, count: int) -> None:
        """Wait until `count` more submits are acknowledged."""
        wanted = len(self.acknowledged) + count
        async with self._news:
            await self._news.wait_for(lambda: len(self.acknowledged) >= wanted)

    def stop(self) -> None:
        self._stop = True


async def survives(server: PostgresServer, crashes: int, caplog: pytest.LogCaptureFixture) -> None:
    url = server.new_database()
    async with engine_at(url) as engine:
        crowd = Crowd(engine, await a_worker(engine))
        async with asyncio.TaskGroup() as writers:  # one that fails ends the test at once
            for write in (crowd.submit, crowd.submit, crowd.submit, crowd.work):
                writers.create_task(write())
            for _ in range(crashes):
                await crowd.more(20)
                await asyncio.to_thread(server.stop, "immediate")
                await asyncio.to_thread(server.start)
                await asyncio.wait_for(crowd.more(20), 300)
            crowd.stop()
        jobs: list[int] = []
        after = None
        while True:
            page = await engine.jobs(limit=1000, after=after)
            jobs += [job.id for job in page.items]
            if (after := page.after) is None:
                break
        assert sorted(jobs) == sorted(crowd.acknowledged), "each acknowledged job once, and no other"
        assert set(crowd.completed) == {Verdict.OK}
        assert (await engine.doctor()).findings == ()
    assert any("database unreachable" in record.message for record in caplog.records)
    server.drop_database(url)


async def test_writers_survive_a_crash_of_the_server(
    mortal_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="reelstate")
    await survives(mortal_server, 1, caplog)


@pytest.mark.prove
async def test_writers_survive_many_crashes_of_the_server(
    mortal_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="reelstate")
    await survives(mortal_server, 20, caplog)


async def test_a_crash_exactly_at_commit_is_resolved_after_the_restart(mortal_server: PostgresServer) -> None:
    url = mortal_server.new_database()
    async with through_proxy(url) as (address, proxy), engine_at(address) as engine:
        counting = Counting()
        proxy.cut = "after"
        writing = asyncio.create_task(engine.store.write(counting.note))
        await proxy.struck.wait()
        await asyncio.to_thread(mortal_server.restart, "immediate")
        assert await writing == counting.runs
        async with await psycopg.AsyncConnection.connect(url) as connection:
            assert await fetch(connection, "SELECT value FROM reelstate.facts WHERE name = 'noted'") == "1"


async def test_a_reused_transaction_id_after_a_crash_is_detected(mortal_server: PostgresServer) -> None:
    """A crashed server loses what it had not flushed; another transaction gets the same id and is committed."""
    url = mortal_server.new_database()
    async with engine_at(url) as engine:
        store = engine.store
        assert isinstance(store, PostgresStore)
        ours = psycopg.connect(url)
        lost, began = _one(ours, "SELECT pg_current_xact_id()::text, clock_timestamp()")
        ours.execute("INSERT INTO reelstate.facts VALUES ('ours', '1')")
        await asyncio.to_thread(mortal_server.restart, "immediate")
        ours.close()
        assert not await store._is_committed(lost, began, psycopg.OperationalError("cut"))
        with psycopg.connect(url) as other:
            (given,) = _one(other, "SELECT pg_current_xact_id()::text")
            other.execute(
                "INSERT INTO reelstate.workers (id, name, hostname, software) VALUES (1, 'other', 'host', 'soft')"
            )
        assert given == lost, "otherwise this test shows nothing"
        with psycopg.connect(url) as onlooker:
            assert _one(onlooker, "SELECT pg_xact_status(%s::xid8)", lost) == ("committed",)
        assert not await store._is_committed(lost, began, psycopg.OperationalError("cut"))
        assert await store._is_committed(given, began + timedelta(hours=1), psycopg.OperationalError("cut"))


def _one(connection: psycopg.Connection[Any], statement: str, *values: Any) -> tuple[Any, ...]:
    found = connection.execute(statement, values or None).fetchone()
    assert found is not None
    return found


# Schema.


async def test_many_may_migrate_an_empty_database_at_once(postgres_url: str) -> None:
    applied = await asyncio.gather(*[store_at(postgres_url).migrate() for _ in range(4)])
    assert sorted(map(bool, applied)) == [False, False, False, True]
    async with engine_at(postgres_url) as engine:
        assert (await engine.doctor()).findings == ()


async def test_a_newer_schema_that_says_so_is_refused(url: str, onlooker: psycopg.AsyncConnection[Any]) -> None:
    await onlooker.execute("INSERT INTO reelstate.migrations (number, name) VALUES (9999, 'future')")
    await onlooker.execute("UPDATE reelstate.facts SET value = '9999' WHERE name = 'oldest_schema'")
    for call in (store_at(url).open, store_at(url).migrate):
        with pytest.raises(SchemaMismatch, match="9999") as raised:
            await call()
        assert "upgrade Reelstate" in raised.value.hint
    assert await fetch(onlooker, "SELECT max(number) FROM reelstate.migrations") == 9999


async def test_the_schema_of_the_next_release_is_used_and_left_as_it_is(
    url: str, onlooker: psycopg.AsyncConnection[Any]
) -> None:
    await onlooker.execute("INSERT INTO reelstate.migrations (number, name) VALUES (9999, 'future')")
    await onlooker.execute("UPDATE reelstate.facts SET value = 'of the future' WHERE name = 'guards'")
    assert await store_at(url).migrate() == []
    async with engine_at(url) as engine:
        await engine.submit("simple")
        assert await engine.store.missing_guards() == []
        await engine.ready()
    assert await fetch(onlooker, "SELECT value FROM reelstate.facts WHERE name = 'guards'") == "of the future"


async def test_a_schema_of_before_the_first_release_is_refused(
    url: str, onlooker: psycopg.AsyncConnection[Any]
) -> None:
    await onlooker.execute("UPDATE reelstate.migrations SET name = 'engine' WHERE number = 1")
    await onlooker.execute("INSERT INTO reelstate.migrations (number, name) VALUES (22, 'flagged_since')")
    for call in (store_at(url).open, store_at(url).migrate):
        with pytest.raises(SchemaMismatch, match="created by a development version") as raised:
            await call()
        assert "use a new database" in raised.value.hint


async def test_opening_does_not_migrate(postgres_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="no Reelstate schema yet") as raised:
        async with open_engine(postgres_url):
            pass
    assert "reel migrate" in raised.value.hint
    async with open_engine(postgres_url, settings=Settings(database_url=postgres_url, migrate="auto")) as engine:
        await engine.ready()


async def test_an_unmigrated_database_is_refused(postgres_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="no Reelstate schema yet") as raised:
        await store_at(postgres_url).open()
    assert "reel migrate" in raised.value.hint


# An older server.


@pytest.mark.parametrize("folder", system_bins(), ids=lambda folder: folder.parent.name)
async def test_the_systems_own_server_does(folder: Any) -> None:
    with PostgresServer(bin=folder) as server:
        async with engine_at(server.new_database()) as engine:
            worker = await a_worker(engine)
            await engine.submit(FAN.name)
            await engine.submit(PARTS.name, {"parts": 3})
            failing = (await engine.submit(SIMPLE.name)).job_id
            await engine.cancel(failing)
            while tasks := (await engine.claim(worker, 10)).tasks:
                results = [{"items": 2} if task.stage_name == "plan" else None for task in tasks]
                verdicts = await engine.complete(
                    [
                        Completion(key=task.key, token=task.token, result=result)
                        for task, result in zip(tasks, results, strict=True)
                    ]
                )
                assert set(verdicts) == {Verdict.OK}
            await engine.reclaim()
            await engine.orchestrate()
            statuses = sorted(job.status for job in (await engine.jobs()).items)
            assert statuses == [JobStatus.CANCELLED, JobStatus.COMPLETED, JobStatus.COMPLETED]
            assert len((await engine.events()).items) > 10
            assert (await engine.doctor()).findings == ()

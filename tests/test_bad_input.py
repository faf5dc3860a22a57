"""Bad input and bad addresses: a clear error that names the field, a hint, and nothing changed."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reelstate.app import open_engine, store_at
from reelstate.core.errors import (
    InvalidRequest,
    NotFound,
    ReelstateError,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    TooLarge,
    UnknownPipeline,
    WorkerRefused,
)
from reelstate.core.model import Completion, Failure, LogLine, Progress, Release, Submission, TaskKey, Verdict
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from reelstate.stores.postgres.store import PostgresStore
from reelstate.stores.sqlite.store import SQLiteStore
from tests.engines import SIMPLE, a_worker, done, engine_at
from tests.postgres import PostgresServer

TABLES = ("jobs", "stages", "tasks", "events", "idempotency", "logs", "steps", "workers")
SECRET = "hunter2-the-secret"

Request = Callable[[Engine], Awaitable[object]]


def rows(url: str) -> dict[str, int]:
    """Return the number of rows of each table."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}
    with psycopg.connect(url) as session:
        return {name: _first(session.execute(f"SELECT count(*) FROM reelstate.{name}".encode())) for name in TABLES}


def _first(cursor: psycopg.Cursor[Any]) -> int:
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def assert_clear(error: ReelstateError) -> None:
    assert error.message
    assert error.hint, f"{error!r} gives no hint"
    assert SECRET not in str(error)


def nested(depth: int, inmost: object) -> object:
    value = inmost
    for _ in range(depth):
        value = [value]
    return value


# Requests.

BAD_SUBMITS: dict[str, tuple[dict[str, Any], type[InvalidRequest], str]] = {
    "unknown pipeline": ({"pipeline": "smiple"}, UnknownPipeline, "pipeline"),
    "priority 11": ({"priority": 11}, InvalidRequest, "priority"),
    "priority -1": ({"priority": -1}, InvalidRequest, "priority"),
    "priority half": ({"priority": 1.5}, InvalidRequest, "priority"),
    "priority word": ({"priority": "urgent"}, InvalidRequest, "priority"),
    "spec of 2 MB": ({"spec": {"text": "x" * 2_000_000}}, TooLarge, "spec"),
    "spec with an object": ({"spec": {"a": object()}}, InvalidRequest, "spec"),
    "spec with NaN": ({"spec": {"a": float("nan")}}, InvalidRequest, "spec"),
    "spec with infinity": ({"spec": [float("inf")]}, InvalidRequest, "spec"),
    "spec with bytes": ({"spec": {"a": b"raw"}}, InvalidRequest, "spec"),
    "spec with half a pair": ({"spec": {"a": "\ud800"}}, InvalidRequest, "spec"),
    "spec without end": ({"spec": nested(100_000, 1)}, InvalidRequest, "spec"),
    "spec a huge number": ({"spec": 10**5000}, InvalidRequest, "spec"),
    "NUL": ({"spec": "a\x00b"}, InvalidRequest, "spec"),
    "NUL nested": ({"spec": {"a": [1, {"b": "\x00"}]}}, InvalidRequest, "spec.a[1].b"),
    "NUL in a name": ({"spec": {"a\x00": 1}}, InvalidRequest, "spec"),
    "NUL in a key": ({"idempotency_key": "a\x00"}, InvalidRequest, "idempotency_key"),
    "NUL in a user": ({"user_id": "a\x00"}, InvalidRequest, "user_id"),
    "key of 300": ({"idempotency_key": "k" * 300}, InvalidRequest, "idempotency_key"),
    "key of nothing": ({"idempotency_key": ""}, InvalidRequest, "idempotency_key"),
    "key half a pair": ({"idempotency_key": "\udfff"}, InvalidRequest, "idempotency_key"),
    "user of 300": ({"user_id": "u" * 300}, TooLarge, "user_id"),
    "delay below zero": ({"delay": -1.0}, InvalidRequest, "delay"),
    "delay NaN": ({"delay": float("nan")}, InvalidRequest, "delay"),
    "delay for ever": ({"delay": float("inf")}, InvalidRequest, "delay"),
    "no array to fan out over": ({"pipeline": "parts", "spec": {"parts": {}}}, InvalidRequest, "spec"),
    "part of a part": ({"pipeline": "parts", "spec": {"parts": 1.5}}, InvalidRequest, "spec"),
    "parts below zero": ({"pipeline": "parts", "spec": {"parts": -1}}, InvalidRequest, "spec"),
    "parts beyond counting": ({"pipeline": "parts", "spec": {"parts": 10**18}}, InvalidRequest, "spec"),
    "a number beyond 64 bits": ({"pipeline": "simple", "spec": {"a": [2**64]}}, InvalidRequest, "spec.a[0]"),
}


@pytest.mark.parametrize("case", BAD_SUBMITS)
async def test_a_bad_submit_changes_nothing(engine: Engine, database_url: str, case: str) -> None:
    options, error, field = BAD_SUBMITS[case]
    await engine.submit("simple")
    before = rows(database_url)
    good = Submission(pipeline="simple", idempotency_key="good")
    with pytest.raises(error) as raised:
        await engine.submit_many([good, Submission(**{"pipeline": "simple", **options})])
    assert_clear(raised.value)
    assert raised.value.field == field
    assert rows(database_url) == before


FAR = 2**70


async def claim(engine: Engine, limit: int) -> None:
    (worker,) = await engine.workers()
    await engine.claim(worker.id, limit)


BAD_REQUESTS: dict[str, tuple[Request, str]] = {
    "claim nothing": (lambda engine: engine.claim(1, 0), "limit"),
    "claim without end": (lambda engine: claim(engine, FAR), "number"),
    "a worker with a bad name": (lambda engine: a_worker(engine, "no spaces"), "name"),
    "a worker with no slots": (lambda engine: a_worker(engine, slots=0), "slots"),
    "a worker of endless slots": (lambda engine: a_worker(engine, slots=FAR), "slots"),
    "a worker of no kind": (lambda engine: a_worker(engine, kind="alien"), "kind"),
    "a worker with NUL": (lambda engine: a_worker(engine, hostname="\x00"), "hostname"),
    "a worker with a NUL skill": (lambda engine: a_worker(engine, capabilities=["a\x00"]), "capabilities"),
    "a worker of much metadata": (lambda engine: a_worker(engine, metadata={"a": "x" * 11_000}), "metadata"),
    "a reason with NUL": (lambda engine: engine.cancel(1, reason="\x00"), "reason"),
    "a long reason": (lambda engine: engine.cancel(1, reason="x" * 5000), "reason"),
    "quarantine without a reason": (lambda engine: engine.quarantine(1), "reason"),
    "parts from the end": (lambda engine: engine.retry(1, start=From("main", (3, 1))), "parts"),
    "a page of nothing": (lambda engine: engine.jobs(limit=0), "limit"),
    "a page without end": (lambda engine: engine.events(limit=10**9), "limit"),
    "no cursor": (lambda engine: engine.events(after="yesterday"), "after"),
    "a cursor of another store": (lambda engine: engine.events(after="elsewhere.1.2"), "after"),
    "a job cursor that is none": (lambda engine: engine.jobs(after="\u0663x"), "after"),
    "a percentage of 101": (
        lambda engine: engine.report(1, [Progress(key=TaskKey(1, 0, 0), token=1, percent=101)]),
        "percent",
    ),
    "a percentage that is none": (
        lambda engine: engine.report(1, [Progress(key=TaskKey(1, 0, 0), token=1, percent=float("nan"))]),
        "percent",
    ),
    "a rest below zero": (
        lambda engine: engine.fail([Failure(key=TaskKey(1, 0, 0), token=1, error="", retry_in=-1.0)]),
        "retry_in",
    ),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
async def test_a_bad_request_changes_nothing(engine: Engine, database_url: str, case: str) -> None:
    request, field = BAD_REQUESTS[case]
    await a_worker(engine, "claimer")
    before = rows(database_url)
    with pytest.raises(InvalidRequest) as raised:
        await request(engine)
    assert_clear(raised.value)
    assert raised.value.field == field
    assert rows(database_url) == before


BAD_DOCUMENTS: dict[str, Any] = {"NUL": {"a": "\x00"}, "bytes": b"", "NaN": float("nan"), "object": object()}


@pytest.mark.parametrize("case", BAD_DOCUMENTS)
async def test_a_bad_document_of_a_worker_is_refused_and_its_task_goes_on(
    engine: Engine, database_url: str, case: str
) -> None:
    await engine.submit("simple")
    worker = await a_worker(engine)
    (task,) = (await engine.claim(worker)).tasks
    before = rows(database_url)
    document = BAD_DOCUMENTS[case]
    metadata = LogLine(message="m", metadata=document)
    for request in (
        engine.complete([Completion(key=task.key, token=task.token, result=document)]),
        engine.report(worker, [Progress(key=task.key, token=task.token, checkpoint=document)]),
        engine.report(worker, [Progress(key=task.key, token=task.token, logs=(metadata,))]),
    ):
        with pytest.raises(InvalidRequest) as raised:
            await request
        assert_clear(raised.value)
    assert rows(database_url) == before
    assert await engine.complete([done(task)]) == [Verdict.OK]


async def test_messages_of_a_worker_are_kept_without_characters_that_a_database_refuses(engine: Engine) -> None:
    await engine.submit("simple")
    worker = await a_worker(engine)
    (task,) = (await engine.claim(worker)).tasks
    bad = "a\x00b\ud800" + "x" * 100_000
    line = LogLine(message=bad, level="shout")
    progress = Progress(key=task.key, token=task.token, message=bad, step=bad, logs=(line,))
    assert (await engine.report(worker, [progress])).verdicts == [Verdict.OK]
    failure = Failure(key=task.key, token=task.token, error=bad, retryable=False)
    assert await engine.fail([failure]) == [Verdict.OK]
    (entry,) = (await engine.logs(task.key.job_id)).items
    assert entry.message.startswith("a\ufffdb")
    assert len(entry.message) <= 4096


STRANGE_KEYS = [
    TaskKey(1, 0, 0),
    TaskKey(FAR, 0, 0),
    TaskKey(1, 40_000, 0),
    TaskKey(1, 0, 2**40),
    TaskKey(-1, -1, -1),
]


@pytest.mark.parametrize("key", STRANGE_KEYS, ids=str)
@pytest.mark.parametrize("token", [1, -1, FAR])
async def test_an_impossible_task_key_is_unknown(engine: Engine, database_url: str, key: TaskKey, token: int) -> None:
    """A worker may send any key: of a missing task, or with impossible numbers."""
    await engine.submit("simple")
    worker = await a_worker(engine)
    before = rows(database_url)
    unknown = [Verdict.UNKNOWN]
    assert await tried(engine.complete([Completion(key=key, token=token)])) in (unknown, None)
    assert await tried(engine.fail([Failure(key=key, token=token, error="no")])) in (unknown, None)
    assert await tried(engine.release([Release(key=key, token=token)])) in (unknown, None)
    report = await tried(engine.report(worker, [Progress(key=key, token=token)]))
    assert report is None or report.verdicts == unknown
    claimed = await tried(engine.claim(worker, 1, hints=[key]))
    assert claimed is None or claimed.tasks == []
    assert rows(database_url) == before


async def tried(request: Awaitable[Any]) -> Any:
    """Return the response; None where the request was refused with a clear error."""
    try:
        return await request
    except ReelstateError as error:
        assert isinstance(error, InvalidRequest | NotFound | WorkerRefused)  # noqa: PT017
        assert_clear(error)
        return None


@pytest.mark.parametrize("job_id", [0, -1, 12345, 2**63, FAR])
async def test_a_missing_job_is_not_found(engine: Engine, job_id: int) -> None:
    assert await tried(engine.job(job_id)) is None
    assert await tried(engine.tasks(job_id)) is None
    assert await tried(engine.cancel(job_id)) is None
    assert await tried(engine.retry(job_id)) is None
    history = await tried(engine.history(job_id))
    assert history is None or history.items == []


@pytest.mark.parametrize("worker_id", [0, 12345, FAR])
async def test_an_unknown_worker_is_refused(engine: Engine, worker_id: int) -> None:
    await engine.submit("simple")
    assert await tried(engine.claim(worker_id)) is None
    assert await tried(engine.report(worker_id)) is None


# Addresses.


@pytest.mark.parametrize(
    "url",
    ["mysql://u@h/d", "", "://", f"redis://:{SECRET}@h/0", f"http://u:{SECRET}@h/"],
)
def test_an_unknown_store_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        store_at(url)
    assert_clear(raised.value)
    assert raised.value.field == "database_url"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}%zz@h/d",
        f"postgresql://u:{SECRET}@h:port/d",
        f"postgresql://u:{SECRET}@[::1/d",
        f"postgresql://u:{SECRET}@h/d?nonsense=1",
        f"postgresql://u:{SECRET}@h/d?sslmode",
        f"postgresql://u@h/d?password={SECRET}%",
    ],
)
def test_a_malformed_address_is_refused_without_its_password(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((InvalidRequest, StoreUnavailable)) as raised:
        asyncio.run(_open(url))
    assert_clear(raised.value)
    assert "postgresql://user@host" in raised.value.hint or "REEL_DATABASE_URL" in raised.value.hint
    cause: BaseException | None = raised.value
    while cause is not None:
        assert SECRET not in repr(cause)
        cause = cause.__cause__
    assert SECRET not in caplog.text


async def _open(url: str) -> None:
    store = PostgresStore(url, timeout=0.0)
    await store.open()
    await store.close()


async def refused(url: str, caplog: pytest.LogCaptureFixture) -> StoreUnavailable:
    """Return the error of an address without a database; it must not show the password."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreUnavailable) as raised:
        await _open(url)
    assert_clear(raised.value)
    assert "REEL_DATABASE_URL" in raised.value.hint
    assert SECRET not in caplog.text
    return raised.value


async def test_a_port_without_a_listener_is_named(unused_tcp_port: int, caplog: pytest.LogCaptureFixture) -> None:
    error = await refused(f"postgresql://u:{SECRET}@127.0.0.1:{unused_tcp_port}/d", caplog)
    assert f"127.0.0.1:{unused_tcp_port}/d" in error.message


async def test_an_unknown_host_is_named(caplog: pytest.LogCaptureFixture) -> None:
    error = await refused(f"postgresql://u:{SECRET}@nowhere.invalid/d", caplog)
    assert "nowhere.invalid" in error.message


async def test_a_database_that_does_not_exist_is_named(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"postgresql://postgres:{SECRET}@127.0.0.1:{postgres_server.port}/nothing"
    assert "nothing" in (await refused(url, caplog)).message


async def test_a_user_that_does_not_exist_is_named(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"postgresql://nobody:{SECRET}@127.0.0.1:{postgres_server.port}/postgres"
    assert "nobody" in (await refused(url, caplog)).message


async def test_an_unreachable_server_is_reported_after_the_timeout(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with PostgresServer() as server:
        url = server.new_database().replace("postgres@", f"postgres:{SECRET}@")
        store = PostgresStore(url, timeout=0.5)
        await store.migrate()
        await store.open()
        engine = Engine(store)
        await engine.declare(SIMPLE)
        await engine.submit("simple")
        await asyncio.to_thread(server.stop)
        for request in (engine.submit("simple"), engine.jobs(), engine.doctor()):
            with pytest.raises(StoreUnavailable) as raised:
                await request
            assert_clear(raised.value)
        await asyncio.to_thread(server.start)
        assert len((await engine.jobs()).items) == 1
        await store.close()
    assert SECRET not in caplog.text


# Databases that can't be written to.


@pytest.fixture
def postgres_database(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)


@asynccontextmanager
async def restricted(url: str, prepare: str, options: str = "") -> AsyncIterator[Engine]:
    """Open an engine with one job on a database that was restricted before it was reopened."""
    async with engine_at(url) as engine:
        await engine.submit("simple")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(prepare.encode())
    async with open_engine(f"{url}{options}", migrate=False) as engine:
        engine.catalogue._found[SIMPLE.name, None] = await _declared(url)
        yield engine


async def _declared(url: str) -> Any:
    async with engine_at(url) as engine:
        return engine.catalogue.named(SIMPLE.name)


async def assert_writes_fail(engine: Engine, url: str, error: type[StoreError]) -> None:
    before = rows(url)
    for request in (engine.submit("simple"), a_worker(engine), engine.cancel((await engine.jobs()).items[0].id)):
        with pytest.raises(error) as raised:
            await request
        assert_clear(raised.value)
    assert rows(url) == before
    assert len((await engine.jobs()).items) == 1


async def test_a_read_only_transaction_is_reported(postgres_database: str) -> None:
    options = "?options=-cdefault_transaction_read_only%3Don"
    async with restricted(postgres_database, "SELECT 1", options) as engine:
        await assert_writes_fail(engine, postgres_database, StoreReadOnly)


async def test_a_read_only_role_is_reported(postgres_database: str) -> None:
    role = "DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;"
    grants = "GRANT USAGE ON SCHEMA reelstate TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA reelstate TO reader"
    async with restricted(postgres_database, f"{role} {grants}", "?user=reader") as engine:
        await assert_writes_fail(engine, postgres_database, StoreReadOnly)


async def test_a_full_disk_of_the_server_is_reported(postgres_database: str) -> None:
    full = """
        CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON reelstate.events FOR EACH ROW EXECUTE FUNCTION full_disk();
    """
    async with restricted(postgres_database, full) as engine:
        await assert_writes_fail(engine, postgres_database, StoreFull)


async def test_a_full_disk_under_sqlite_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "full.db"
    url = f"sqlite:///{path}"
    async with engine_at(url) as engine:
        await engine.submit("simple")
    pages = sqlite3.connect(path).execute("PRAGMA page_count").fetchone()[0]
    store = SQLiteStore(url, pragmas={"max_page_count": pages + 4})
    await store.open()
    engine = Engine(store)
    await engine.declare(SIMPLE)
    before = rows(url)
    with pytest.raises(StoreFull) as raised:
        await engine.submit_many([Submission(pipeline="simple", spec={"text": "x" * 50_000})] * 20)
    assert_clear(raised.value)
    assert rows(url) == before
    assert (await engine.doctor()).findings == ()
    await store.close()


async def test_a_read_only_sqlite_database_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'read.db'}"
    async with engine_at(url) as engine:
        job_id = (await engine.submit("simple")).job_id
        declared = engine.catalogue.named("simple")
    before = rows(url)
    store = SQLiteStore(url, pragmas={"query_only": 1})
    await store.open()
    engine = Engine(store)
    engine.catalogue._found["simple", None] = engine.catalogue._by_id[declared.id] = declared
    for request in (engine.submit("simple"), engine.cancel(job_id)):
        with pytest.raises(StoreReadOnly) as raised:
            await request
        assert_clear(raised.value)
    assert len((await engine.jobs()).items) == 1
    await store.close()
    assert rows(url) == before


async def test_a_schema_that_only_newer_code_can_use_is_refused(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        await engine.submit("simple")
    statements = (
        "INSERT INTO {}migrations (number, name) VALUES (9999, 'future')",
        "UPDATE {}facts SET value = '9999' WHERE name = 'oldest_schema'",
    )
    for statement in statements:
        if database_url.startswith("sqlite"):
            with sqlite3.connect(database_url.removeprefix("sqlite:///")) as connection:
                connection.execute(statement.format(""))
        else:
            with psycopg.connect(database_url, autocommit=True) as session:
                session.execute(statement.format("reelstate.").encode())
    before = rows(database_url)
    for migrate in (False, True):
        with pytest.raises(SchemaMismatch, match="9999") as raised:
            async with open_engine(database_url, migrate=migrate):
                pass
        assert_clear(raised.value)
    assert rows(database_url) == before

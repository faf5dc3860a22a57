"""The PostgreSQL store: runs flows in transactions, across lost connections, deadlocks and restarts of the server.

BEGIN also reads the id of the transaction. When the connection breaks during COMMIT, the server is asked afterwards
whether that transaction took effect. So the outcome of a write is never unknown: either its result stands, or the flow
runs again.

The id alone is no proof: after a crash a server gives the ids of lost transactions to new ones. So there must be an
event with that id, written while the transaction ran. A transaction without events writes only what may be written
twice (a heartbeat, a declaration), and is run again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

import psycopg
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from reelstate.connections.postgres import AnswerLost, WatchedConnection
from reelstate.connections.timeouts import RetryTimer, timeout_left
from reelstate.core.errors import SchemaMismatch, StoreUnavailable
from reelstate.core.model import Json
from reelstate.stores import guard, migrate
from reelstate.stores.postgres import guards
from reelstate.stores.postgres.address import session_address, shown_address
from reelstate.stores.postgres.archive import PostgresArchive
from reelstate.stores.postgres.array import array
from reelstate.stores.postgres.faults import (
    UNREACHABLE,
    RetryTransaction,
    ServerUnreachable,
    first_line,
    is_wrong_address,
    translate_errors,
)
from reelstate.stores.store import TOO_DEEP, Batch, Clock, Flow, PoolFigures, Row, RowType, Statement
from reelstate.telemetry.facts import Fact, emit_all

Result = TypeVar("Result")
Connection = WatchedConnection

logger = logging.getLogger("reelstate.store")

_decode = json.JSONDecoder().raw_decode

PACKAGE = "reelstate.stores.postgres"
MIN_SERVER_VERSION = 140000
BEGIN = "BEGIN; SELECT pg_current_xact_id()::text, clock_timestamp()"
GENERIC_PLANS = "SET plan_cache_mode = force_generic_plan"
"""The plans of prepared statements are kept; other statements carry their values in the text."""
OUR_EVENT = "SELECT EXISTS (SELECT FROM reelstate.events WHERE xid = %s::xid8 AND at <= %s)"
CLOCK_ERROR = timedelta(milliseconds=50)
"""How far the clocks may drift apart within a transaction; much less than a crash recovery takes."""
HOT = frozenset(
    {
        "claim",
        "claim_jobs",
        "claim_worker",
        "complete",
        "complete_jobs",
        "complete_stages",
        "orchestrate_single",
        "orchestrate_stages",
        "report",
        "report_worker",
        "states_write",
        "submit",
        "submit_ids",
        "submit_one",
        "submit_single",
    }
)
"""Statements that are prepared and keep their plan. The others are planned at each run."""
MIGRATION_LOCK = 0x5245454C53544154
OPEN_TIMEOUT = 10.0
"""Seconds that opening waits for an unreachable server, unless `arrival` is given."""
POOL_ERRORS = ("requests_errors", "connections_errors", "connections_lost", "returns_bad")
"""The figures of the pool that count failures."""
POOL_RETRY_SECONDS = 2.0
"""After which the growing delays of the pool start again, so that it reconnects soon after the server is back."""


class PostgresTransaction:
    """Runs the named statements on one connection."""

    def __init__(
        self,
        connection: Connection,
        statements: Mapping[str, str],
        clock: Clock | None,
        *,
        prepare: bool,
        checked: set[str],
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._clock = clock
        self._checked = checked
        self._prepare = prepare
        self.facts: list[Fact] = []

    def note(self, fact: Fact) -> None:
        self.facts.append(fact)

    async def run(
        self, statement: Statement[RowType], batch: Batch | None = None, /, **parameters: Any
    ) -> list[RowType]:
        cursor = await self._execute(statement.name, batch, parameters)
        if statement.name not in self._checked:
            statement.check([column.name for column in cursor.description or ()])
            self._checked.add(statement.name)
        return statement.records(await cursor.fetchall()) if cursor.description else []

    async def _execute(
        self, statement: str, batch: Batch | None, parameters: dict[str, Any]
    ) -> psycopg.AsyncCursor[Row]:
        if batch is not None:
            columns = zip(*batch.rows, strict=True) if batch.rows else ((),) * len(batch.columns)
            parameters |= {name: array(values) for name, values in zip(batch.columns, columns, strict=True)}
        for name, value in parameters.items():
            if isinstance(value, list):
                parameters[name] = array(value)
        parameters["now"] = self._clock() if self._clock else None
        text = self._statements[statement]
        if self._prepare and statement in HOT:
            return await self._connection.execute(text, parameters, prepare=True)
        # The values are in the text, so that it is planned for them: an unused filter costs nothing.
        return await psycopg.AsyncClientCursor(self._connection).execute(text, parameters)


class PostgresStore:
    """A PostgreSQL database, 14 or newer, with the schema `reelstate`.

    Calls retry for up to `timeout` seconds while it is unreachable, and `open` for up to `arrival` seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = 4,
        timeout: float = 60.0,
        arrival: float | None = None,
        prepare: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self.url = url
        self._timeout = timeout
        self._arrival = min(timeout, OPEN_TIMEOUT) if arrival is None else arrival
        self._clock = clock
        self._prepare = prepare
        self._statements = dict(migrate.statements(PACKAGE))
        self.archive = PostgresArchive(self, self._statements)
        self._checked: set[str] = set()
        self._migrations = migrate.migrations(PACKAGE)
        self._constraints = guards.constraints("".join(migration.script for migration in self._migrations))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            session_address(url),
            connection_class=WatchedConnection,
            kwargs={"autocommit": True, "prepare_threshold": 0 if prepare else None},
            min_size=1,
            max_size=connections,
            configure=_session_setup(prepare),
            open=False,
            reconnect_timeout=min(timeout, POOL_RETRY_SECONDS),
            reconnect_failed=_restart_reconnect,
            name="reelstate",
        )

    def _transaction(
        self, connection: Connection, *, prepare: bool, statements: Mapping[str, str] | None = None
    ) -> PostgresTransaction:
        used = self._statements if statements is None else statements
        return PostgresTransaction(connection, used, self._clock, prepare=prepare, checked=self._checked)

    async def open(self) -> None:
        """Connect and check the version of the server and the schema."""
        async with await self._open_connection() as connection:
            if connection.info.server_version < MIN_SERVER_VERSION:
                raise SchemaMismatch(
                    f"the server is PostgreSQL {connection.info.server_version // 10000}",
                    hint="Reelstate needs PostgreSQL 14 or newer",
                )
            with translate_errors():
                applied = await _applied(connection)
            migrate.require_current(self._migrations, applied)
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    def pool(self) -> PoolFigures:
        stats = self._pool.get_stats()
        errors = sum(stats.get(name, 0) for name in POOL_ERRORS)
        return PoolFigures(stats.get("pool_size", 0), stats.get("requests_waiting", 0), errors)

    async def migrate(self) -> list[str]:
        """Apply pending migrations, one process at a time, and install the guards if they differ."""
        async with await self._open_connection() as connection:
            with translate_errors():
                return await self._migrate(connection)

    async def missing_guards(self) -> list[str]:
        async with await self._open_connection() as connection:
            with translate_errors():
                if (await _applied(connection)).is_ahead(self._migrations):
                    return []  # they belong to a newer release
                return sorted((guards.triggers() | self._constraints.keys()) - await _installed(connection))

    async def restore_triggers(self) -> None:
        await self._restore([guards.script()])

    async def restore_constraints(self) -> None:
        async with await self._open_connection() as connection:
            missing = self._constraints.keys() - await _installed(connection)
        await self._restore([self._constraints[name] for name in sorted(missing)])

    async def _restore(self, scripts: list[str]) -> None:
        async with await self._open_connection() as connection:
            with translate_errors():
                async with connection.transaction():
                    for script in scripts:
                        await connection.execute(script)

    async def read(self, flow: Flow[Result], statements: Mapping[str, str] | None = None) -> Result:
        """Run a flow that only reads; `statements` are those of a month of the archive."""

        async def attempt(connection: Connection) -> Result:
            return await flow(self._transaction(connection, prepare=False, statements=statements))

        return await self.run_with_retries(attempt)

    async def survey(self, flow: Flow[Result]) -> Result:
        async def attempt(connection: Connection) -> Result:
            async with connection.transaction():
                await connection.execute("SET TRANSACTION READ ONLY")
                return await flow(self._transaction(connection, prepare=False))

        return await self.run_with_retries(attempt)

    async def write(self, flow: Flow[Result], statements: Mapping[str, str] | None = None) -> Result:
        """Run a flow in one transaction; `statements` are those of a month of the archive."""
        return await self.run_with_retries(lambda connection: self._transact(connection, flow, statements))

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        sent = False

        async def attempt(connection: Connection) -> Result:
            nonlocal sent
            if sent:
                return await self._transact(connection, again or flow)
            sent = True
            transaction = self._transaction(connection, prepare=self._prepare)
            result = await flow(transaction)
            emit_all(transaction.facts)
            return result

        return await self.run_with_retries(attempt)

    async def vacuum(self, pages: int) -> int:  # noqa: ARG002 - autovacuum does it
        return 0

    async def _transact(
        self, connection: Connection, flow: Flow[Result], statements: Mapping[str, str] | None = None
    ) -> Result:
        begun = time.monotonic()
        cursor = await connection.execute(BEGIN, prepare=False)
        while cursor.nextset():
            pass
        transaction_id, begun_at = cast("Row", await cursor.fetchone())
        try:
            transaction = self._transaction(connection, prepare=self._prepare, statements=statements)
            result = await flow(transaction)
            written_until = begun_at + timedelta(seconds=time.monotonic() - begun) + CLOCK_ERROR
        except BaseException:
            if not connection.closed and not connection.broken:
                await connection.rollback()
            raise
        try:
            await connection.execute("COMMIT", prepare=False)
        except UNREACHABLE as error:
            if not await self._is_committed(transaction_id, written_until, error):
                raise
        emit_all(transaction.facts)
        return result

    async def _is_committed(self, transaction_id: str, written_until: datetime, cause: BaseException) -> bool:
        """Return whether a transaction took effect whose COMMIT got no answer.

        Not through the pool: all its connections may have broken at once, each with a caller that asks this.
        """
        timer = RetryTimer(self._timeout)
        while await timer.wait(cause, "connection lost during COMMIT"):
            try:
                async with await self.connect() as connection:
                    cursor = await connection.execute("SELECT pg_xact_status(%s::xid8)", [transaction_id])
                    (status,) = cast("Row", await cursor.fetchone())
                    if status != "in progress":
                        cursor = await connection.execute(OUR_EVENT, [transaction_id, written_until])
                        return status == "committed" and await cursor.fetchone() == (True,)
            except psycopg.errors.InvalidParameterValue:
                return False  # a future id: the server crashed and has not assigned it again yet
            except UNREACHABLE as error:
                cause = error
        raise StoreUnavailable(
            f"the database became unreachable during COMMIT of transaction {transaction_id}",
            hint=f"once it is reachable, SELECT pg_xact_status('{transaction_id}') shows whether it took effect",
        ) from cause

    async def run_with_retries(self, attempt: Callable[[Connection], Awaitable[Result]]) -> Result:
        """Repeat an attempt until it succeeds, fails for another reason than the connection, or the time is over."""
        seconds = timeout_left(self._timeout)
        timer = RetryTimer(seconds)
        while True:
            try:
                with translate_errors():
                    async with self._pool.connection(timeout=seconds) as connection:
                        return await attempt(connection)
            except RetryTransaction as error:
                if not await timer.wait(error, "transaction conflict"):
                    raise StoreUnavailable(str(error), hint="transactions conflict; try again later") from error
            except ServerUnreachable as error:
                # Where an answer was lost, the other connections over that network are probably dead too.
                await (self._pool.drain() if isinstance(error.__cause__, AnswerLost) else self._pool.check())
                if not await timer.wait(error, "database unreachable"):
                    raise StoreUnavailable(
                        f"the database has been unreachable for {seconds:.0f} s: {error}",
                        hint="check that it runs and can be reached; nothing was lost",
                    ) from error

    async def connect(self) -> Connection:
        """Open a connection outside the pool."""
        return await WatchedConnection.connect(session_address(self.url), autocommit=True)

    async def _open_connection(self) -> Connection:
        """Open a connection outside the pool; raise with a hint if the address is wrong."""
        timer = RetryTimer(self._arrival)
        while True:
            try:
                return await self.connect()
            except psycopg.OperationalError as error:
                if is_wrong_address(error) or not await timer.wait(error, "database unreachable"):
                    raise StoreUnavailable(
                        f"can't connect to {shown_address(self.url)}: {first_line(error)}",
                        hint="check REEL_DATABASE_URL: host, port, database, user and password",
                    ) from error

    async def _migrate(self, connection: Connection) -> list[str]:
        if await self._is_current(connection):
            return []  # also for users without rights on the schema
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
            await connection.execute("CREATE SCHEMA IF NOT EXISTS reelstate")
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS reelstate.migrations (number integer PRIMARY KEY, name text NOT NULL,"
                " applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
            applied = []
            found = await _applied(connection)
            for migration in migrate.pending(self._migrations, found):
                await connection.execute(migration.script)
                await connection.execute(
                    "INSERT INTO reelstate.migrations (number, name) VALUES (%s, %s)",
                    [migration.number, migration.name],
                )
                applied.append(f"{migration.number:04d}_{migration.name}")
            if found.is_ahead(self._migrations):
                return []
            if await _install_guards(connection):
                applied.append("guards")
            if applied:
                oldest = migrate.oldest_schema(self._migrations)
                await _write_fact(connection, migrate.OLDEST_SCHEMA, str(oldest))
        return applied

    async def _is_current(self, connection: Connection) -> bool:
        applied = await _applied(connection)
        if migrate.pending(self._migrations, applied):
            return False
        if applied.is_ahead(self._migrations):
            return True
        return await _installed_guards(connection) == guard.digest(guards.script())


def _load(data: str | bytes) -> Json:
    """Decode JSON of the server, which has no white space around it."""
    try:
        return _decode(data if isinstance(data, str) else data.decode())[0]
    except RecursionError:
        return dict(TOO_DEEP)


async def _restart_reconnect(pool: AsyncConnectionPool[Connection]) -> None:
    """Let the pool try again if callers wait for the connection that it gave up."""
    if pool.get_stats().get("requests_waiting"):
        await pool.check()


def _session_setup(prepare: bool) -> Callable[[Connection], Awaitable[None]]:
    async def configure(connection: Connection) -> None:
        set_json_loads(_load, context=connection)
        if prepare:
            await connection.execute(GENERIC_PLANS)

    return configure


async def _installed(connection: Connection) -> set[str]:
    cursor = await connection.execute(
        "SELECT c.relname || '.' || t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace = 'reelstate'::regnamespace AND t.tgenabled <> 'D'"
        " UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = 'reelstate'::regnamespace"
    )
    return {name for (name,) in await cursor.fetchall()}


async def _fact(connection: Connection, name: str) -> str | None:
    cursor = await connection.execute("SELECT value FROM reelstate.facts WHERE name = %s", [name])
    found = await cursor.fetchone()
    return str(found[0]) if found else None


async def _write_fact(connection: Connection, name: str, value: str) -> None:
    await connection.execute(
        "INSERT INTO reelstate.facts VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [name, value],
    )


async def _installed_guards(connection: Connection) -> str | None:
    return await _fact(connection, "guards")


async def _install_guards(connection: Connection) -> bool:
    """Install the generated triggers; return False if they are installed and unchanged."""
    script = guards.script()
    digest = guard.digest(script)
    if await _installed_guards(connection) == digest:
        return False
    await connection.execute(script)
    await _write_fact(connection, "guards", digest)
    return True


async def _applied(connection: Connection) -> migrate.Applied:
    cursor = await connection.execute("SELECT to_regclass('reelstate.migrations') IS NOT NULL")
    if await cursor.fetchone() != (True,):
        return migrate.Applied()
    cursor = await connection.execute(
        "SELECT coalesce(max(number), 0), max(name) FILTER (WHERE number = 1) FROM reelstate.migrations"
    )
    number, first = cast("Row", await cursor.fetchone())
    oldest = await _fact(connection, migrate.OLDEST_SCHEMA) if number else None
    return migrate.Applied(number, None if oldest is None else int(oldest), first)

"""The lock in PostgreSQL: an advisory lock of a transaction that stays open on a connection of its own.

A session lock could be left behind in a pool. The server ends the transaction, and with it the lock, when the
connection was idle for the time to live. The transaction has no id and no snapshot, so neither vacuum nor readers of
events wait for it. The fencing number is the id of another transaction, which begins after the lock is held and is
therefore larger than that of any earlier holder.
"""

from __future__ import annotations

import contextlib
import hashlib

import psycopg

from reelstate.connections.postgres import WatchedConnection
from reelstate.core.errors import StoreUnavailable
from reelstate.locks.lock import Lock

Connection = WatchedConnection


class PostgresLock(Lock):
    """A lock of one database."""

    def __init__(self, url: str, name: str, *, ttl: float = 30.0, timeout: float = 0.0) -> None:
        super().__init__(name, ttl=ttl, timeout=timeout)
        self._url = url
        self._connection: Connection | None = None

    async def _take(self) -> int | None:
        try:
            connection = await _connect(self._url)
            try:
                fence = await self._try_lock(connection)
            except BaseException:
                await connection.close()
                raise
        except (psycopg.Error, OSError) as error:
            raise StoreUnavailable(f"can't acquire lock {self.name!r}: {_first_line(error)}") from None
        if fence is None:
            await connection.close()
            return None
        self._connection = connection
        return fence

    async def _try_lock(self, connection: Connection) -> int | None:
        await connection.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [self._limit()])
        cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_number(self.name)])
        if await cursor.fetchone() != (True,):
            return None
        # A plain query closes the previous portal, and with it the snapshot that vacuum would wait for.
        await connection.execute("SELECT 1")
        async with await _connect(self._url) as other:
            number = await (await other.execute("SELECT pg_current_xact_id()::text")).fetchone()
        return int(number[0]) if number else None

    async def _renew(self) -> bool:
        if self._connection is None:
            return False
        try:
            await self._connection.execute("SELECT 1")
        except (psycopg.Error, OSError):
            return False  # the transaction ended, and the lock with it
        return True

    async def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error, OSError):
                await connection.rollback()
            await connection.close()

    def _limit(self) -> str:
        return f"{max(1, int(self.ttl * 1000))}ms"


def lock_number(name: str) -> int:
    """Return 64 bits of a hash of the name, so that two names practically never share a lock."""
    return int.from_bytes(hashlib.sha256(f"reelstate:{name}".encode()).digest()[:8], signed=True)


async def _connect(url: str) -> Connection:
    return await WatchedConnection.connect(url, prepare_threshold=None, application_name="reelstate lock")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

"""A PostgreSQL connection that detects a dead peer, shared by store, dispatch and locks.

A network can swallow what is sent over an open connection without closing it. TCP detects that only while data is
unacknowledged (`KEEPALIVE`). So after a time without an answer a second connection looks at what the server does for
the first. A server that is working is waited for, however long. One that is idle has already answered, and the answer
is lost: its session is ended, so that it holds no locks, and `AnswerLost` is raised.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any, Self, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import _WaitTimeout as WaitTimeout
from psycopg.waiting import Ready

Row = tuple[Any, ...]
Result = TypeVar("Result")

ANSWER_TIMEOUT = 4.0
"""Seconds without an answer after which a second connection asks what the server does."""
PROBE_TIMEOUT = 4
"""Whole seconds to open that connection; after them the server counts as unreachable."""
TRANSIT_TIMEOUT = 1.0
"""Seconds that the answer of an idle server may still be under way."""
POOLED_ANSWER_TIMEOUT = 60.0
"""Seconds to wait for an answer behind a pooler, where the session can't be looked at."""
WAIT_INTERVAL = 0.1
REFUSED = frozenset({"53300", "57P03"})
"""Codes of a server that is reachable, but accepts no further connection now."""
KEEPALIVE = {
    "connect_timeout": str(PROBE_TIMEOUT),
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Lets the kernel close a connection whose peer acknowledges nothing; the address can override it."""
SESSION = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
IS_IDLE = (
    "SELECT coalesce((SELECT state LIKE 'idle%%' FROM pg_stat_activity WHERE pid = %s AND backend_start = %s), true)"
)
END_SESSION = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"


class AnswerLost(psycopg.OperationalError):
    """The server is idle or unreachable, and its answer has not arrived."""


def with_keepalive(url: str) -> str:
    """Return the address with `KEEPALIVE`, except for the settings that it already has."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in KEEPALIVE.items() if given.get(name) is None})


class WatchedConnection(psycopg.AsyncConnection[Row]):
    """A connection on which every wait for an answer ends, whichever call of psycopg waits."""

    _address: str
    _session: tuple[int, datetime] | None = None
    """Process and start of the session at the server; None behind a pooler, which shares sessions."""
    _limit = ANSWER_TIMEOUT
    """Seconds to wait for an answer where there is no session to look at."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Open a connection with the options of psycopg."""
        connection = await super().connect(with_keepalive(conninfo), **options)
        try:
            await connection._identify(conninfo)  # noqa: SLF001 - one of this class
        except BaseException:
            await connection.close()
            raise
        return connection

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = WAIT_INTERVAL,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's
    ) -> Result:
        """Wait for the server, as every statement does. Raises `AnswerLost` if no answer will come."""
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, ANSWER_TIMEOUT if self._session else self._limit)
        except WaitTimeout:
            return await self._wait_longer(gen, interval)

    async def _wait_longer(self, gen: PQGen[Result], interval: float) -> Result:
        while self._session is not None and (served := await self._is_served(self._session)) is not None:
            try:
                return await super().wait(_resume(gen), interval, ANSWER_TIMEOUT if served else TRANSIT_TIMEOUT)
            except WaitTimeout:
                if not served:
                    await self._end_session(self._session)
                    break
        self.pgconn.finish()
        raise AnswerLost("the server does not answer; the connection was closed")

    async def _identify(self, address: str) -> None:
        self._address = address
        cursor = await self.execute(SESSION, prepare=False)
        found = await cursor.fetchone()
        if not self.autocommit:
            await self.rollback()
        if found and found[0] == self.pgconn.backend_pid:
            self._session = found[0], found[1]
        else:
            self._limit = POOLED_ANSWER_TIMEOUT

    async def _is_served(self, session: tuple[int, datetime]) -> bool | None:
        """Return whether the server works for this session; None if it is unreachable."""
        try:
            async with await self._open_unwatched() as other:
                (idle,) = await (await other.execute(IS_IDLE, session)).fetchone() or (False,)
        except psycopg.OperationalError as error:
            return True if error.sqlstate in REFUSED else None
        return not idle

    async def _end_session(self, session: tuple[int, datetime]) -> None:
        """End the session at the server, because it may hold locks."""
        with contextlib.suppress(psycopg.Error):
            async with await self._open_unwatched() as other:
                await other.execute(END_SESSION, session)

    async def _open_unwatched(self) -> Self:
        """Open a second connection, which is not watched itself."""
        return await super().connect(with_keepalive(self._address), autocommit=True, prepare_threshold=None)


def _resume(gen: PQGen[Result]) -> PQGen[Result]:
    """Continue a generator whose wait timed out: nothing was ready."""
    ready: Ready | int = Ready.NONE
    while True:
        try:
            state = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        ready = yield state

"""A connection to PostgreSQL that notices when nobody is at the other end, shared by store, dispatch and locks.

A network can swallow what is sent over an open connection without ever closing it. TCP notices that only where nothing
is acknowledged (`ALIVE`), so whoever waits for an answer asks too: after a silence a second connection looks at what
the server does for the first. A server that works, however long, is waited for. One that has nothing to do has already
answered, and the answer is lost: the session is ended, so that it holds no locks, and `Silent` is raised.
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
"""Seconds without an answer after which the server is asked, over another connection, what it does."""
PROBE_TIMEOUT = 4
"""Whole seconds in which that connection must be made; a server that can't be reached in that time is away."""
LAST_MOMENT = 1.0
"""Seconds that an answer of a server that has nothing more to do may still be under way."""
POOLED_ANSWER_TIMEOUT = 60.0
"""Seconds that an answer is waited for behind a pooler, where nobody can be asked."""
WAIT_INTERVAL = 0.1
REFUSED = frozenset({"53300", "57P03"})
"""Codes of a server that answers, but takes no further connection now."""
ALIVE = {
    "connect_timeout": str(PROBE_TIMEOUT),
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Has the kernel close a connection whose other end acknowledges nothing; an address may say otherwise."""
WHO = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
IS_IDLE = (
    "SELECT coalesce((SELECT state LIKE 'idle%%' FROM pg_stat_activity WHERE pid = %s AND backend_start = %s), true)"
)
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"


class Silent(psycopg.OperationalError):
    """The server has not answered, and has nothing to do for this connection: the network swallows what is sent."""


def alive_address(url: str) -> str:
    """The address with the settings that have TCP notice a dead peer, except those that it has of its own."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in ALIVE.items() if given.get(name) is None})


class WatchedConnection(psycopg.AsyncConnection[Row]):
    """A connection on which no wait for an answer is without end, whichever call of psycopg waits."""

    _address: str
    _session: tuple[int, datetime] | None = None
    """Process and start of the session at the server; None behind a pooler, which has none of our own."""
    _limit = ANSWER_TIMEOUT
    """How long an answer is waited for where there is no session to ask after."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Open a connection; options are those of psycopg."""
        connection = await super().connect(alive_address(conninfo), **options)
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
        """Wait for the server, as every statement does. Raises `Silent` where no answer will come."""
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, ANSWER_TIMEOUT if self._session else self._limit)
        except WaitTimeout:
            return await self._wait_longer(gen, interval)

    async def _wait_longer(self, gen: PQGen[Result], interval: float) -> Result:
        while self._session is not None and (served := await self._is_served(self._session)) is not None:
            try:
                return await super().wait(_resumed(gen), interval, ANSWER_TIMEOUT if served else LAST_MOMENT)
            except WaitTimeout:
                if not served:
                    await self._end_session(self._session)
                    break
        self.pgconn.finish()
        raise Silent("the server does not answer; the connection is given up")

    async def _identify(self, address: str) -> None:
        self._address = address
        cursor = await self.execute(WHO, prepare=False)
        found = await cursor.fetchone()
        if not self.autocommit:
            await self.rollback()
        if found and found[0] == self.pgconn.backend_pid:
            self._session = found[0], found[1]
        else:
            self._limit = POOLED_ANSWER_TIMEOUT

    async def _is_served(self, session: tuple[int, datetime]) -> bool | None:
        """Whether the server works for this session; None where it can't be reached."""
        try:
            async with await self._other() as other:
                (idle,) = await (await other.execute(IS_IDLE, session)).fetchone() or (False,)
        except psycopg.OperationalError as error:
            return True if error.sqlstate in REFUSED else None
        return not idle

    async def _end_session(self, session: tuple[int, datetime]) -> None:
        """End the session at the server: nobody will ever speak to it again, and it may hold locks."""
        with contextlib.suppress(psycopg.Error):
            async with await self._other() as other:
                await other.execute(END, session)

    async def _other(self) -> Self:
        """A second connection, which is not watched itself."""
        return await super().connect(alive_address(self._address), autocommit=True, prepare_threshold=None)


def _resumed(gen: PQGen[Result]) -> PQGen[Result]:
    """The rest of a generator whose wait was given up: nothing was ready at that time."""
    ready: Ready | int = Ready.NONE
    while True:
        try:
            state = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        ready = yield state

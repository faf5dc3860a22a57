"""The dispatch of PostgreSQL: NOTIFY on one channel, after the commit, over a connection of its own.

A NOTIFY inside the transaction would make all commits of the server wait for each other. The sender writes the first
wake-up to its socket at once and batches the following ones; the listener is a connection that only waits. Both are
opened when first needed and reopened when lost. Wake-ups sent in between are unknown, so a new listener wakes all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus

from reelstate.connections.backoff import retry_delays
from reelstate.connections.postgres import ANSWER_TIMEOUT, AnswerLost, WatchedConnection
from reelstate.dispatch.dispatch import WORKER_WAKEUPS, HintlessDispatch, Listener, Wakeup
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

CHANNEL = "reelstate"
UNREACHABLE = (psycopg.OperationalError, psycopg.InterfaceError, OSError)
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 5.0

Connection = WatchedConnection


@dataclass(frozen=True, slots=True)
class NotifyTimings:
    """How long a dispatch waits, in seconds."""

    refused_retry: float = 30.0
    """Between two attempts on a server that answers but refuses LISTEN, such as a standby."""
    flush: float = 1.0
    """For a wake-up to be sent when it is closed."""
    probe: float = 2.0
    """For the notification that tests whether any arrive."""
    ping: float = 5.0
    """Without a notification until a listener tests its connection."""


class NotifyDispatch(HintlessDispatch):
    """Sends and receives wake-ups of one database."""

    def __init__(self, url: str, timings: NotifyTimings | None = None) -> None:
        self.timings = timings or NotifyTimings()
        self._address = _with_application_name(url)
        self._local = LocalWakeups()
        self._sender = Sender(self._address, self.timings.flush)
        self._batch = WakeupBatch(self._sender.send)
        self._listening: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Do nothing: connections are opened when they are needed."""

    async def close(self) -> None:
        self._batch.flush()
        await self._sender.close()
        if self._listening is not None:
            await cancel_and_wait(self._listening)

    def notify(self, wakeup: Wakeup) -> None:
        self._local.notify(wakeup)
        self._batch.notify(wakeup)

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())
        return self._local.listen(wakeups)

    async def _listen(self) -> None:
        """Listen until cancelled, or until it turns out that no notification arrives here."""
        delays, has_warned = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS), False
        while True:
            try:
                async with await _connect(self._address) as connection:
                    await self._subscribe(connection)
                    delays, has_warned = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS), False
                    self._local.notify(*Wakeup)
                    await self._receive(connection)
            except UNREACHABLE as error:
                if not has_warned:
                    logger.warning("no wake-ups, database unreachable error=%s", _first_line(error))
                has_warned = True
                await asyncio.sleep(next(delays))
            except psycopg.Error as error:
                if not has_warned:
                    logger.warning("no wake-ups, LISTEN refused error=%s; work is found by polling", _first_line(error))
                has_warned = True
                await asyncio.sleep(self.timings.refused_retry)
            except NotificationsLost as error:
                logger.warning(
                    "no wake-ups error=%s; work is found by polling. Behind a pooler that shares connections between"
                    " transactions, connect directly, or set REEL_DISPATCH=poll",
                    _first_line(error),
                )
                return

    async def _subscribe(self, connection: Connection) -> None:
        """Run LISTEN and test it: a pooler accepts it and delivers nothing."""
        await connection.execute(f"LISTEN {CHANNEL}")
        cursor = await connection.execute("SELECT pg_backend_pid()")
        if await cursor.fetchone() == (connection.pgconn.backend_pid,):
            return  # there is no pooler
        probe = os.urandom(8).hex()
        async with await _connect(self._address) as other:
            await other.execute("SELECT pg_notify(%s, %s)", [CHANNEL, probe])
        async for notification in connection.notifies(timeout=self.timings.probe):
            if notification.payload == probe:
                return
        raise NotificationsLost("LISTEN was accepted, but nothing arrives")

    async def _receive(self, connection: Connection) -> None:
        while True:
            async for notification in connection.notifies(timeout=self.timings.ping):
                if notification.pid != self._sender.pid:
                    sent = notification.payload.split()
                    self._local.notify(*(wakeup for wakeup in Wakeup if wakeup in sent))
            await connection.execute("")


class NotificationsLost(Exception):
    """Notifications do not arrive on this connection."""


class Sender:
    """Writes NOTIFY to its socket at once, and reads the answer of the server when it comes."""

    def __init__(self, address: str, flush_timeout: float) -> None:
        self._address = address
        self._flush_timeout = flush_timeout
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._socket = -1
        self._waiting: set[Wakeup] = set()
        self._sent: set[Wakeup] = set()
        self._number = 0
        """The number of the last message."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_unreachable = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The server's process that these notifications come from."""
        return self._connection.pgconn.backend_pid if self._connection else None

    def send(self, wakeups: Collection[Wakeup]) -> None:
        if not self._closed:
            self._waiting.update(wakeups)
            self._idle.clear()
            self._write()

    async def close(self) -> None:
        if not self._is_unreachable:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), self._flush_timeout)
        self._closed = True
        if self._connecting is not None:
            await cancel_and_wait(self._connecting)
        self._drop()

    def _write(self) -> None:
        if self._connection is None:
            self._connect()
        elif self._waiting and not self._sent:
            self._sent, self._waiting = self._waiting, set()
            self._number += 1
            with self._reconnecting():
                payload = " ".join(sorted(self._sent))
                self._connection.pgconn.send_query(f"NOTIFY {CHANNEL}, '{payload}'".encode())
                self._connection.pgconn.flush()
                asyncio.get_running_loop().call_later(
                    ANSWER_TIMEOUT, self._on_answer_timeout, self._connection, self._number
                )

    def _read(self) -> None:
        """Read the answer, or notice that the server closed the connection."""
        if self._connection is None:
            return
        with self._reconnecting():
            pgconn = self._connection.pgconn
            pgconn.consume_input()
            while self._sent and not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    self._sent.clear()
                elif result.status == ExecStatus.FATAL_ERROR:
                    error = result.error_message.decode(errors="replace").strip()
                    logger.warning("wake-up refused error=%s", error)
            self._send_next()

    def _send_next(self) -> None:
        if self._waiting:
            self._write()
        elif not self._sent:
            self._idle.set()

    def _on_answer_timeout(self, connection: Connection, number: int) -> None:
        """Send a message again over a new connection if the server has not answered it."""
        if self._connection is connection and self._sent and self._number == number:
            with self._reconnecting():
                raise AnswerLost("the server does not answer a wake-up")

    @contextlib.contextmanager
    def _reconnecting(self) -> Iterator[None]:
        """Reopen a broken connection if something is left to send, such as what was under way."""
        try:
            yield
        except UNREACHABLE as error:
            logger.debug("wake-up connection lost error=%s", _first_line(error))
            self._waiting |= self._sent
            self._sent.clear()
            self._drop()
            if self._waiting:
                self._connect()

    def _connect(self) -> None:
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.get_running_loop().create_task(self._open_connection())

    async def _open_connection(self) -> None:
        connection = await self._connect_with_retries()
        self._is_unreachable = False
        self._connection, self._socket = connection, connection.pgconn.socket
        asyncio.get_running_loop().add_reader(self._socket, self._read)
        self._write()

    async def _connect_with_retries(self) -> Connection:
        delays = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        while True:
            try:
                return await _connect(self._address)
            except UNREACHABLE as error:
                if not self._is_unreachable:
                    logger.warning("wake-ups not sent error=%s; work is found by polling", _first_line(error))
                self._is_unreachable = True
                await asyncio.sleep(next(delays))

    def _drop(self) -> None:
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._connection.pgconn.finish()
            self._connection = None


def _with_application_name(url: str) -> str:
    given = conninfo_to_dict(url)
    return url if given.get("application_name") else make_conninfo(url, application_name="reelstate")


async def _connect(address: str) -> Connection:
    return await WatchedConnection.connect(address, autocommit=True, prepare_threshold=None)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

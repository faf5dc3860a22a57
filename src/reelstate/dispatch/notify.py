"""The dispatch of PostgreSQL: NOTIFY on one channel, after the commit, from a connection of its own.

A NOTIFY inside the transaction would make all commits of the server wait for each other. The sender writes the first
ring to its socket at once and merges the rest; the listener is a connection that only waits. Both are opened when they
are first needed and again whenever they are lost. What was rung meanwhile is unknown, so a new listener rings all.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import random
from collections.abc import Collection, Iterator

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus

from reelstate.connections.postgres import ANSWER_TIMEOUT, Silent, WatchedConnection
from reelstate.dispatch.dispatch import WORKER_WAKEUPS, HintlessDispatch, Listener, Wakeup
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

CHANNEL = "reelstate"
AWAY = (psycopg.OperationalError, psycopg.InterfaceError, OSError)
FIRST_DELAY, MAX_DELAY = 0.1, 5.0
REFUSED_PAUSE = 30.0
"""Between two tries on a server that answers but does not let us listen, as one that is not yet the primary."""
LAST_WORDS = 1.0
"""Seconds that closing waits for a ring to leave."""
PROBE_SECONDS = 2.0
PING_EVERY = 5.0
"""Seconds after which a listener that hears nothing asks whether the server is still there."""

Connection = WatchedConnection


class NotifyDispatch(HintlessDispatch):
    def __init__(self, url: str) -> None:
        self._address = _address(url)
        self._doorbell = LocalWakeups()
        self._sender = Sender(self._address)
        self._merged = WakeupBatch(self._sender.send)
        self._listening: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connections are opened when they are needed."""

    async def close(self) -> None:
        self._merged.flush()
        await self._sender.close()
        if self._listening is not None:
            await cancel_and_wait(self._listening)

    def notify(self, bell: Wakeup) -> None:
        self._doorbell.notify(bell)
        self._merged.notify(bell)

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())
        return self._doorbell.listen(bells)

    async def _listen(self) -> None:
        """Listen for ever, unless this server has nothing to say to listeners."""
        rests = _pauses()
        told = False
        while True:
            try:
                async with await _connect(self._address) as connection:
                    await self._subscribe(connection)
                    rests, told = _pauses(), False
                    self._doorbell.notify(*Wakeup)
                    await self._hear(connection)
            except AWAY as error:
                if not told:
                    logger.warning("no wake-ups while the database is away: %s", _words(error))
                told = True
                await asyncio.sleep(next(rests))
            except psycopg.Error as error:
                if not told:
                    logger.warning("no wake-ups from other processes: %s; work is found by polling", _words(error))
                told = True
                await asyncio.sleep(REFUSED_PAUSE)
            except ListenerLost as error:
                logger.warning(
                    "no wake-ups from other processes: %s; work is found by polling. Behind a pooler that shares"
                    " connections between transactions, connect directly, or set REEL_DISPATCH=poll",
                    _words(error),
                )
                return

    async def _subscribe(self, connection: Connection) -> None:
        """LISTEN, and make sure that it works: a pooler accepts it and delivers nothing."""
        await connection.execute(f"LISTEN {CHANNEL}")
        cursor = await connection.execute("SELECT pg_backend_pid()")
        if await cursor.fetchone() == (connection.pgconn.backend_pid,):
            return  # nothing stands between us and the server
        probe = os.urandom(8).hex()
        async with await _connect(self._address) as other:
            await other.execute("SELECT pg_notify(%s, %s)", [CHANNEL, probe])
        async for notification in connection.notifies(timeout=PROBE_SECONDS):
            if notification.payload == probe:
                return
        raise ListenerLost("LISTEN was accepted, but nothing arrives")

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for notification in connection.notifies(timeout=PING_EVERY):
                if notification.pid != self._sender.pid:
                    words = notification.payload.split()
                    self._doorbell.notify(*(bell for bell in Wakeup if bell in words))
            await connection.execute("")


class ListenerLost(Exception):
    """Notifications do not arrive on this connection."""


class Sender:
    """Writes NOTIFY to its socket the moment it is told to; what the server answers is read when it comes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._socket = -1
        self._waiting: set[Wakeup] = set()
        self._sent: set[Wakeup] = set()
        self._number = 0
        """Which message was sent last."""
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._away = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The server's process that these notifications come from."""
        return self._connection.pgconn.backend_pid if self._connection else None

    def send(self, bells: Collection[Wakeup]) -> None:
        if not self._closed:
            self._waiting.update(bells)
            self._quiet.clear()
            self._write()

    async def close(self) -> None:
        if not self._away:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._quiet.wait(), LAST_WORDS)
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
            with self._guarded():
                payload = " ".join(sorted(self._sent))
                self._connection.pgconn.send_query(f"NOTIFY {CHANNEL}, '{payload}'".encode())
                self._connection.pgconn.flush()
                asyncio.get_running_loop().call_later(ANSWER_TIMEOUT, self._give_up_on, self._connection, self._number)

    def _read(self) -> None:
        """The socket has something to say: the answer, or that the server is gone."""
        if self._connection is None:
            return
        with self._guarded():
            pgconn = self._connection.pgconn
            pgconn.consume_input()
            while self._sent and not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    self._sent.clear()
                elif result.status == ExecStatus.FATAL_ERROR:
                    logger.warning("a wake-up was refused: %s", result.error_message.decode(errors="replace").strip())
            self._settle()

    def _settle(self) -> None:
        if self._waiting:
            self._write()
        elif not self._sent:
            self._quiet.set()

    def _give_up_on(self, connection: Connection, number: int) -> None:
        """Send a message once more over a new connection if the server has not answered it by now."""
        if self._connection is connection and self._sent and self._number == number:
            with self._guarded():
                raise Silent("the server does not answer a wake-up")

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """A broken line is opened again as soon as there is something to send, which may be what was under way."""
        try:
            yield
        except AWAY as error:
            logger.debug("the line of wake-ups broke: %s", _words(error))
            self._waiting |= self._sent
            self._sent.clear()
            self._drop()
            if self._waiting:
                self._connect()

    def _connect(self) -> None:
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.get_running_loop().create_task(self._connected())

    async def _connected(self) -> None:
        connection = await self._reached()
        self._away = False
        self._connection, self._socket = connection, connection.pgconn.socket
        asyncio.get_running_loop().add_reader(self._socket, self._read)
        self._write()

    async def _reached(self) -> Connection:
        rests = _pauses()
        while True:
            try:
                return await _connect(self._address)
            except AWAY as error:
                if not self._away:
                    logger.warning("can't send wake-ups: %s; work is found by polling meanwhile", _words(error))
                self._away = True
                await asyncio.sleep(next(rests))

    def _drop(self) -> None:
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._connection.pgconn.finish()
            self._connection = None


def _address(url: str) -> str:
    given = conninfo_to_dict(url)
    return url if given.get("application_name") else make_conninfo(url, application_name="reelstate")


async def _connect(address: str) -> Connection:
    return await WatchedConnection.connect(address, autocommit=True, prepare_threshold=None)


def _pauses() -> Iterator[float]:
    """How long to wait before each next try: doubling up to a limit, with jitter so that a fleet does not march."""
    for number in itertools.count():
        yield min(MAX_DELAY, FIRST_DELAY * 2 ** min(number, 10)) * random.uniform(0.5, 1.0)


def _words(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

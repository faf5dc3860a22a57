"""The server within a command: its socket, its first key, and a word on how to reach it. Slow to load."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext
from typing import Final
from urllib.parse import urlsplit

from reelstate.api.app import create_app
from reelstate.api.connections import raise_open_files
from reelstate.api.server import HttpServer, is_loopback, listen, url_of
from reelstate.api.signin import sign_in_url
from reelstate.app import keeper_for, open_engine
from reelstate.cli.application import select_pipelines
from reelstate.cli.process import print_status, stop_signals, store_options
from reelstate.cli.session import operator
from reelstate.cli.state_files import address_file, key_file, read_line, sign_in_file, write_key, write_state
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.engine import Engine
from reelstate.services.keys import Keys, Scope

logger = logging.getLogger("reelstate.server")
TIMEOUT: Final = 3.0
"""Seconds for a server of this machine to take a connection."""


async def serve_until_stopped(settings: Settings, *, insecure: bool, keeper: bool = True) -> None:
    """Serve until a signal says to stop."""
    raise_open_files()
    url = settings.database_url
    with closing(listen(settings, insecure=insecure)) as made:
        async with (
            open_engine(url, pipelines=select_pipelines(settings), settings=settings, **store_options(url)) as engine,
            start_server(engine, settings, made) as server,
        ):
            loop = asyncio.get_running_loop()
            for number in stop_signals():
                loop.add_signal_handler(number, server.stop)
            keeping = asyncio.create_task(keeper_for(engine, settings).run()) if keeper else None
            try:
                await server.serve([made])
            finally:
                if keeping is not None:
                    keeping.cancel()
                    await asyncio.gather(keeping, return_exceptions=True)
    print_status("the server has stopped")


@contextmanager
def bind_socket(settings: Settings, *, insecure: bool, elsewhere: bool) -> Iterator[socket.socket]:
    """The socket to serve on, bound before anything else is started: a port that is taken stops the command first."""
    raise_open_files()
    with closing(listen(settings, insecure=insecure, elsewhere=elsewhere)) as made:
        if (port := made.getsockname()[1]) != settings.serve_port != 0:
            print_status(
                f"port {settings.serve_port} is taken by another program, so it is {port}; REEL_SERVE_PORT chooses one"
            )
        yield made


@asynccontextmanager
async def serve_in_background(engine: Engine, settings: Settings, made: socket.socket) -> AsyncIterator[None]:
    """Serve while something else goes on."""
    async with start_server(engine, settings, made) as server:
        running = asyncio.create_task(server.serve([made]))
        try:
            yield
        finally:
            server.stop()
            await running


@asynccontextmanager
async def start_server(engine: Engine, settings: Settings, made: socket.socket) -> AsyncIterator[HttpServer]:
    """A server that is about to start, and a word on how to reach it."""
    app = create_app(engine, settings)
    base = url_of(settings, made)
    print_status(f"serving {base}; its description is at {base}/docs")
    key = await _admin_key(engine, settings)
    with publish_address(settings, base):
        address = await sign_in_url(base, app.state.context, key) if key is not None else None
        with _offering_sign_in(settings, address) if address is not None else nullcontext():
            yield HttpServer(app, settings)


async def _admin_key(engine: Engine, settings: Settings) -> str | None:
    """The key in the key file. Where there is no key at all, one is made: on loopback, for who started this."""
    keys = Keys(engine.store, pepper=settings.key_pepper)
    if not await keys.all():
        if not is_loopback(settings.serve_host):
            print_status("there is no key yet; make one with `reel keys create`")
            return None
        write_key(settings, "")  # a key whose file can't be written is not made
        made = await keys.create("first admin", scopes=[Scope.ADMIN], actor=operator())
        print_status(f"made an admin key; it is in {write_key(settings, made.text)}")
    return read_admin_key(settings) if is_loopback(settings.serve_host) else None


def read_admin_key(settings: Settings) -> str | None:
    """The first admin key, for whoever can read its file."""
    return read_line(key_file(settings))


@contextmanager
def _offering_sign_in(settings: Settings, address: str) -> Iterator[None]:
    """Print the one-time address to a terminal. Where output may be kept as a log, write it to a private file."""
    if sys.stderr.isatty():
        print_status(f"sign in once, within ten minutes: {address}")
        yield
        return
    path = sign_in_file(settings)
    try:
        write_state(path, address)
    except OSError as error:
        logger.info("sign-in address not written file=%s error=%s", path, error.strerror)
    else:
        print_status(f"sign in once, within ten minutes, with the address in {path}")
    try:
        yield
    finally:
        if read_line(path) == address:
            path.unlink(missing_ok=True)


@contextmanager
def publish_address(settings: Settings, url: str) -> Iterator[None]:
    """Keep the address in the state directory while it is served, for commands of the same user."""
    path = address_file(settings)
    try:
        write_state(path, url)
    except OSError as error:
        logger.info("%s can't be written, so `reel videos play` needs REEL_SERVER_URL: %s", path, error.strerror)
    try:
        yield
    finally:
        if read_line(path) == url:  # else another server has come after us
            path.unlink(missing_ok=True)


async def find_server(settings: Settings) -> str:
    """Where this house can be reached: as the settings say, else where a server of this machine says it is."""
    if settings.server_url:
        return settings.server_url.rstrip("/")
    url = read_line(address_file(settings))
    if url is None or not await _answers(url):
        words = "no server of this house runs here" if url is None else f"the server at {url} does not answer"
        raise InvalidRequest(
            "server_url", words, hint="start one with `reel up` or `reel serve`, or name one with REEL_SERVER_URL"
        )
    return url


async def _answers(url: str) -> bool:
    place = urlsplit(url)
    try:
        async with asyncio.timeout(TIMEOUT):
            _, writer = await asyncio.open_connection(place.hostname, place.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True

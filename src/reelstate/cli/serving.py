"""The HTTP server of a command: its socket, first key and address file. Slow to import."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from reelstate.api.app import create_app
from reelstate.api.connections import raise_open_files
from reelstate.api.dashboard import BASE
from reelstate.api.server import HttpServer, is_loopback, listen, url_of
from reelstate.api.signin import sign_in_url
from reelstate.app import keeper_for, metered, open_engine, read_engine
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
"""Seconds for a local server to accept a connection."""


async def serve_until_stopped(settings: Settings, *, insecure: bool, keeper: bool = True) -> None:
    """Serve until a signal stops it."""
    raise_open_files()
    url = settings.database_url
    with closing(listen(settings, insecure=insecure)) as sock:
        async with (
            open_engine(url, pipelines=select_pipelines(settings), settings=settings, **store_options(url)) as engine,
            start_server(engine, settings, sock) as server,
        ):
            loop = asyncio.get_running_loop()
            for number in stop_signals():
                loop.add_signal_handler(number, server.stop)
            keeper_task = asyncio.create_task(keeper_for(engine, settings).run()) if keeper else None
            try:
                await server.serve([sock])
            finally:
                if keeper_task is not None:
                    keeper_task.cancel()
                    await asyncio.gather(keeper_task, return_exceptions=True)
    print_status("server stopped")


@contextmanager
def bind_socket(settings: Settings, *, insecure: bool, elsewhere: bool) -> Iterator[socket.socket]:
    """Bind the socket before anything else starts, so that a used port stops the command first."""
    raise_open_files()
    with closing(listen(settings, insecure=insecure, elsewhere=elsewhere)) as sock:
        if (port := sock.getsockname()[1]) != settings.serve_port != 0:
            print_status(f"port {settings.serve_port} is in use, serving on {port}; set REEL_SERVE_PORT to choose one")
        yield sock


@asynccontextmanager
async def serve_in_background(engine: Engine, settings: Settings, sock: socket.socket) -> AsyncIterator[None]:
    """Serve while the context is open."""
    async with start_server(engine, settings, sock) as server:
        running = asyncio.create_task(server.serve([sock]))
        try:
            yield
        finally:
            server.stop()
            await running


@asynccontextmanager
async def start_server(engine: Engine, settings: Settings, sock: socket.socket) -> AsyncIterator[HttpServer]:
    """Create the server, print its address and publish it for other commands."""
    base = url_of(settings, sock)
    print_status(f"serving {base}; dashboard: {base}{BASE}; API reference: {base}/docs")
    key = await _admin_key(engine, settings)
    with metered(settings) as counted, publish_address(settings, base):
        counted.add_reading(partial(read_engine, engine))
        app = create_app(engine, settings, counted)
        address = await sign_in_url(base, app.state.context, key) if key is not None else None
        with _offer_sign_in(settings, address) if address is not None else nullcontext():
            yield HttpServer(app, settings)


@asynccontextmanager
async def serve_for(engine: Engine, settings: Settings) -> AsyncIterator[str]:
    """Serve while the context is open; yields an address that signs in its first visitor as an admin, with no key file.

    A free port is used where the configured one is taken.
    """
    with closing(listen(settings, elsewhere=True)) as sock:
        app = create_app(engine, settings)
        keys = Keys(engine.store, pepper=settings.key_pepper)
        made = await keys.create("this session", scopes=[Scope.ADMIN], actor=operator())
        server = HttpServer(app, settings)
        running = asyncio.create_task(server.serve([sock]))
        try:
            yield f"{url_of(settings, sock)}/signin?code={await keys.create_code(made.key)}"
        finally:
            server.stop()
            await running
            await keys.revoke(made.key.id, actor=operator())


async def _admin_key(engine: Engine, settings: Settings) -> str | None:
    """Return the key in the key file. If no key exists, create one when serving on loopback."""
    keys = Keys(engine.store, pepper=settings.key_pepper)
    if not await keys.all():
        if not is_loopback(settings.serve_host):
            print_status("no key exists; create one with `reel keys create`")
            return None
        write_key(settings, "")  # check that its file can be written before the key is created
        made = await keys.create("first admin", scopes=[Scope.ADMIN], actor=operator())
        print_status(f"created an admin key; it is in {write_key(settings, made.text)}")
    return read_admin_key(settings) if is_loopback(settings.serve_host) else None


def read_admin_key(settings: Settings) -> str | None:
    """Return the first admin key if its file can be read."""
    return read_line(key_file(settings))


@contextmanager
def _offer_sign_in(settings: Settings, address: str) -> Iterator[None]:
    """Print the one-time sign-in URL to a terminal; if stderr may be a log, write it to a private file."""
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
        print_status(f"sign in once, within ten minutes, with the URL in {path}")
    try:
        yield
    finally:
        if read_line(path) == address:
            path.unlink(missing_ok=True)


@contextmanager
def publish_address(settings: Settings, url: str) -> Iterator[None]:
    """Write the URL to the state directory while the context is open, for commands of the same user."""
    path = address_file(settings)
    try:
        write_state(path, url)
    except OSError as error:
        logger.info("server address not written file=%s error=%s", path, error.strerror)
    try:
        yield
    finally:
        if read_line(path) == url:  # another server may have replaced it
            path.unlink(missing_ok=True)


async def find_server(settings: Settings) -> str:
    """Return the URL of the server: from the settings, or of a server on this machine."""
    if settings.server_url:
        return settings.server_url.rstrip("/")
    url = read_line(address_file(settings))
    if url is None or not await _is_reachable(url):
        message = "no server of this deployment runs here" if url is None else f"the server at {url} does not respond"
        raise InvalidRequest(
            "server_url", message, hint="start one with `reel up` or `reel serve`, or set REEL_SERVER_URL"
        )
    return url


async def _is_reachable(url: str) -> bool:
    address = urlsplit(url)
    try:
        async with asyncio.timeout(TIMEOUT):
            _, writer = await asyncio.open_connection(address.hostname, address.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True

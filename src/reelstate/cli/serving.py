"""The server within a command: its socket, its first key, and a word on how to reach it. Slow to load."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reelstate.api.app import create_app
from reelstate.api.server import Server, is_loopback, listening, url_of
from reelstate.api.signin import sign_in_url
from reelstate.app import keeper_for, open_engine
from reelstate.cli.application import pipelines_of
from reelstate.cli.process import say, stopping_signals, waiting_for
from reelstate.cli.session import operator
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.services.engine import Engine
from reelstate.services.keys import Keys, Scope
from reelstate.stores.sqlite.address import database_path

logger = logging.getLogger("reelstate.server")
PATIENCE: Final = 3.0
"""Seconds for a server of this machine to take a connection."""


async def serve_alone(settings: Settings, *, insecure: bool, keeper: bool = True) -> None:
    """Serve until a signal says to stop."""
    url = settings.database_url
    with closing(listening(settings, insecure=insecure)) as made:
        async with (
            open_engine(url, pipelines=pipelines_of(settings), settings=settings, **waiting_for(url)) as engine,
            serving(engine, settings, made) as server,
        ):
            loop = asyncio.get_running_loop()
            for number in stopping_signals():
                loop.add_signal_handler(number, server.stop)
            keeping = asyncio.create_task(keeper_for(engine, settings).run()) if keeper else None
            try:
                await server.serve([made])
            finally:
                if keeping is not None:
                    keeping.cancel()
                    await asyncio.gather(keeping, return_exceptions=True)
    say("the server has stopped")


@asynccontextmanager
async def serving_beside(engine: Engine, settings: Settings, *, insecure: bool, elsewhere: bool) -> AsyncIterator[None]:
    """Serve while something else goes on."""
    with closing(listening(settings, insecure=insecure, elsewhere=elsewhere)) as made:
        if (port := made.getsockname()[1]) != settings.serve_port != 0:
            say(f"port {settings.serve_port} is taken by another program, so it is {port}; REEL_SERVE_PORT chooses one")
        async with serving(engine, settings, made) as server:
            running = asyncio.create_task(server.serve([made]))
            try:
                yield
            finally:
                server.stop()
                await running


@asynccontextmanager
async def serving(engine: Engine, settings: Settings, made: socket.socket) -> AsyncIterator[Server]:
    """A server that is about to start, and a word on how to reach it."""
    app = create_app(engine, settings)
    base = url_of(settings, made)
    say(f"serving {base}; its description is at {base}/docs")
    key = await _admin_key(engine, settings)
    with telling_where(settings, base):
        if key is not None and (address := await sign_in_url(base, app.state.context, key)):
            say(f"sign in once, within ten minutes: {address}")
        yield Server(app, settings)


async def _admin_key(engine: Engine, settings: Settings) -> str | None:
    """The key in the key file. Where there is no key at all, one is made: on loopback, for who started this."""
    path = key_file(settings)
    keys = Keys(engine.store, pepper=settings.key_pepper)
    if not await keys.all():
        if not is_loopback(settings.serve_host):
            say("there is no key yet; make one with `reel keys create`")
            return None
        _write_secret(path, "")  # a key whose place can't be written to is not made
        made = await keys.create("first admin", scopes=[Scope.ADMIN], actor=operator())
        _write_secret(path, made.text)
        say(f"made an admin key; it is in {path}")
    return _text_of(path) if is_loopback(settings.serve_host) else None


def key_file(settings: Settings) -> Path:
    """Where the first admin key is kept."""
    if settings.key_file:
        return Path(settings.key_file)
    if settings.database_url.startswith("sqlite:") and (database := database_path(settings.database_url)):
        return database.with_name(f"{database.name}.key")
    return Path("reelstate.key")


def key_in_file(settings: Settings) -> str | None:
    """The first admin key, for whoever can read its file."""
    return _text_of(key_file(settings))


@contextmanager
def telling_where(settings: Settings, url: str) -> Iterator[None]:
    """Keep the address in a file beside the key while it is served, for commands on the same machine."""
    path = _address_file(settings)
    try:
        path.write_text(url + "\n")
    except OSError as error:
        logger.info("%s can't be written, so `reel videos play` needs REEL_SERVER_URL: %s", path, error.strerror)
    try:
        yield
    finally:
        if _text_of(path) == url:  # else another server has come after us
            path.unlink(missing_ok=True)


async def served_at(settings: Settings) -> str:
    """Where this house can be reached: as the settings say, else where a server of this machine says it is."""
    if settings.server_url:
        return settings.server_url.rstrip("/")
    url = _text_of(_address_file(settings))
    if url is None or not await _answers(url):
        words = "no server of this house runs here" if url is None else f"the server at {url} does not answer"
        raise InvalidRequest(
            "server_url", words, hint="start one with `reel up` or `reel serve`, or name one with REEL_SERVER_URL"
        )
    return url


async def _answers(url: str) -> bool:
    place = urlsplit(url)
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(place.hostname, place.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _address_file(settings: Settings) -> Path:
    return key_file(settings).with_suffix(".url")


def _write_secret(path: Path, text: str) -> None:
    """For nobody but this user, from the first moment on."""
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        words = f"{path} can't be written: {error.strerror}"
        raise InvalidRequest("key_file", words, hint="name another place with REEL_KEY_FILE") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None

"""`reel serve` as a process that can be killed, restarted at the same port, and measured."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Self

import httpx

from reelstate.api.server import listen
from reelstate.config import PREFIX, Settings
from reelstate.engine import Engine
from reelstate.services.keys import Keys, Scope
from tests.api.api_server import PLAIN

TIMEOUT: Final = 60.0
MEGABYTE: Final = 1 << 20
WARM: Final = 20
"""Streams that are opened first, so that the server has loaded what streams need."""
EVENTS: Final = "/api/v1/events"


class ServerProcess:
    def __init__(self, folder: Path, database_url: str, **settings: str) -> None:
        with listen(Settings(serve_port=0)) as free:
            self._port: int = free.getsockname()[1]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self._environment = {**kept, "REEL_KEY_FILE": str(folder / "key"), "REEL_RATE_PER_KEY": "1e6", **settings}
        self._environment["REEL_RATE_PER_ADDRESS"] = "1e6"
        self._command = [sys.executable, "-m", "reelstate", "serve", "--database", database_url]
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.kill()

    async def start(self) -> None:
        with self._log.open("a") as log:
            command = [*self._command, "--port", str(self._port)]
            self._process = subprocess.Popen(command, env=self._environment, stderr=log, stdout=log)  # noqa: ASYNC220 - it starts at once
        async with asyncio.timeout(TIMEOUT), httpx.AsyncClient(verify=PLAIN, trust_env=False) as client:
            while not await _lives(client, self.url):
                assert self._process.poll() is None, self._log.read_text()
                await asyncio.sleep(0.05)  # another process, which gives no signal

    def kill(self) -> None:
        """Kill the process, which cleans up nothing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def memory(self) -> int:
        """Return the current memory, in bytes."""
        return self._memory("VmRSS:")

    def peak_memory(self) -> int:
        """Return the peak of the memory since `forget_peak`, in bytes."""
        return self._memory("VmHWM:")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _memory(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


async def _lives(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(f"{url}/livez")).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


async def a_key(engine: Engine) -> str:
    made = await Keys(engine.store).create("follower", scopes=[Scope.ADMIN], actor="operator:test")
    return made.text


async def weight_of(engine: Engine, url: str, folder: Path, streams: int) -> int:
    """Return the bytes of memory that `count` idle streams add to the first ones."""
    key = await a_key(engine)
    async with AsyncExitStack() as stack:
        most = str(streams + WARM)
        server = ServerProcess(folder, url, REEL_STREAMS_PER_KEY=most, REEL_CONNECTIONS_PER_ADDRESS=str(2 * streams))
        await stack.enter_async_context(server)
        for _ in range(WARM):
            await stack.enter_async_context(idle(server, key))
        before = server.memory()
        for _ in range(streams):
            await stack.enter_async_context(idle(server, key))
        return server.memory() - before


@asynccontextmanager
async def idle(server: ServerProcess, key: str) -> AsyncIterator[None]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        lines = [f"GET {EVENTS} HTTP/1.1", "Host: here", "Accept: text/event-stream", f"Authorization: Bearer {key}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        await reader.readuntil(b"event: replay_complete")
        yield
    finally:
        writer.close()
        await writer.wait_closed()

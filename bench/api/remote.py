"""One remote worker claims and completes tasks that do nothing, through one server process."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.api.noop import noop
from bench.measured import Measured
from reelstate.app import open_engine
from reelstate.engine import Engine
from reelstate.services.keys import Keys, Scope
from tests.postgres import PostgresServer, memory_folder

TASKS, QUICK = 20_000, 1_000
WARM = 500
LEAST = 1_000.0
"""Tasks per second."""
APP = "bench.api.noop:noop"
TIMEOUT = 300.0


def measure(folder: Path, *, quick: bool) -> Iterator[Measured]:
    tasks = QUICK if quick else TASKS
    yield _rate("SQLite", f"sqlite:///{folder / 'remote.db'}", folder, tasks)
    with PostgresServer(folder=memory_folder()) as server:
        yield _rate("PostgreSQL", server.new_database(), folder, tasks)


def _rate(store: str, url: str, folder: Path, tasks: int) -> Measured:
    return Measured(
        f"a remote worker's tasks, claimed and completed over HTTP, {store}",
        asyncio.run(_drained(url, folder, tasks)),
        "tasks/s",
        least=LEAST,
    )


async def _drained(url: str, folder: Path, tasks: int) -> float:
    async with open_engine(url, migrate=True, pipelines=[noop]) as engine:
        made = await Keys(engine.store).create("bench", scopes=[Scope.WORKER], actor="operator:bench")
        key = folder / "bench.key"
        key.write_text(made.text)
        port = _free_port()
        shared = {"REEL_APP": APP, "REEL_LOG_LEVEL": "warning", "REEL_STORAGE_URL": str(folder / "media")}
        serving = {"REEL_DATABASE_URL": url, "REEL_SERVE_PORT": str(port), "REEL_RATE_PER_KEY": "100000"}
        far = {"REEL_SERVER_URL": f"http://127.0.0.1:{port}", "REEL_SERVER_KEY_FILE": str(key)}
        with _process("serve", {**shared, **serving}):
            await _answering(port)
            with _process("worker", {**shared, **far, "REEL_WORKER_CAPABILITIES": "-ffmpeg"}):
                await _done(engine, WARM)
                return await _done(engine, tasks)


async def _done(engine: Engine, tasks: int) -> float:
    """Return the tasks per second by the times in the store: from the first claim to the end of the job."""
    job = await engine.submit("noop", {"parts": list(range(tasks))})
    detail = await engine.wait(job.id, timeout=TIMEOUT)
    assert detail.job.started_at is not None
    assert detail.job.finished_at is not None
    assert detail.stages[0].done == tasks
    return tasks / (detail.job.finished_at - detail.job.started_at).total_seconds()


@contextmanager
def _process(command: str, settings: dict[str, str]) -> Iterator[None]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
    process = subprocess.Popen([sys.executable, "-m", "reelstate", command], env={**kept, **settings})
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def _answering(port: int) -> None:
    end = time.monotonic() + TIMEOUT
    async with httpx.AsyncClient(trust_env=False) as client:
        while time.monotonic() < end:
            try:
                await client.get(f"http://127.0.0.1:{port}/livez")
            except httpx.TransportError:
                await asyncio.sleep(0.1)
            else:
                return
    raise TimeoutError("the server does not answer")


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port

"""The process of a worker exits on a signal or an order of its supervisor, whatever it is doing."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from tests.worker.local_workers import count_leased, engine_for
from tests.worker.unstoppable_pipeline import unstoppable

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def worker_process(url: str, **environment: str) -> Any:
    settings = {
        "REEL_DATABASE_URL": url,
        "REEL_APP": "tests.worker.unstoppable_pipeline:unstoppable",
        "REEL_WORKER_GRACE": "0",
        "REEL_WORKER_KILL_AFTER": "0.5",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reelstate", "worker", "--no-keeper",
        cwd=ROOT, env={**os.environ, **settings, **environment}, stdin=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def wait_for_line(process: Process, text: str) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(300):
        while text not in (line := (await process.stderr.readline()).decode()):
            assert line, f"the process exited without logging {text!r}"


@pytest.mark.parametrize("how", ["thread", "async"])
async def test_a_handler_that_does_not_stop_does_not_keep_the_process_alive(database_url: str, how: str) -> None:
    async with engine_for(database_url, unstoppable) as engine, worker_process(database_url) as process:
        job = await engine.submit("unstoppable", how)
        await until(lambda: _has_logged(engine, job.id))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 300) == 0
        assert await count_leased(engine) == 0


async def _has_logged(engine: Any, job_id: int) -> bool:
    return bool((await engine.logs(job_id)).items)


@pytest.mark.parametrize("order", [b"s", b"h", b""])
async def test_a_supervised_worker_that_waits_for_its_database_obeys_its_supervisor(
    order: bytes, refusing_port: int
) -> None:
    unreachable = f"postgresql://postgres@127.0.0.1:{refusing_port}/none?connect_timeout=2"
    async with worker_process(unreachable, REEL_SUPERVISED="1") as process:
        await wait_for_line(process, "database unreachable")
        assert process.stdin is not None
        process.stdin.write(order)
        if not order:
            process.stdin.close()
        await wait_for_line(process, "stopped before the database")
        assert await asyncio.wait_for(process.wait(), 300) == 0

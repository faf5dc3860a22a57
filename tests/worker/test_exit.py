"""The process of a worker ends when it is told to, in whatever it is caught."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.worker.local_workers import count_leased, engine_for, until
from tests.worker.unstoppable_pipeline import stubborn

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def worker_process(url: str, **environment: str) -> Any:
    told = {
        "REEL_DATABASE_URL": url,
        "REEL_APP": "tests.worker.unstoppable_pipeline:stubborn",
        "REEL_WORKER_GRACE": "0",
        "REEL_WORKER_KILL_AFTER": "0.5",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reelstate", "worker", "--no-keeper",
        cwd=ROOT, env={**os.environ, **told, **environment}, stdin=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def said(process: Process, words: str) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(300):
        while words not in (line := (await process.stderr.readline()).decode()):
            assert line, f"it ended without saying {words!r}"


@pytest.mark.parametrize("how", ["thread", "deaf"])
async def test_a_handler_that_does_not_stop_does_not_keep_the_process(database_url: str, how: str) -> None:
    async with engine_for(database_url, stubborn) as engine, worker_process(database_url) as process:
        job = await engine.submit("stubborn", how)
        await until(lambda: _runs(engine, job.id))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 300) == 0
        assert await count_leased(engine) == 0


async def _runs(engine: Any, job_id: int) -> bool:
    return bool((await engine.logs(job_id)).items)


@pytest.mark.parametrize("word", [b"s", b"h", b""])
async def test_a_supervised_worker_that_waits_for_its_database_heeds_its_supervisor(
    word: bytes, refusing_port: int
) -> None:
    nobody = f"postgresql://postgres@127.0.0.1:{refusing_port}/none?connect_timeout=2"
    async with worker_process(nobody, REEL_SUPERVISED="1") as process:
        await said(process, "can't be reached")
        assert process.stdin is not None
        process.stdin.write(word)
        if not word:
            process.stdin.close()
        await said(process, "told to stop")
        assert await asyncio.wait_for(process.wait(), 300) == 0

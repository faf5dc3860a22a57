"""`reel demo`: one real job on a store of its own, a worker that is killed on the way, and the history of it all."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from reelstate.app import open_engine
from reelstate.cli.history import events_table
from reelstate.cli.live import follow
from reelstate.cli.session import run
from reelstate.cli.terminal import console
from reelstate.config import Settings, variable
from reelstate.core.declaration import Pipeline
from reelstate.core.model import JobDetail
from reelstate.services.engine import Engine
from reelstate.worker.run import BlockingRun

CHUNK = 1 << 20
CHUNKS = 12
ROUNDS = 300
"""How often a chunk is hashed, so that there is something to see."""

fingerprint = Pipeline("fingerprint")


@fingerprint.stage(phase="planning")
def plan(task: BlockingRun) -> dict[str, list[int]]:
    return {"chunks": list(range(0, Path(task.spec["file"]).stat().st_size, CHUNK))}


@fingerprint.stage(name="hash", after=plan, each="plan.chunks", weight=10)
def hash_chunk(task: BlockingRun) -> str:
    with Path(task.spec["file"]).open("rb") as stream:
        stream.seek(task.input)
        chunk = stream.read(CHUNK)
    found = ""
    for turn in range(ROUNDS):
        found = hashlib.sha256(chunk).hexdigest()
        task.progress(100 * turn / ROUNDS, f"byte {task.input:,}")
    return found


@fingerprint.stage(after=hash_chunk, phase="uploading_outputs")
async def combine(task: Any) -> dict[str, str]:
    whole = hashlib.sha256()
    async for each in task.results(hash_chunk):
        whole.update(each.encode())
    return {"sha256 of sha256": whole.hexdigest()}


def demo(
    folder: Annotated[Path | None, typer.Option(help="Where to leave the store; a new folder when left out.")] = None,
) -> None:
    """Run a small job from submit to completed, kill a worker on the way, and show its history.

    Example: `reel demo`
    """
    place = folder or Path(tempfile.mkdtemp(prefix="reel-demo-"))
    place.mkdir(parents=True, exist_ok=True)
    run(_demo(place, console()))


async def _demo(folder: Path, screen: Console) -> None:
    source = folder / "source.bin"
    source.write_bytes(b"".join(hashlib.sha256(bytes([number])).digest() * (CHUNK // 32) for number in range(CHUNKS)))
    url = f"sqlite:///{folder / 'demo.db'}"
    async with open_engine(url, pipelines=[fingerprint]) as engine:
        job_id = (await engine.submit("fingerprint", {"file": str(source)}, priority="high")).id
        screen.print(f"submitted job {job_id} to {url}")
        await _lose_a_worker(engine, url, job_id, screen)
    async with open_engine(url, pipelines=[fingerprint], workers=2, settings=_settings(url, "steady")) as engine:
        screen.print("worker 'steady' takes over: what was done stays done")
        detail = await follow(engine, job_id, screen)
        await _look_back(engine, detail, screen)
    command = "reel" if shutil.which("reel") else sys.argv[0]
    screen.print(f"look around: {command} job {job_id} --database {url}", soft_wrap=True)


async def _lose_a_worker(engine: Engine, url: str, job_id: int, screen: Console) -> None:
    """Another process begins the work and is killed, as by the kernel when memory runs out."""
    told = {"database_url": url, "worker_name": "doomed", "worker_concurrency": "2", "log_level": "error"}
    environment = {**os.environ, **{variable(name): value for name, value in told.items()}}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reelstate", "worker", "--app", f"{__name__}:fingerprint", "--no-keeper",
        env=environment, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async for _ in _progress(engine, job_id, process):
            pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    detail = await engine.job(job_id)
    screen.print(
        f"worker 'doomed' was killed at {detail.progress:.0f} %, with {detail.stages[1].running} chunks in hand"
    )


async def _progress(engine: Engine, job_id: int, process: asyncio.subprocess.Process) -> Any:
    """The job again and again until a third of its chunks are done, or the worker is gone."""
    while process.returncode is None:
        detail = await engine.job(job_id)
        yield detail
        if detail.stages[1].done >= CHUNKS // 3 and detail.stages[1].running:
            return
        await asyncio.sleep(0.02)


async def _look_back(engine: Engine, detail: JobDetail, screen: Console) -> None:
    stages = [stage.name for stage in detail.stages]
    screen.print(events_table((await engine.history(detail.job.id)).items, stages))
    diagnosis = await engine.doctor()
    screen.print(f"outputs: {detail.outputs}")
    screen.print("doctor: every invariant holds" if diagnosis.healthy else f"doctor: {diagnosis.findings}")


def _settings(url: str, name: str) -> Settings:
    return Settings(database_url=url, worker_name=name, sweep_every=0.5, orchestrate_every=0.5)

"""`reel demo`: one real job on a store of its own, with a worker that dies on the way, and its history."""

import asyncio
import hashlib
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimedTask, Completion, Event, JobDetail
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.services.engine import Engine

CHUNK = 1 << 20
CHUNKS = 8
LEASE = 1.0

FINGERPRINT = Graph.of(
    "fingerprint",
    [
        StageSpec(name="plan", phase=JobStatus.PLANNING),
        StageSpec(name="hash", after=("plan",), each="plan.chunks", lease=LEASE, weight=8),
        StageSpec(name="combine", after=("hash",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)


def demo(
    folder: Annotated[Path | None, typer.Option(help="Where to leave the store; a new folder when left out.")] = None,
) -> None:
    """Run a small job from submit to completed, lose a worker on the way, and show its history.

    Example: `reel demo`
    """
    place = folder or Path(tempfile.mkdtemp(prefix="reel-demo-"))
    place.mkdir(parents=True, exist_ok=True)
    asyncio.run(_demo(place, Console()))


async def _demo(folder: Path, console: Console) -> None:
    source = folder / "source.bin"
    source.write_bytes(b"".join(hashlib.sha256(bytes([number])).digest() * (CHUNK // 32) for number in range(CHUNKS)))
    url = f"sqlite:///{folder / 'demo.db'}"
    async with open_engine(url, pipelines=[FINGERPRINT]) as engine:
        job_id = (await engine.submit("fingerprint", {"file": str(source)}, priority="high")).job_id
        console.print(f"submitted job {job_id} to {url}")
        await _lose_a_worker(engine, console)
        await _work(engine, job_id)
        detail = await engine.job(job_id)
        console.print(_stages(detail))
        console.print(_history((await engine.history(job_id)).items))
        diagnosis = await engine.doctor()
        console.print(f"outputs: {detail.outputs}")
        console.print("doctor: every invariant holds" if diagnosis.healthy else f"doctor: {diagnosis.findings}")
        console.print(f"the store is {folder / 'demo.db'}: look into it with sqlite3, or try to break it by hand")


async def _lose_a_worker(engine: Engine, console: Console) -> None:
    """One worker finishes the plan, takes two chunks and is never heard of again."""
    doomed = await engine.register("doomed", hostname="localhost", software="demo", slots=2)
    await engine.complete([_run(task) for task in (await engine.claim(doomed, 2)).tasks])
    taken = (await engine.claim(doomed, 2)).tasks
    console.print(
        f"worker 'doomed' took {len(taken)} of {CHUNKS} chunks and died; their leases run out in {LEASE:.0f} s"
    )


async def _work(engine: Engine, job_id: int) -> None:
    """Another worker does what is ready while the keeper's part takes back what was lost."""
    worker = await engine.register("steady", hostname="localhost", software="demo", slots=1)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns) as progress:
        bar = progress.add_task("fingerprint", total=100)
        while not (detail := await engine.job(job_id)).job.ended:
            progress.update(bar, completed=detail.progress, description=detail.job.status)
            await engine.reclaim()
            tasks = (await engine.claim(worker, 1)).tasks
            await engine.complete([_run(task) for task in tasks])
            await asyncio.sleep(0.05)
        progress.update(bar, completed=100, description=detail.job.status)


def _run(task: ClaimedTask) -> Completion:
    file = Path(task.spec["file"])
    match task.stage_name:
        case "plan":
            result: Any = {"chunks": list(range(0, file.stat().st_size, CHUNK))}
        case "hash":
            with file.open("rb") as stream:
                stream.seek(task.input)
                result = {"sha256": hashlib.sha256(stream.read(CHUNK)).hexdigest()}
        case _:
            result = {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    return Completion(key=task.key, token=task.token, result=result)


def _stages(detail: JobDetail) -> Table:
    table = Table("stage", "status", "done", "of", title=f"job {detail.job.id}: {detail.job.status}")
    for stage in detail.stages:
        table.add_row(stage.name, stage.status, str(stage.done), str(stage.total))
    return table


def _history(events: list[Event]) -> Table:
    table = Table("at", "what", "from", "to", "by", "why", title="history", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for event in events:
        stage = None if event.stage is None else FINGERPRINT.stages[event.stage].name
        what = " ".join(str(word) for word in (event.entity, stage, event.part) if word is not None)
        table.add_row(f"{event.at:%M:%S.%f}"[:-3], what, event.origin, event.target, event.actor, event.reason)
    return table

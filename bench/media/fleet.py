"""The ladder made by several `reel worker -c 1` processes on SQLite and a folder."""

import asyncio
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from reelstate import JobStatus, NewVideo, Submission
from reelstate.app import open_engine
from reelstate.core.model import Job, Task
from reelstate.engine import Engine

PR_SET_CHILD_SUBREAPER: Final = 36
TICKS: Final = os.sysconf("SC_CLK_TCK")
SAMPLE: Final = 0.1
TIMEOUT: Final = 3600.0


@dataclass(frozen=True)
class Measured:
    """One run."""

    seconds: float
    """From submit to completed."""
    planned: float
    """From the claim of validate to the end of plan."""
    viewable: float
    """From submit until the sound and the first chunk are stored."""
    cpu: float
    """CPU seconds of the workers and their child processes, from the submit on."""
    other: float
    """The part of these without ffmpeg: the workers themselves, with the reads of verify and the probes."""
    start: float
    """CPU seconds until the workers were ready."""
    stages: dict[str, tuple[float, float]]
    """The start and the end of each stage, in seconds since the submit."""


def run(clip: Path, profile: dict[str, Any], folder: Path, workers: int, environment: dict[str, str]) -> Measured:
    folder.mkdir()
    _adopt_orphans()
    before = children_cpu()
    settings = {
        "REEL_DATABASE_URL": f"sqlite:///{folder}/reel.db",
        "REEL_STORAGE_URL": str(folder / "media"),
        "REEL_SCRATCH": str(folder / "scratch"),
    }
    with _working(workers, folder, {**os.environ, **environment, **settings}) as watched:
        job, tasks = asyncio.run(_transcoded(settings["REEL_DATABASE_URL"], clip, profile, workers))
        own = watched.newest
    spent = children_cpu() - before
    shutil.rmtree(folder)
    return _measured(job, tasks, watched, own, spent)


def _measured(job: Job, tasks: list[Task], watched: "_Watched", own: float, spent: float) -> Measured:
    stages = {stage: _span(job, [task for task in tasks if task.stage_name == stage]) for stage in _names(tasks)}
    first = next(task for task in tasks if task.stage_name == "encode" and task.part == 0)
    submitted = job.created_at.timestamp()
    own_before, children_before = watched.at(submitted)
    _, looks = watched.at(submitted + stages["fetch"][1])
    start = own_before + children_before
    return Measured(
        seconds=_since(job, job.finished_at),
        planned=stages["plan"][1] - stages["validate"][0],
        viewable=max(stages["audio"][1], _since(job, first.finished_at)),
        cpu=spent - start,
        other=own + looks - start,
        start=start,
        stages=stages,
    )


def _names(tasks: list[Task]) -> list[str]:
    return list(dict.fromkeys(task.stage_name for task in tasks))


def _span(job: Job, tasks: list[Task]) -> tuple[float, float]:
    claimed = [_since(job, task.claimed_at) for task in tasks if task.claimed_at]
    return min(claimed, default=0.0), max(_since(job, task.finished_at) for task in tasks)


def _since(job: Job, moment: datetime | None) -> float:
    assert moment is not None
    return (moment - job.created_at).total_seconds()


async def _transcoded(url: str, clip: Path, profile: dict[str, Any], workers: int) -> tuple[Job, list[Task]]:
    async with open_engine(url) as engine:
        await _wait_for(engine, workers)
        video = NewVideo(source=str(clip), title="bench")
        order = Submission(pipeline="transcode", spec={"profile": profile}, resource=video)
        (answer,) = await engine.submit_many([order])
        detail = await engine.wait(answer.job_id, timeout=TIMEOUT)
        if detail.job.status is not JobStatus.COMPLETED:
            raise RuntimeError(f"the job is {detail.job.status}: {detail.job.error}")
        page = await engine.tasks(answer.job_id)
        return detail.job, list(page.items)


async def _wait_for(engine: Engine, workers: int) -> None:
    while len(await engine.workers()) < workers:  # noqa: ASYNC110 - other processes register, there is no event for it
        await asyncio.sleep(SAMPLE)
    # The start of a worker is not part of the job.
    await asyncio.sleep(1)


@contextmanager
def _working(workers: int, folder: Path, environment: dict[str, str]) -> Iterator["_Watched"]:
    """Run this many workers; end them and their child processes at exit."""
    reel = [sys.executable, "-m", "reelstate", "worker", "-c", "1"]
    with (folder / "workers.log").open("wb") as log:
        started = [
            subprocess.Popen([*reel, "--name", f"bench-{number}"], env=environment, stdout=log, stderr=log)
            for number in range(workers)
        ]
        watched = _Watched([process.pid for process in started])
        try:
            with watched:
                yield watched
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                process.wait()
            _reap_orphans()


class _Watched:
    """Samples the CPU seconds of processes while the context lasts."""

    def __init__(self, processes: list[int]) -> None:
        self._processes = processes
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._seen: list[tuple[float, float, float]] = []
        """Time, CPU seconds of the processes, and CPU seconds of their finished children."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def newest(self) -> float:
        """Return the newest CPU seconds of the processes themselves."""
        return self._now()[0]

    def at(self, moment: float) -> tuple[float, float]:
        """Return their CPU seconds and those of their children at a moment."""
        return next((own, theirs) for when, own, theirs in self._seen if when >= moment)

    def _look(self) -> None:
        while not self._ended.wait(SAMPLE):
            self._seen.append((time.time(), *self._now()))

    def _now(self) -> tuple[float, float]:
        own, theirs = zip(*map(_times, self._processes), strict=True)
        return sum(own), sum(theirs)


def _times(process: int) -> tuple[float, float]:
    """Return the CPU seconds of a process, and of the children it has waited for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own, theirs = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / TICKS, theirs / TICKS


def children_cpu() -> float:
    """Return the CPU seconds of the finished children of this process."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _adopt_orphans() -> None:
    """A sandbox ends before the ffmpeg in it, whose CPU time is then reported only to the process that adopts it."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("orphans can't be adopted, so CPU time can't be counted; this needs Linux")


def _reap_orphans() -> None:
    try:
        while os.wait():
            pass
    except ChildProcessError:
        return

"""A fleet of real processes on one store, which a test starts, waits for, kills and always ends."""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, TypeVar

import pytest

from reelstate.app import open_engine
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Event, Submission, Task, Worker
from reelstate.engine import Engine
from reelstate.stores.sqlite.address import database_path
from tests.chaos import pipelines
from tests.chaos.reel_process import HERE

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
TIMEOUT = 300.0
POLL_INTERVAL = 0.02
SWEEP = POLL = HEARTBEAT = 0.5
SETTINGS = {
    "app": "tests.chaos.pipelines:every",
    "heartbeat": HEARTBEAT,
    "sweep_every": SWEEP,
    "orchestrate_every": SWEEP,
    "poll": POLL,
    "worker_concurrency": 2,
    "worker_prefetch": 0,
    "worker_kill_after": 1.0,
}
LINE_BREAK = "\n"


@dataclass(frozen=True, slots=True)
class Run:
    """A line that a handler wrote to the file of runs."""

    what: str
    job: int
    stage: str
    part: int
    token: int
    pid: int
    at: float
    grandchildren: tuple[int, ...] = ()


def _thread_state(thread: Path) -> str:
    """The state letter of a thread in Linux's /proc; X for one that has ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


class Member:
    """A process of the fleet, in its own session."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.name = name
        self._log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def send(self, number: Signals) -> None:
        self._process.send_signal(number)

    def freeze(self) -> None:
        """Stop the process and wait until each of its threads has stopped: the signal takes effect a little later."""
        self.send(Signals.SIGSTOP)
        end = time.monotonic() + TIMEOUT
        while any(_thread_state(thread) not in "TtZX" for thread in Path(f"/proc/{self.pid}/task").iterdir()):
            assert time.monotonic() < end, f"{self.name} does not stop"
            time.sleep(0.005)  # the kernel gives no signal for it

    def send_group(self, number: Signals) -> None:
        os.killpg(self.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def resume(self) -> None:
        self.send(Signals.SIGCONT)

    async def ended(self, seconds: float = TIMEOUT) -> int:
        """Wait for the process and return its exit code."""
        return await asyncio.to_thread(self._process.wait, seconds)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.send_group(Signals.SIGKILL)
        self._process.wait()


class Fleet:
    """Members, and queries of the store that they share."""

    def __init__(self, url: str, folder: Path, engine: Engine, bytecode: Path) -> None:
        self.url = url
        self.engine = engine
        self._folder = folder
        self._bytecode = bytecode
        self._members: list[Member] = []

    def worker(self, name: str, *, host: str = HERE, **settings: Any) -> Member:
        """Start `reel worker`; with another host, its process can't be checked by the keepers of this machine."""
        return self._start(name, host, ["worker"], {"worker_name": name, **settings})

    def up(self, name: str = "up", *, workers: int = 1, **settings: Any) -> Member:
        return self._start(name, HERE, ["up", "--workers", str(workers)], settings)

    def reel(self, *arguments: str) -> Any:
        """Run a command and return its JSON output."""
        command = [sys.executable, "-m", "reelstate", *arguments, "--json"]
        answer = subprocess.run(
            command, env=self._environment({}), cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT
        )
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def open_gates(self, *gates: str) -> None:
        for gate in gates:
            (self._folder / gate).touch()

    def runs(self, what: str = "started", **wanted: Any) -> list[Run]:
        """Return the lines that handlers wrote, in order."""
        return [run for run in self._read() if run.what == what and _matches(run, wanted)]

    def processes(self) -> list[int]:
        """Return all live processes of this fleet, including handlers and their children."""
        marker = f"{pipelines.FOLDER}={self._folder}\0".encode()
        return [pid for pid in _processes() if marker in _environment_of(pid)]

    async def submit(self, pipeline: str, **spec: Any) -> int:
        return (await self.engine.submit(pipeline, {"work": [], "encode": [], **spec})).job_id

    async def submit_each(self, pipeline: str, specs: Collection[dict[str, Any]]) -> list[int]:
        """Submit jobs in one transaction, so that the first claim finds all of them."""
        made = await self.engine.submit_many([Submission(pipeline=pipeline, spec=spec) for spec in specs])
        return [each.job_id for each in made]

    async def tasks(self, job: int, *statuses: TaskStatus, stage: str | None = None) -> list[Task]:
        found: list[Task] = []
        after: str | None = None
        while True:
            page = await self.engine.tasks(job, stage=stage, statuses=statuses or None, after=after)
            found += page.items
            if (after := page.after) is None:
                return found

    async def history(self, job: int) -> list[Event]:
        found: list[Event] = []
        after: str | None = None
        while True:
            page = await self.engine.history(job, limit=5000, after=after)
            found += page.items
            if (after := page.after) is None:
                return found

    async def leases_by_worker(self, *jobs: int) -> dict[str, list[Task]]:
        """Return the running tasks of jobs by the name of their worker."""
        names = {worker.id: worker.name for worker in await self.engine.workers()}
        held: dict[str, list[Task]] = {}
        for job in jobs:
            for task in await self.tasks(job, TaskStatus.RUNNING):
                held.setdefault(names[task.worker_id or 0], []).append(task)
        return held

    async def are_online(self, *names: str) -> bool:
        """Return whether workers of these names are registered and online."""
        found = {worker.name for worker in await self.engine.workers() if worker.shown in {"idle", "busy"}}
        return found.issuperset(names)

    async def find_worker(self, name: str) -> Worker:
        """Return the newest instance of a name."""
        return max((each for each in await self.engine.workers() if each.name == name), key=lambda each: each.id)

    async def freeze(self, member: Member) -> None:
        """Freeze a process at a moment when it does not hold the write lock of a SQLite file, which would stop all."""
        while True:
            member.freeze()
            if not self.url.startswith("sqlite") or _can_write(database_path(self.url)):
                return
            member.resume()
            await asyncio.sleep(POLL_INTERVAL)  # its transaction ends, and gives no signal

    async def wait_ready(self, *names: str) -> None:
        await self.wait_for(lambda: self.are_online(*names), f"workers {names} register")

    async def wait_status(self, job: int, status: JobStatus = JobStatus.COMPLETED, seconds: float = TIMEOUT) -> None:
        """Wait until a job has a status."""

        async def check() -> bool:
            return (await self.engine.job(job)).job.status is status

        await self.wait_for(check, f"job {job} is {status}", seconds)

    async def wait_log(self, member: Member, text: str) -> None:
        await self.wait_until(lambda: text in member.log, f"{member.name} logs: {text}")

    async def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = TIMEOUT) -> None:
        """Wait until a condition that needs no query is true."""

        async def check() -> bool:
            return condition()

        await self.wait_for(check, what, seconds)

    async def wait_for(self, query: Callable[[], Awaitable[T | None]], what: str, seconds: float = TIMEOUT) -> T:
        """Poll a query until its answer is true, and return it; on timeout fail with the logs of all processes."""
        deadline = time.monotonic() + seconds
        while not (answer := await query()):
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {seconds} s\n{await self._diagnostics()}")
            await asyncio.sleep(POLL_INTERVAL)  # other processes give no signal
        return answer

    def close(self) -> None:
        for member in self._members:
            member.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, Signals.SIGKILL)

    def _start(self, name: str, host: str, arguments: list[str], settings: dict[str, Any]) -> Member:
        command = [sys.executable, "-m", "tests.chaos.reel_process", host, *arguments]
        member = Member(name, command, self._environment(settings), self._folder / f"{name}.log")
        self._members.append(member)
        return member

    def _environment(self, settings: dict[str, Any]) -> dict[str, str]:
        given = {**SETTINGS, "database_url": self.url, **settings}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
        ours = {f"REEL_{name.upper()}": str(value) for name, value in given.items()}
        # Compiled modules are kept for the next process, also where the tests themselves keep none.
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return {**kept, **ours, pipelines.FOLDER: str(self._folder), "PYTHONPYCACHEPREFIX": str(self._bytecode)}

    def _read(self) -> Iterator[Run]:
        with contextlib.suppress(FileNotFoundError):
            for line in (self._folder / "runs").read_text().splitlines():
                yield Run(**json.loads(line))

    async def _diagnostics(self) -> str:
        """Return logs and tasks that help to find out why something did not happen."""
        logs = [f"== {each.name} (alive: {each.alive})\n{each.log[-6000:]}" for each in self._members]
        with contextlib.suppress(Exception):
            jobs = (await self.engine.jobs(limit=10)).items
            logs += [
                f"== job {job.id} {job.pipeline}: {job.status}\n{await self._describe_tasks(job.id)}" for job in jobs
            ]
        return LINE_BREAK.join(logs)

    async def _describe_tasks(self, job: int) -> str:
        return LINE_BREAK.join(
            f"{task.stage_name}/{task.part}: {task.status}, token {task.token}, lost {task.lost}, {task.reason}"
            for task in (await self.tasks(job))[:60]
        )


@asynccontextmanager
async def open_fleet(url: str, folder: Path, bytecode: Path) -> AsyncIterator[Fleet]:
    """Open a fleet without members, with an engine of the test on its store."""
    async with open_engine(url, pipelines=pipelines.every, migrate=True) as engine:
        fleet = Fleet(url, folder, engine, bytecode)
        try:
            yield fleet
        finally:
            fleet.close()


def _can_write(path: Path | None) -> bool:
    """Return whether no process holds the write lock of a SQLite file now."""
    with contextlib.closing(sqlite3.connect(path or ":memory:", timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def _matches(run: Run, wanted: dict[str, Any]) -> bool:
    return all(getattr(run, name) == value for name, value in wanted.items())


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""

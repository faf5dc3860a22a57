"""Pipelines for fleets under test. Each run is recorded in a file, and waits at gates that the test opens.

The input of a task, or the spec of a job without fan-out, controls a run: `gate` names a gate to wait at, `first` one
for the first run only, `grandchild` starts a child process, `kill` kills the worker after that number of runs.
"""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import reelstate as rs

FOLDER = "CHAOS_FOLDER"
SHORT_LEASE, LONG_LEASE = 3.0, 60.0
POLL_INTERVAL = 0.02

Attempt = rs.Run | rs.BlockingRun


def folder() -> Path:
    return Path(os.environ[FOLDER])


def record(task: Attempt, what: str, **more: Any) -> None:
    """Append one line about a run in one write, so that lines of several processes do not mix."""
    run = {"job": task.job_id, "stage": task.stage, "part": task.part, "token": task.token}
    line = json.dumps({"what": what, **run, "pid": os.getpid(), "at": time.time(), **more}) + "\n"
    descriptor = os.open(folder() / "runs", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def options(task: Attempt) -> dict[str, Any]:
    return task.input if isinstance(task.input, dict) else task.spec


def may_pass(task: Attempt) -> bool:
    given = options(task)
    gates = [given.get("gate"), given.get("first") if task.token == 1 else None]
    return all((folder() / gate).exists() for gate in gates if gate)


def result(task: Attempt) -> dict[str, Any]:
    record(task, "ended")
    return {"part": task.part, "token": task.token}


async def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(POLL_INTERVAL)  # a file that the test makes gives no signal


async def in_loop(task: rs.Run) -> dict[str, Any]:
    record(task, "started")
    try:
        await wait_until(lambda: may_pass(task))
    except asyncio.CancelledError:
        record(task, "stopped")
        raise
    return result(task)


def in_thread(task: rs.BlockingRun) -> dict[str, Any]:
    record(task, "started")
    try:
        while not may_pass(task):
            time.sleep(POLL_INTERVAL)  # a file that the test makes gives no signal
    except rs.Stopped:
        record(task, "stopped")
        raise
    return result(task)


def in_process(task: rs.BlockingRun) -> dict[str, Any]:
    pids = [subprocess.Popen(["sleep", "1000"]).pid] if options(task).get("grandchild") else []
    record(task, "started", grandchildren=pids)
    while not may_pass(task):
        time.sleep(POLL_INTERVAL)  # a file that the test makes gives no signal
    return result(task)


async def gather(task: rs.Run) -> dict[str, Any]:
    record(task, "started")
    return {"work": [each["part"] async for each in task.results("work")]}


async def brief(task: rs.Run) -> int:
    record(task, "started")
    await asyncio.sleep(task.spec.get("seconds", 0.0))  # the work that the test asks for
    return int(task.input)


async def kill_worker(task: rs.Run) -> dict[str, Any]:
    crowd = options(task).get("kill")
    if not crowd:
        return await in_loop(task)
    record(task, "started")
    await task.progress(10, "about to break", checkpoint={"seen": True})
    await wait_until(lambda: len((folder() / "runs").read_text().splitlines()) >= crowd)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


async def fail(task: rs.Run) -> None:
    raise rs.Fail(f"job {task.job_id} is broken")


def fan(name: str, lease: float) -> rs.Pipeline:
    """Two fan-outs, one on the loop and one in processes, and a fan-in."""
    made = rs.Pipeline(name)
    made.stage(name="work", each="spec.work", lease=lease)(in_loop)
    made.stage(name="encode", each="spec.encode", lease=lease, process=True)(in_process)
    made.stage(name="gather", after=["work", "encode"], lease=lease)(gather)
    return made


def single(name: str, handler: Any, **options: Any) -> rs.Pipeline:
    made = rs.Pipeline(name)
    made.stage(name="run", **options)(handler)
    return made


short = fan("short", SHORT_LEASE)
long = fan("long", LONG_LEASE)
loop = single("loop", in_loop, lease=LONG_LEASE)
thread = single("thread", in_thread, lease=LONG_LEASE)
process = single("process", in_process, lease=LONG_LEASE, process=True)
many = single("many", brief, each="spec.count", lease=30.0)
crowd = single("crowd", kill_worker, each="spec.parts", lease=SHORT_LEASE)
prefer = single("prefer", in_loop, prefers={"gpu"})
codec = single("codec", in_loop, prefers={"gpu"}, needs={"encoder:av1"})
broken = single("broken", fail)

every = [short, long, loop, thread, process, many, crowd, prefer, codec, broken]

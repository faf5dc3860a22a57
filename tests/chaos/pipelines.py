"""Pipelines for fleets under test. Each run is written down, and waits at gates that the test opens.

What a run does is said by its input, or by the job's spec where there is no fan-out: `gate` is the name of a gate it
waits at, `first` one that only the first run of the task waits at, `grandchild` has a process start one of its own,
`kill` kills the worker once so many runs of the job's pipeline have started.
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
STEP = 0.02

Attempt = rs.Run | rs.BlockingRun


def folder() -> Path:
    return Path(os.environ[FOLDER])


def note(task: Attempt, what: str, **more: Any) -> None:
    """Write down what a run does: one line, added in one step, so that those of several processes don't mix."""
    place = {"job": task.job_id, "stage": task.stage, "part": task.part, "token": task.token}
    line = json.dumps({"what": what, **place, "pid": os.getpid(), "at": time.time(), **more}) + "\n"
    descriptor = os.open(folder() / "runs", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def orders(task: Attempt) -> dict[str, Any]:
    return task.input if isinstance(task.input, dict) else task.spec


def may_pass(task: Attempt) -> bool:
    told = orders(task)
    gates = [told.get("gate"), told.get("first") if task.token == 1 else None]
    return all((folder() / gate).exists() for gate in gates if gate)


def result(task: Attempt) -> dict[str, Any]:
    note(task, "ended")
    return {"part": task.part, "token": task.token}


async def until(look: Callable[[], bool]) -> None:
    while not look():  # noqa: ASYNC110 - what is looked at lies with another process
        await asyncio.sleep(STEP)


async def in_loop(task: rs.Run) -> dict[str, Any]:
    note(task, "started")
    try:
        await until(lambda: may_pass(task))
    except asyncio.CancelledError:
        note(task, "stopped")
        raise
    return result(task)


def in_thread(task: rs.BlockingRun) -> dict[str, Any]:
    note(task, "started")
    try:
        while not may_pass(task):
            time.sleep(STEP)
    except rs.Stopped:
        note(task, "stopped")
        raise
    return result(task)


def in_process(task: rs.BlockingRun) -> dict[str, Any]:
    pids = [subprocess.Popen(["sleep", "1000"]).pid] if orders(task).get("grandchild") else []
    note(task, "started", grandchildren=pids)
    while not may_pass(task):
        time.sleep(STEP)
    return result(task)


async def gather(task: rs.Run) -> dict[str, Any]:
    note(task, "started")
    return {"work": [each["part"] async for each in task.results("work")]}


async def brief(task: rs.Run) -> int:
    note(task, "started")
    await asyncio.sleep(task.spec.get("seconds", 0.0))
    return int(task.input)


async def dangerous(task: rs.Run) -> dict[str, Any]:
    crowd = orders(task).get("kill")
    if not crowd:
        return await in_loop(task)
    note(task, "started")
    await task.progress(10, "about to break", checkpoint={"seen": True})
    await until(lambda: len((folder() / "runs").read_text().splitlines()) >= crowd)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


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
crowd = single("crowd", dangerous, each="spec.parts", lease=SHORT_LEASE)
prefer = single("prefer", in_loop, prefers={"gpu"})
codec = single("codec", in_loop, prefers={"gpu"}, needs={"encoder:av1"})

every = [short, long, loop, thread, process, many, crowd, prefer, codec]

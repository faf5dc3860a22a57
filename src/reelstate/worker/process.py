"""A run in a process of its own. The two ends speak in lines of JSON over the child's stdin and stdout.

The child leads a session of its own, so that it and whatever it starts can be killed together, and it kills that
session itself when this end of its stdin is closed: a worker that dies leaves nothing running.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from types import ModuleType
from typing import Any

from reelstate.core.declaration import Handler
from reelstate.core.model import ClaimedTask, Completion, Failure, LogLine
from reelstate.core.outcome import Ended, described, failure, without_passwords
from reelstate.worker.run import Desk

LONGEST_LINE = 64 * 1024 * 1024
LAST_LINES = 50


async def run_in_process(task: ClaimedTask, call: Handler, desk: Desk, *, kill_after: float) -> Ended:
    """Run a handler in a new process and give its report; a process that dies without one has failed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reelstate.worker.child",
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        limit=LONGEST_LINE,
    )
    said = deque[str](maxlen=LAST_LINES)
    errors = asyncio.create_task(_pass_on(process, said))
    try:
        _send(process, {"call": _place(call), "path": sys.path, "task": dataclasses.asdict(task)})
        ended = await _converse(process, task, desk)
        await process.wait()
        await errors
        return ended or _died(task, process, said)
    except asyncio.CancelledError:
        _kill(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), kill_after)
        raise
    finally:
        errors.cancel()
        _kill(process, signal.SIGKILL)
        await process.wait()


async def _converse(process: Process, task: ClaimedTask, desk: Desk) -> Ended | None:
    """Pass on what the child says until it gives its report, or its end."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while line := await process.stdout.readline():
        match json.loads(line):
            case {"note": [percent, message, step]}:
                desk.note(percent, message, step)
            case {"log": line_said}:
                desk.log(LogLine(**line_said))
            case {"save": checkpoint, "number": number}:
                await _answer(process, number, desk.save(checkpoint))
            case {"results": [stage, after], "number": number}:
                await _answer(process, number, desk.results(stage, after))
            case {"completed": fields}:
                return Completion(key=task.key, token=task.token, **fields)
            case {"failed": fields}:
                return Failure(key=task.key, token=task.token, **fields)
    return None


async def _answer(process: Process, number: int, asked: Any) -> None:
    try:
        _send(process, {"number": number, "answer": await asyncio.wrap_future(asked)})
    except Exception as error:  # noqa: BLE001 - the child raises it where it asked
        _send(process, {"number": number, "error": described(error)})


def _send(process: Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.write(json.dumps(message).encode() + b"\n")


async def _pass_on(process: Process, said: deque[str]) -> None:
    """Show what the child writes to stderr, and keep the last of it as evidence."""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    while line := await process.stderr.readline():
        text = line.decode(errors="replace")
        said.append(text)
        sys.stderr.write(text)


def _died(task: ClaimedTask, process: Process, said: deque[str]) -> Failure:
    code = process.returncode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    error = {
        "type": "ProcessDied",
        "message": f"its process {how} without a report",
        "stderr": without_passwords("".join(said)),
    }
    return failure(task, error)


def _kill(process: Process, number: signal.Signals) -> None:
    """Signal the child and everything it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _place(call: Handler) -> dict[str, str]:
    """Where another process finds a function: a module, or the file that this process was started with."""
    module: str = call.__module__
    if module != "__main__":
        return {"module": module, "name": call.__qualname__}
    main: ModuleType = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return {"module": spec.name, "name": call.__qualname__}
    return {"file": str(getattr(main, "__file__", "")), "name": call.__qualname__}

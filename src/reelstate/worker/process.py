"""Run a handler in a child process. Worker and child exchange lines of JSON over the child's stdin and stdout.

The child leads a new session, so it can be killed together with every process that it starts. It kills that session
itself when its stdin is closed: a worker that dies leaves nothing running.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from codecs import getincrementaldecoder
from types import ModuleType
from typing import Any

from reelstate.core.model import ClaimedTask, Completion, Failure, LogLine, Step, TaskState
from reelstate.core.outcome import RunOutcome, describe_error, failure, mask_passwords
from reelstate.pipelines.declaration import Handler
from reelstate.telemetry.logs import current_fields, setup_document
from reelstate.telemetry.trace_context import current_context
from reelstate.worker.run import MAX_PIPE_MESSAGE, Reporter

LOADING_VARIABLE = "REEL_CHILD"
"""The environment variable that is set while a child imports the module of its handler."""
READ_SIZE = 64 * 1024
MAX_STDERR = 16 * 1024
"""Characters of stderr that are kept for the error of a child that dies."""
PIPE_TIMEOUT = 1.0
"""Seconds for which the pipes of an exited child are read, if another process holds them open."""


async def run_in_process(task: ClaimedTask, call: Handler, reporter: Reporter, *, kill_after: float) -> RunOutcome:
    """Run a handler in a new process and return its outcome; a process that exits without one has failed."""
    loop = asyncio.get_running_loop()
    command = [sys.executable, "-m", "reelstate.worker.child"]
    transport, protocol = await loop.subprocess_exec(
        lambda: ChildProtocol(loop), *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    process = Process(transport, protocol, loop)
    stderr = StderrTail()
    forwarding = asyncio.create_task(_forward_stderr(process, stderr))
    try:
        _send(
            process,
            {
                "handler": _locate(call),
                "path": sys.path,
                "logging": setup_document(),
                "log_fields": current_fields(),
                "trace": None if (context := current_context()) is None else context.text,
                "task": dataclasses.asdict(dataclasses.replace(task, permit=None)),
            },
        )
        outcome = await _relay_reports(process, task, reporter)
        await protocol.exited.wait()
        await forwarding
        return outcome or _exit_failure(task, process, stderr)
    except asyncio.CancelledError:
        _kill(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(protocol.exited.wait(), kill_after)
        raise
    finally:
        forwarding.cancel()
        _kill(process, signal.SIGKILL)
        await protocol.exited.wait()
        transport.close()


class ChildProtocol(SubprocessStreamProtocol):
    """Reads the child's pipes until it exits, even if a process that it left running holds them open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(MAX_PIPE_MESSAGE + 1, loop)
        self.exited = asyncio.Event()
        self._call_later = loop.call_later
        self._closed = False

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
        self._call_later(PIPE_TIMEOUT, self._close_streams)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        if not self._closed:
            super().pipe_data_received(fd, data)

    def _close_streams(self) -> None:
        self._closed = True
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.feed_eof()


class StderrTail:
    """The last `MAX_STDERR` characters that a child wrote to stderr."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self.text = ""

    def append(self, data: bytes) -> None:
        """Keep the text and write it to this process's stderr."""
        text = self._decode(data)
        self.text = (self.text + text)[-MAX_STDERR:]
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed or missing
            sys.stderr.write(text)


async def _relay_reports(process: Process, task: ClaimedTask, reporter: Reporter) -> RunOutcome | None:
    """Pass the child's reports on until it sends its outcome; None when it exits without one."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    while line := await process.stdout.readline():
        match json.loads(line):
            case {"note": [percent, message, step]}:
                reporter.note(percent, message, step)
            case {"log": log_fields}:
                reporter.log(LogLine(**log_fields))
            case {"step": step_fields}:
                reporter.step(Step(**step_fields))
            case {"state": state_fields}:
                reporter.state(TaskState(**state_fields))
            case {"save": checkpoint, "number": number}:
                await _answer(process, number, reporter.save(checkpoint))
            case {"results": [stage, after], "number": number}:
                await _answer(process, number, reporter.results(stage, after))
            case {"completed": fields}:
                return Completion(key=task.key, token=task.token, **fields)
            case {"failed": fields}:
                return Failure(key=task.key, token=task.token, **fields)
    return None


async def _answer(process: Process, number: int, answer: Any) -> None:
    try:
        _send(process, {"number": number, "answer": await asyncio.wrap_future(answer)})
    except Exception as error:  # noqa: BLE001 - the child raises it in its handler
        _send(process, {"number": number, "error": describe_error(error)})


def _send(process: Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    process.stdin.write(json.dumps(message).encode() + b"\n")


async def _forward_stderr(process: Process, stderr: StderrTail) -> None:
    """Forward what the child writes to stderr, in chunks: it may write without line breaks."""
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    while data := await process.stderr.read(READ_SIZE):
        stderr.append(data)


def _exit_failure(task: ClaimedTask, process: Process, stderr: StderrTail) -> Failure:
    error = {
        "type": "ProcessDied",
        "message": f"its process {describe_exit(process.returncode or 0)} without a report",
        "stderr": mask_passwords(stderr.text),
    }
    return failure(task, error)


def describe_exit(code: int) -> str:
    """Return an exit code as text: "exited with 3", "was killed by SIGKILL", "was killed by signal 40"."""
    if code >= 0:
        return f"exited with {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was killed by {names.get(-code, f'signal {-code}')}"


def _kill(process: Process, number: signal.Signals) -> None:
    """Send a signal to the child and every process that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _locate(call: Handler) -> dict[str, str]:
    """Return where a child finds a function: in a module, or in the script that this process was started with."""
    module: str = call.__module__
    if module != "__main__":
        return {"module": module, "name": call.__qualname__}
    main: ModuleType = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return {"module": spec.name, "name": call.__qualname__}
    return {"file": str(getattr(main, "__file__", "")), "name": call.__qualname__}

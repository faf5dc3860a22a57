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
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from codecs import getincrementaldecoder
from types import ModuleType
from typing import Any

from reelstate.core.model import ClaimedTask, Completion, Failure, LogLine, Step, TaskState
from reelstate.core.outcome import Ended, described, failure, without_passwords
from reelstate.pipelines.declaration import Handler
from reelstate.worker.run import LONGEST_LINE, Reporter

LOADING_VARIABLE = "REEL_CHILD"
"""Set while a process loads the module of the handler that it is to run."""
CHUNK = 64 * 1024
EVIDENCE = 16 * 1024
"""Characters of stderr that are kept; what is stored of them is cut again."""
LAST_MOMENT = 1.0
"""How long after the end of a child its pipes are read, if something else still holds them."""


async def run_in_process(task: ClaimedTask, call: Handler, desk: Reporter, *, kill_after: float) -> Ended:
    """Run a handler in a new process and give its report; a process that dies without one has failed."""
    loop = asyncio.get_running_loop()
    command = [sys.executable, "-m", "reelstate.worker.child"]
    transport, ears = await loop.subprocess_exec(
        lambda: PipeListener(loop), *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    process = Process(transport, ears, loop)
    said = FinalReport()
    errors = asyncio.create_task(_pass_on(process, said))
    try:
        _send(
            process,
            {
                "call": _place(call),
                "path": sys.path,
                "task": dataclasses.asdict(dataclasses.replace(task, permit=None)),
            },
        )
        ended = await _converse(process, task, desk)
        await ears.exited.wait()
        await errors
        return ended or _died(task, process, said)
    except asyncio.CancelledError:
        _kill(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ears.exited.wait(), kill_after)
        raise
    finally:
        errors.cancel()
        _kill(process, signal.SIGKILL)
        await ears.exited.wait()
        transport.close()


class PipeListener(SubprocessStreamProtocol):
    """Hears the child until its end, and not for as long as something that it left running holds its pipes open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(LONGEST_LINE + 1, loop)
        self.exited = asyncio.Event()
        self._call_later = loop.call_later
        self._over = False

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
        self._call_later(LAST_MOMENT, self._hang_up)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        if not self._over:
            super().pipe_data_received(fd, data)

    def _hang_up(self) -> None:
        self._over = True
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.feed_eof()


class FinalReport:
    """The end of what a child wrote to stderr, kept as evidence."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self.text = ""

    def hear(self, words: bytes) -> None:
        text = self._decode(words)
        self.text = (self.text + text)[-EVIDENCE:]
        with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody may be there to read it
            sys.stderr.write(text)


async def _converse(process: Process, task: ClaimedTask, desk: Reporter) -> Ended | None:
    """Pass on what the child says until it gives its report, or its end."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while line := await process.stdout.readline():
        match json.loads(line):
            case {"note": [percent, message, step]}:
                desk.note(percent, message, step)
            case {"log": line_said}:
                desk.log(LogLine(**line_said))
            case {"step": step_taken}:
                desk.step(Step(**step_taken))
            case {"state": said}:
                desk.state(TaskState(**said))
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


async def _pass_on(process: Process, said: FinalReport) -> None:
    """Show what the child writes to stderr. It may write without an end of line, so lines are not waited for."""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    while words := await process.stderr.read(CHUNK):
        said.hear(words)


def _died(task: ClaimedTask, process: Process, said: FinalReport) -> Failure:
    error = {
        "type": "ProcessDied",
        "message": f"its process {describe_exit(process.returncode or 0)} without a report",
        "stderr": without_passwords(said.text),
    }
    return failure(task, error)


def describe_exit(code: int) -> str:
    """An exit code in words; not every signal has a name."""
    if code >= 0:
        return f"exited with {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was killed by {names.get(-code, f'signal {-code}')}"


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

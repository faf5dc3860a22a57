"""Run one attempt of a task: call its handler on the loop, in a thread or in a process, and return the outcome.

A run is stopped by cancelling the asyncio task around it. That cancels an async handler, raises `Stopped` inside a
thread, and kills a process with all its children.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import threading
from contextvars import copy_context
from typing import Any

from reelstate.core.outcome import RunOutcome, Stopped, completion, outcome_of
from reelstate.pipelines.declaration import Handler, StageHandler, Style
from reelstate.worker.leases import HeldTask
from reelstate.worker.permit import current_permit
from reelstate.worker.process import run_in_process
from reelstate.worker.reporter import LocalReporter
from reelstate.worker.run import BlockingRun, Run

LIVENESS_INTERVAL = 1.0
"""Seconds between two checks whether a stopped thread is alive."""

_Returned = tuple[Any, BaseException | None]
"""What a thread returned, or raised."""


async def attempt(
    held: HeldTask, handler: StageHandler, reporter: LocalReporter, *, kill_after: float
) -> RunOutcome | None:
    """Run a task once and return its outcome; None when it was stopped, because then nothing is reported."""
    task = held.task
    current_permit.set(task.permit)
    try:
        match handler.style:
            case Style.ASYNC:
                return completion(task, await handler.call(Run(task, reporter)))
            case Style.THREAD:
                return completion(task, await _run_in_thread(handler.call, BlockingRun(task, reporter)))
            case Style.PROCESS:
                return await run_in_process(task, handler.call, reporter, kill_after=kill_after)
    except BaseException as raised:  # noqa: BLE001 - whatever a handler raises, SystemExit too, is its failure
        return None if held.stop or isinstance(raised, Stopped) else outcome_of(task, raised)


async def _run_in_thread(call: Handler, run: BlockingRun) -> Any:
    """Call a blocking handler in a new thread. When cancelled, raise `Stopped` in the thread and wait for its end."""
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[_Returned] = loop.create_future()

    def deliver(returned: _Returned) -> None:
        if not finished.done():
            finished.set_result(returned)

    def body() -> None:
        returned: _Returned
        try:
            returned = call(run), None
        except BaseException as raised:  # noqa: BLE001 - it is raised again where the thread is awaited
            returned = None, raised
        with contextlib.suppress(RuntimeError):  # the loop was closed before the thread ended
            loop.call_soon_threadsafe(deliver, returned)

    thread = threading.Thread(target=copy_context().run, args=[body], name=f"reelstate {run.key}", daemon=True)
    thread.start()
    try:
        result, raised = await asyncio.shield(finished)
    except asyncio.CancelledError:
        _raise_stopped(thread)
        while thread.is_alive() and not finished.done():
            await asyncio.wait([finished], timeout=LIVENESS_INTERVAL)
        raise
    if raised is not None:
        raise raised
    return result


def _raise_stopped(thread: threading.Thread) -> None:
    """Raise `Stopped` inside a thread at its next Python instruction; a call into C is not interrupted."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))

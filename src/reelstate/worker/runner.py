"""One attempt: call the handler where it belongs, and turn whatever happens into the report on it.

A run is stopped by cancelling the asyncio task around it. The loop's own handlers are cancelled with it, a thread has
`Stopped` raised inside it, a process is killed with all its children.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import threading
from typing import Any

from reelstate.core.outcome import Ended, Stopped, done, judged
from reelstate.pipelines.declaration import Handler, StageHandler, Style
from reelstate.worker.leases import HeldTask
from reelstate.worker.permit import carry
from reelstate.worker.process import run_in_process
from reelstate.worker.reporter import LocalReporter
from reelstate.worker.run import BlockingRun, Run

LIVENESS_CHECK = 1.0
"""Seconds between two looks at a thread that was told to stop."""

_Ending = tuple[Any, BaseException | None]
"""What a thread came to: a result, or what it raised."""


async def attempt(held: HeldTask, handler: StageHandler, desk: LocalReporter, *, kill_after: float) -> Ended | None:
    """Run a task once; None when it was stopped, because then there is nothing to say of it."""
    task = held.task
    carry(task.permit)
    try:
        match handler.style:
            case Style.ASYNC:
                return done(task, await handler.call(Run(task, desk)))
            case Style.THREAD:
                return done(task, await _in_thread(handler.call, BlockingRun(task, desk)))
            case Style.PROCESS:
                return await run_in_process(task, handler.call, desk, kill_after=kill_after)
    except BaseException as raised:  # noqa: BLE001 - whatever a handler raises, SystemExit too, is its failure
        return None if held.stop or isinstance(raised, Stopped) else judged(task, raised)


async def _in_thread(call: Handler, run: BlockingRun) -> Any:
    """Call a blocking handler in a thread of its own. When cancelled: raise `Stopped` there and wait for its end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_Ending] = loop.create_future()

    def body() -> None:
        ending: _Ending
        try:
            ending = call(run), None
        except BaseException as raised:  # noqa: BLE001 - it is raised again where the thread is awaited
            ending = None, raised
        _tell(loop, ended, ending)

    thread = threading.Thread(target=body, name=f"reelstate {run.key}", daemon=True)
    thread.start()
    try:
        result, raised = await asyncio.shield(ended)
    except asyncio.CancelledError:
        _interrupt(thread)
        while thread.is_alive() and not ended.done():
            await asyncio.wait([ended], timeout=LIVENESS_CHECK)
        raise
    if raised is not None:
        raise raised
    return result


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[_Ending], ending: _Ending) -> None:
    def deliver() -> None:
        if not ended.done():
            ended.set_result(ending)

    with contextlib.suppress(RuntimeError):  # the loop has ended before the thread
        loop.call_soon_threadsafe(deliver)


def _interrupt(thread: threading.Thread) -> None:
    """Raise `Stopped` inside a thread at its next step of Python; a call into C is not cut short."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))

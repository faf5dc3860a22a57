"""How tests wait: for a condition, for ever, or for one turn of the event loop. No test waits for a time.

A condition that has a signal (an event, a wake-up, the exit of a process) is awaited directly. `until` is for rows of a
store, files, and what another thread or process does. Its time limit is for hangs alone and decides no test.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

TIMEOUT = 300.0
INTERVAL = 0.01


async def until(condition: Callable[[], Any], what: str = "", *, seconds: float = TIMEOUT) -> Any:
    """Ask again and again until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        answer = await found if inspect.isawaitable(found) else found
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what or 'the condition'}: not within {seconds:g} s")
        await asyncio.sleep(INTERVAL)


def until_true(condition: Callable[[], Any], what: str = "", *, seconds: float = TIMEOUT) -> Any:
    """Do the same as `until` without an event loop."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what or 'the condition'}: not within {seconds:g} s")
        time.sleep(INTERVAL)
    return answer


async def forever() -> NoReturn:
    """Wait until this task is cancelled."""
    await asyncio.Event().wait()
    raise AssertionError("nothing sets the event")


def block_forever() -> NoReturn:
    """Hold this thread until its process ends."""
    threading.Event().wait()
    raise AssertionError("nothing sets the event")


def run_until_stopped() -> NoReturn:
    """Run code until an exception is raised in this thread, which happens only between two instructions."""
    while True:
        time.sleep(INTERVAL)


async def let_others_run(turns: int = 1) -> None:
    """Let the other tasks of the event loop run up to their next wait, this many times."""
    for _ in range(turns):
        await asyncio.sleep(0)

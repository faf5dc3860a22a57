import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from reelstate.dispatch.dispatch import Listener, Wakeup

ROOT = Path(__file__).parents[2]
StartNotifier = Callable[[str], Awaitable["NotifierProcess"]]


class NotifierProcess:
    """Another process on the same database, which sends wake-ups."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def notify(self, *wakeups: Wakeup) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{' '.join(wakeups)}\n".encode())

    async def end(self) -> None:
        """Let it close its dispatch and exit."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self._process.wait() == 0


@asynccontextmanager
async def run_notifier(url: str) -> AsyncIterator[NotifierProcess]:
    command = [sys.executable, "-W", "error", "-m", "tests.dispatch.notifier", url]
    process = await create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE)
    other = NotifierProcess(process)
    try:
        yield other
    finally:
        await other.end()


@pytest.fixture
async def start_notifier() -> AsyncIterator[StartNotifier]:
    """Start processes that send wake-ups."""
    async with AsyncExitStack() as stack:
        yield lambda url: stack.enter_async_context(run_notifier(url))


async def wait_for(listener: Listener, wakeup: Wakeup, seconds: float = 300.0) -> frozenset[Wakeup]:
    """Wait until a wake-up is received, and return all that were received with it."""
    received = await listener.wait(seconds)
    assert wakeup in received
    return received

import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from reelstate.dispatch.dispatch import Listener, Wakeup

ROOT = Path(__file__).parents[2]
Ringer = Callable[[str], Awaitable["RingingProcess"]]


class RingingProcess:
    """Another process on the same database."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def notify(self, *bells: Wakeup) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{' '.join(bells)}\n".encode())

    async def end(self) -> None:
        """Let it close its dispatch and leave by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self._process.wait() == 0


@asynccontextmanager
async def ringing(url: str) -> AsyncIterator[RingingProcess]:
    command = [sys.executable, "-W", "error", "-m", "tests.dispatch.ringer", url]
    process = await create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE)
    other = RingingProcess(process)
    try:
        yield other
    finally:
        await other.end()


@pytest.fixture
async def ringer() -> AsyncIterator[Ringer]:
    """Starts processes that ring when they are told to."""
    async with AsyncExitStack() as stack:
        yield lambda url: stack.enter_async_context(ringing(url))


async def heard(listener: Listener, bell: Wakeup, seconds: float = 300.0) -> frozenset[Wakeup]:
    """What came together with a bell that must come."""
    rung = await listener.wait(seconds)
    assert bell in rung
    return rung

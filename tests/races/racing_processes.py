"""Processes that begin at the same moment. They are started once per session and run one race after another."""

import asyncio
import multiprocessing
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SIZE = 8
TIMEOUT = 300.0

_barriers: dict[int, Barrier] = {}


class Part(Protocol[T_co]):
    """What one process does: an async function of a module. It calls `start` when it is ready to race."""

    def __call__(self, *arguments: Any) -> Coroutine[Any, Any, T_co]: ...


def start(parties: int) -> None:
    """Wait until every process is ready. Blocks the whole process, so that nothing of it runs ahead."""
    _barriers[parties].wait(TIMEOUT)


class RacingProcesses:
    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def race(self, parts: Sequence[tuple[Part[T], tuple[Any, ...]]]) -> list[T]:
        """Run each part in its own process; return their results in order."""
        futures = [self._pool.submit(_run, part, arguments) for part, arguments in parts]
        return [future.result(timeout=TIMEOUT) for future in futures]

    def all(self, part: Part[T], *arguments: Any, size: int = SIZE) -> list[T]:
        """Run the same part in every process; its last two arguments are its number and how many there are."""
        return self.race([(part, (*arguments, number, size)) for number in range(size)])


@contextmanager
def processes() -> Iterator[RacingProcesses]:
    context = multiprocessing.get_context("spawn")
    barriers = {parties: context.Barrier(parties) for parties in range(1, SIZE + 1)}
    with ProcessPoolExecutor(SIZE, context, initializer=_initialise, initargs=(barriers,)) as pool:
        yield RacingProcesses(pool)


def _initialise(barriers: dict[int, Barrier]) -> None:
    _barriers.update(barriers)


def _run(part: Part[T], arguments: tuple[Any, ...]) -> T:
    return asyncio.run(part(*arguments))

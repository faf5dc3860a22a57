"""The scenarios that are run on a contestant, and the names of their measures."""

import statistics
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from bench.engine.storage import Storage
from bench.engine.system import DispatchSystem, HistorySystem, PartitionedSystem, System, WorkerSystem

SIMPLE_SUBMIT: Final = "simple jobs: submit"
SIMPLE_DRAIN: Final = "simple jobs: claim + complete"
SIMPLE_WAL: Final = "simple jobs: bytes of WAL per job"
SIMPLE_SIZE: Final = "simple jobs: bytes of the database per job"
PARTITIONED_SUBMIT: Final = "one partitioned job: submit"
PARTITIONED_DRAIN: Final = "one partitioned job: claim + complete"
PARTITIONED_WAL: Final = "one partitioned job: bytes of WAL per task"
PARTITIONED_SIZE: Final = "one partitioned job: bytes of the database per task"
HISTORY_DRAIN: Final = "one partitioned job: claim + complete, long history"
CLAIMER_DRAIN: Final = "one partitioned job: claim + complete, 1 claimer, batch by batch"
CLAIMERS_DRAIN: Final = "one partitioned job: claim + complete, 8 claimers, batch by batch"
WORKER_DRAIN: Final = "one partitioned job: run by a worker of concurrency 50"
DISPATCH: Final = "dispatch: milliseconds from enqueue to handler start, p50"
MEMORY_GROWTH: Final = "memory: last quarter of a long drain to the second"

CLAIMERS: Final = 8
WARM_UP: Final = 1_000
DISPATCHED: Final = 500
SAMPLE_SECONDS: Final = 0.05


@dataclass(frozen=True)
class Order:
    """One scenario for one contestant, as handed to its process."""

    module: str
    scenario: str
    url: str
    count: int
    history: int


Measured = dict[str, float]
Scenario = Callable[[System, Order], Awaitable[Measured]]


async def simple(system: System, order: Order) -> Measured:
    warm_up = min(WARM_UP, order.count)
    await system.submit_simple(warm_up)
    await system.drain_simple(warm_up)
    async with Storage(order.url) as storage:
        submitted = await system.submit_simple(order.count)
        drained = await system.drain_simple(order.count)
    written = storage.per(order.count, SIMPLE_WAL, SIMPLE_SIZE)
    return {SIMPLE_SUBMIT: submitted, SIMPLE_DRAIN: drained, **written}


async def partitioned(system: System, order: Order) -> Measured:
    assert isinstance(system, PartitionedSystem)
    warm_up = min(WARM_UP, order.count)
    await system.submit_partitioned(warm_up)
    await system.drain_partitioned(warm_up)
    async with Storage(order.url) as storage:
        submitted = await system.submit_partitioned(order.count)
        drained = await system.drain_partitioned(order.count)
    written = storage.per(order.count, PARTITIONED_WAL, PARTITIONED_SIZE)
    return {PARTITIONED_SUBMIT: submitted, PARTITIONED_DRAIN: drained, **written}


async def claimers(system: System, order: Order) -> Measured:
    assert isinstance(system, HistorySystem)
    await _partitioned(system, replace(order, count=min(WARM_UP, order.count)))
    rates = {}
    for measure, number in ((CLAIMER_DRAIN, 1), (CLAIMERS_DRAIN, CLAIMERS)):
        await system.submit_partitioned(order.count)
        rates[measure] = await system.drain_by_claimers(order.count, number)
    return rates


async def history(system: System, order: Order) -> Measured:
    assert isinstance(system, HistorySystem)
    await system.fill_history(order.history)
    _, drained = await _partitioned(system, order)
    return {HISTORY_DRAIN: drained}


async def worker(system: System, order: Order) -> Measured:
    assert isinstance(system, WorkerSystem)
    warm_up = min(WARM_UP, order.count)
    await system.submit_partitioned(warm_up)
    await system.drain_by_worker(warm_up)
    await system.submit_partitioned(order.count)
    return {WORKER_DRAIN: await system.drain_by_worker(order.count)}


async def dispatch(system: System, order: Order) -> Measured:
    assert isinstance(system, DispatchSystem)
    seconds = await system.dispatch(min(DISPATCHED, order.count))
    return {DISPATCH: 1000 * statistics.median(seconds)}


async def memory(system: System, order: Order) -> Measured:
    assert isinstance(system, PartitionedSystem)
    await system.submit_partitioned(order.count)
    with ResidentMemory() as resident:
        await system.drain_partitioned(order.count)
    return {MEMORY_GROWTH: resident.growth()}


async def _partitioned(system: System, order: Order) -> tuple[float, float]:
    assert isinstance(system, PartitionedSystem)
    warm_up = min(WARM_UP, order.count)
    await system.submit_partitioned(warm_up)
    await system.drain_partitioned(warm_up)
    submitted = await system.submit_partitioned(order.count)
    return submitted, await system.drain_partitioned(order.count)


SCENARIOS: Final[dict[str, Scenario]] = {
    "simple": simple,
    "partitioned": partitioned,
    "history": history,
    "claimers": claimers,
    "worker": worker,
    "dispatch": dispatch,
    "memory": memory,
}


class ResidentMemory:
    """Samples the resident memory of this process while it is entered."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def growth(self) -> float:
        """Return the median of the last quarter of the samples divided by that of the second."""
        quarter = len(self.pages) // 4
        if quarter == 0:
            raise RuntimeError("the drain was too short to sample its memory")
        second, last = self.pages[quarter : 2 * quarter], self.pages[-quarter:]
        return statistics.median(last) / statistics.median(second)

    def _sample(self) -> None:
        statistics_of_memory = Path("/proc/self/statm")
        while not self._stop.wait(SAMPLE_SECONDS):
            self.pages.append(int(statistics_of_memory.read_text().split()[1]))

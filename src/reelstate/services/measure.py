"""measure: read the gauges of the cluster. Each count stops at a limit, and each statement walks an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from reelstate.core.machine import ACTIVE_JOBS, STOPPED_JOBS
from reelstate.stores.store import Statement, Store, Transaction

MAX_COUNT: Final = 10_000
"""A larger number is shown as this."""
MAX_LANE_COUNT: Final = 2_000
"""The same for the ready tasks of one lane: every lane is counted."""
MAX_LANES: Final = 200
MAX_HEADS: Final = 100
"""Tasks at the head of each priority of a lane among which the oldest is looked for."""
MEASURED_JOBS: Final = (*ACTIVE_JOBS, *STOPPED_JOBS)


class _JobsRow(NamedTuple):
    status: str
    jobs: int


class ReadyLane(NamedTuple):
    """The ready tasks of a lane."""

    pipeline: str
    needs: list[str]
    tasks: int
    isolated: int
    waited: float | None
    """Seconds that the oldest of them has been ready; None where there is none."""


class RunningLane(NamedTuple):
    """The leased tasks of a lane."""

    pipeline: str
    needs: list[str]
    tasks: int


class _DelayedRow(NamedTuple):
    tasks: int


class WorkerCount(NamedTuple):
    """Worker instances of a status, and the tasks that they can run at once."""

    status: str
    workers: int
    slots: int


class _KeeperRow(NamedTuple):
    seconds: float | None


class _OutboxRow(NamedTuple):
    deliveries: int


MEASURE_JOBS = Statement("measure_jobs", _JobsRow)
MEASURE_READY = Statement("measure_ready", ReadyLane)
MEASURE_RUNNING = Statement("measure_running", RunningLane)
MEASURE_DELAYED = Statement("measure_delayed", _DelayedRow)
MEASURE_WORKERS = Statement("measure_workers", WorkerCount)
MEASURE_KEEPER = Statement("measure_keeper", _KeeperRow)
MEASURE_OUTBOX = Statement("measure_outbox", _OutboxRow)


@dataclass(frozen=True, slots=True)
class Measured:
    """The gauges of the cluster at one moment."""

    jobs: dict[str, int]
    """By status, except completed and cancelled ones."""
    ready: list[ReadyLane]
    running: list[RunningLane]
    delayed: int
    workers: list[WorkerCount]
    swept: float | None
    """Seconds since a keeper finished a sweep; None if none ever did."""
    outbox: int
    """Deliveries of webhooks and alerts that wait to be sent."""


async def measure(store: Store) -> Measured:
    """Read the gauges of the cluster; the cost depends neither on finished tasks nor on the length of a queue."""

    async def flow(transaction: Transaction) -> Measured:
        statuses = [str(status) for status in MEASURED_JOBS]
        jobs = await transaction.run(MEASURE_JOBS, statuses=statuses, limit=MAX_COUNT)
        ready = await transaction.run(MEASURE_READY, limit=MAX_LANE_COUNT, lanes=MAX_LANES, heads=MAX_HEADS)
        running = await transaction.run(MEASURE_RUNNING, limit=MAX_COUNT)
        (delayed,) = await transaction.run(MEASURE_DELAYED, limit=MAX_COUNT)
        workers = await transaction.run(MEASURE_WORKERS, limit=MAX_COUNT)
        keeper = await transaction.run(MEASURE_KEEPER)
        (outbox,) = await transaction.run(MEASURE_OUTBOX, limit=MAX_COUNT)
        return Measured(
            jobs={row.status: row.jobs for row in jobs},
            ready=ready,
            running=running,
            delayed=delayed.tasks,
            workers=workers,
            swept=keeper[0].seconds if keeper else None,
            outbox=outbox.deliveries,
        )

    return await store.survey(flow)

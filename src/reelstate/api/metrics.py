"""The route that Prometheus scrapes: the metrics of this process, and the gauges of the cluster."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials

from reelstate.api.auth import Require, address_of, bearer, cookie
from reelstate.api.context import InContext
from reelstate.connections.timeouts import LogThrottle, timeout_of
from reelstate.core.errors import ReelstateError
from reelstate.core.machine import PHASES, JobStatus, WorkerStatus
from reelstate.engine import Engine
from reelstate.services.keys import Scope
from reelstate.services.measure import Measured
from reelstate.telemetry.metrics import CONTENT_TYPE, Metrics, Sample

logger = logging.getLogger("reelstate.metrics")
router = APIRouter(tags=["health"])
CACHE_SECONDS: Final = 5.0
FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip")
"""Headers that a proxy adds: such a request comes from elsewhere."""


class ClusterGauges:
    """The gauges of the cluster, read when a scrape asks for them and kept for `CACHE_SECONDS`."""

    def __init__(self, engine: Engine, *, seconds: float = CACHE_SECONDS) -> None:
        self._engine = engine
        self._seconds = seconds
        self._read_at = self._failed_at = -float("inf")
        self._measured: Measured | None = None
        self._took = 0.0
        self._lock = asyncio.Lock()
        self._should_log = LogThrottle()

    async def measured(self) -> Measured:
        """Return the gauges, at most `seconds` old. Raises what the store raises."""
        async with self._lock:
            if self._measured is None or time.monotonic() >= self._read_at + self._seconds:
                self._measured = None
                began = time.perf_counter()
                self._measured = await self._engine.measure()
                self._took = time.perf_counter() - began
                self._read_at = time.monotonic()
            return self._measured

    async def read(self, timeout: float) -> list[Sample]:  # noqa: ASYNC109 - the store raises
        """Return the samples; while the database is unreachable only `database_up`, which is 0 then."""
        if time.monotonic() < self._failed_at + self._seconds:
            return [Sample("database_up", 0)]
        try:
            with timeout_of(timeout):
                samples = list(_samples(await self.measured()))
        except ReelstateError as error:
            self._failed_at = time.monotonic()
            if self._should_log(str(error)):
                logger.warning("gauges of the cluster not read error=%s", error)
            return [Sample("database_up", 0)]
        return [*samples, Sample("database_up", 1), Sample("database_read_seconds", self._took)]


def _samples(measured: Measured) -> Iterator[Sample]:
    for status, jobs in measured.jobs.items():
        yield Sample("jobs", jobs, (status,))
    yield Sample("queue_size", measured.jobs.get(JobStatus.PENDING, 0))
    yield Sample("jobs_in_progress", sum(measured.jobs.get(phase, 0) for phase in PHASES))
    for ready in measured.ready:
        labels = ready.pipeline, _lane(ready.needs)
        yield Sample("tasks_ready", ready.tasks + ready.isolated, labels)
        yield Sample("oldest_ready_seconds", max(0.0, ready.waited or 0.0), labels)
        yield Sample("tasks_running", 0, labels)
    for running in measured.running:
        yield Sample("tasks_running", running.tasks, (running.pipeline, _lane(running.needs)))
    yield Sample("tasks_delayed", measured.delayed)
    counts = {row.status: row for row in measured.workers}
    for status in WorkerStatus:
        yield Sample("workers", counts[status].workers if status in counts else 0, (status,))
    active = counts.get(WorkerStatus.ACTIVE)
    yield Sample("workers_active", active.workers if active else 0)
    yield Sample("worker_slots", active.slots if active else 0)
    yield Sample("outbox_backlog", measured.outbox)
    if measured.swept is not None:
        yield Sample("keeper_last_sweep_seconds", max(0.0, measured.swept))


def _lane(needs: Iterable[str]) -> str:
    """Return the needs of a lane as a label."""
    return "+".join(sorted(needs)) or "any"


async def may_scrape(
    request: Request,
    context: InContext,
    sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    session: Annotated[str | None, Depends(cookie)],
) -> None:
    """Refuse a request that needs a key and has none with the scope `metrics`."""
    access = context.settings.metrics_access
    if access != "open" and not (access == "default" and _is_local(request)):
        await Require(Scope.METRICS)(request, context, sent, session)


def _is_local(request: Request) -> bool:
    """Whether a request comes from this machine and no proxy has forwarded it."""
    try:
        loopback = ipaddress.ip_address(address_of(request)).is_loopback
    except ValueError:
        return False
    return loopback and not any(name in request.headers for name in FORWARDED)


@router.get("/metrics", response_class=Response, dependencies=[Depends(may_scrape)])
async def metrics(context: InContext, request: Request) -> Response:
    """Return the metrics of this server and the gauges of the cluster in the text format of Prometheus.

    By default requests from this machine need no key, and all others a key with the scope `metrics`: see
    `REEL_METRICS_ACCESS`.
    """
    counted: Metrics = request.app.state.metrics
    gauges: ClusterGauges = request.app.state.gauges
    samples = await gauges.read(context.settings.read_timeout)
    return Response(counted.render(samples), media_type=CONTENT_TYPE)

"""The reporter of a run in this process: reports go to the held task, reads to the link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from reelstate.core import state as states
from reelstate.core.document import DocumentLimits, encode, encode_optional
from reelstate.core.model import Json, LogLine, Step, TaskState
from reelstate.core.outcome import Stopped
from reelstate.core.step import normalise_step
from reelstate.worker.leases import HeldTask, fail_futures
from reelstate.worker.link import Link
from reelstate.worker.permit import current_permit
from reelstate.worker.run import Results

RESULTS_PER_PAGE = 100


class LocalReporter:
    """Checks each report against the limits before it is kept for the next heartbeat; `flush` sends one now."""

    def __init__(self, held: HeldTask, link: Link, limits: DocumentLimits, flush: Callable[[], None]) -> None:
        self._held = held
        self._link = link
        self._limits = limits
        self._flush = flush
        self._loop = asyncio.get_running_loop()

    def note(self, percent: float | None, message: str | None, step: str | None) -> None:
        self._held.note(percent, message, step)

    def log(self, line: LogLine) -> None:
        encode_optional("metadata", line.metadata, self._limits.metadata)
        self._held.log(line)

    def step(self, step: Step) -> None:
        self._held.step(normalise_step(step, self._limits))

    def state(self, state: TaskState) -> None:
        self._held.state(states.normalise_state(state, self._limits))

    def save(self, checkpoint: Json) -> Future[None]:
        encode("checkpoint", checkpoint, self._limits.checkpoint)
        stored = self._held.save(checkpoint)
        if self._held.stop:
            fail_futures([stored], Stopped(self._held.stop))
        self._flush()
        return stored

    def results(self, stage: str, after: str | None) -> Future[Results]:
        return asyncio.run_coroutine_threadsafe(self._read_page(stage, after), self._loop)

    async def _read_page(self, stage: str, after: str | None) -> Results:
        current_permit.set(self._held.task.permit)
        job_id = self._held.task.key.job_id
        page = await self._link.results(job_id, stage, limit=RESULTS_PER_PAGE, after=after)
        return Results(page.items, page.after)

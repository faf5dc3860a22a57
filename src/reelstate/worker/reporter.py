"""The desk of a run in this process: words go to the task that is held, questions to the link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from reelstate.core import state as states
from reelstate.core.document import DocumentLimits, encode, encode_optional
from reelstate.core.model import Json, LogLine, Step, TaskState
from reelstate.core.outcome import Stopped
from reelstate.core.step import kept
from reelstate.worker.leases import HeldTask, refuse
from reelstate.worker.link import Link
from reelstate.worker.permit import carry
from reelstate.worker.run import Results

PAGE = 100


class LocalReporter:
    def __init__(self, held: HeldTask, link: Link, limits: DocumentLimits, hurry: Callable[[], None]) -> None:
        self._held = held
        self._link = link
        self._limits = limits
        self._hurry = hurry
        self._loop = asyncio.get_running_loop()

    def note(self, percent: float | None, message: str | None, step: str | None) -> None:
        self._held.note(percent, message, step)

    def log(self, line: LogLine) -> None:
        encode_optional("metadata", line.metadata, self._limits.metadata)
        self._held.log(line)

    def step(self, step: Step) -> None:
        self._held.step(kept(step, self._limits))

    def state(self, state: TaskState) -> None:
        self._held.state(states.kept(state, self._limits))

    def save(self, checkpoint: Json) -> Future[None]:
        encode("checkpoint", checkpoint, self._limits.checkpoint)
        stored = self._held.save(checkpoint)
        if self._held.stop:
            refuse([stored], Stopped(self._held.stop))
        self._hurry()
        return stored

    def results(self, stage: str, after: str | None) -> Future[Results]:
        return asyncio.run_coroutine_threadsafe(self._page(stage, after), self._loop)

    async def _page(self, stage: str, after: str | None) -> Results:
        carry(self._held.task.permit)
        page = await self._link.results(self._held.task.key.job_id, stage, limit=PAGE, after=after)
        return Results(page.items, page.after)

"""The verbs that a worker calls. The engine implements them directly, `remote/link.py` over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, Unpack

from reelstate.core.machine import WorkerStatus
from reelstate.core.model import (
    Claim,
    Completion,
    Failure,
    Json,
    Page,
    Progress,
    Release,
    Report,
    Verdict,
)
from reelstate.services.claim import ClaimOptions
from reelstate.services.workers import RegisterOptions


class Link(Protocol):
    """What a worker needs of an engine."""

    async def register(self, name: str, **options: Unpack[RegisterOptions]) -> int: ...

    async def claim(self, worker_id: int, limit: int = 1, **options: Unpack[ClaimOptions]) -> Claim: ...

    async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report: ...

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]: ...

    async def fail(self, items: Sequence[Failure]) -> list[Verdict]: ...

    async def release(self, items: Sequence[Release]) -> list[Verdict]: ...

    async def results(self, job_id: int, stage: str, *, limit: int = 100, after: str | None = None) -> Page[Json]: ...

    async def move_worker(
        self, worker_id: int, target: WorkerStatus, *, actor: str, reason: str | None = None
    ) -> bool: ...


Connect = Callable[[], AbstractAsyncContextManager[Link]]
"""Opens a separate link, for a thread with its own event loop."""

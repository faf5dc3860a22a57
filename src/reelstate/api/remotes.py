"""What a server knows of its remote workers between two of their requests. All of it can be found out anew."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final
from weakref import WeakValueDictionary

from fastapi import Depends, Header
from starlette.requests import HTTPConnection

from reelstate.api.auth import Remote
from reelstate.artifacts.storage import Storage
from reelstate.config import Settings
from reelstate.core.errors import LeaseLost, StorageError, WorkerUnknown
from reelstate.core.model import Completion, Failure, Json, Verdict
from reelstate.dispatch.dispatch import WORKER_WAKEUPS, Listener
from reelstate.engine import Engine
from reelstate.media.inspection import Inspector
from reelstate.media.tools import MediaTools
from reelstate.services.permits import Grant, Permits, Standing

logger = logging.getLogger("reelstate.remote")

INSPECTION: Final = "inspection"
"""The name of every task that looks at what a worker has done."""
FORGET_AFTER: Final = 600.0
LARGE_BODIES: Final = 2
"""Large bodies that are handled for one key at a time."""
MAX_SOURCES: Final = 1000
BELIEVED: Final = 1.0
"""Seconds for which a lease that was seen to hold is not looked up again for a file that is read."""


@dataclass(slots=True)
class Known:
    """One instance of a remote worker."""

    name: str
    claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One claim at a time: the question after a lost answer must not overtake the one whose answer was lost."""
    ears: Listener | None = None
    seen_at: float = 0.0


class Remotes:
    def __init__(self, engine: Engine, settings: Settings) -> None:
        tools = MediaTools.from_settings(settings)
        self.engine = engine
        self.settings = settings
        self.storage: Storage = tools.storage
        self.rules = tools.rules
        self.scratch = tools.scratch
        self.permits = Permits(engine.store)
        self.inspector = Inspector(engine, tools)
        self._known: dict[int, Known] = {}
        self._held: dict[tuple[object, int], float] = {}
        self._sources: dict[int, Json] = {}
        self._large: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._inspecting: dict[tuple[object, int], asyncio.Task[str | None]] = {}

    async def known(self, worker_id: int, name: str) -> Known:
        """The instance of this id, if it is one of this name; anybody else's is as good as none."""
        if worker_id not in self._known:
            self._forget_idle()
            for worker in await self.engine.workers():
                if worker.id == worker_id:
                    self._known[worker_id] = Known(worker.name)
        found = self._known.get(worker_id)
        if found is None or found.name != name:
            raise WorkerUnknown(worker_id)
        found.seen_at = time.monotonic()
        return found

    async def close(self) -> None:
        """Look at nothing any more: whoever waits for it has left, or will ask again."""
        looks = list(self._inspecting.values())
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)

    def forget(self, worker_id: int) -> None:
        gone = self._known.pop(worker_id, None)
        if gone is not None and gone.ears is not None:
            gone.ears.close()

    def _forget_idle(self) -> None:
        now = time.monotonic()
        for worker_id in [each for each, found in self._known.items() if now - found.seen_at > FORGET_AFTER]:
            self.forget(worker_id)

    def listener(self, known: Known) -> tuple[Listener, bool]:
        """Its ears, which hear also between two questions; and whether they are new, so that nobody knows what rang."""
        if known.ears is not None:
            return known.ears, False
        known.ears = self.engine.dispatch.listen(WORKER_WAKEUPS)
        return known.ears, True

    def large_bodies(self, key: str) -> asyncio.Semaphore:
        """The turn of a large body of a key; there is one for as long as somebody has or awaits it."""
        found = self._large.get(key)
        if found is None:
            found = self._large[key] = asyncio.Semaphore(LARGE_BODIES)
        return found

    async def source(self, job_id: int) -> Json:
        """What a job says that its source is; the spec of a job never changes."""
        if job_id not in self._sources:
            spec = (await self.engine.job(job_id)).job.spec
            if len(self._sources) >= MAX_SOURCES:
                del self._sources[next(iter(self._sources))]
            self._sources[job_id] = spec.get("source") if isinstance(spec, dict) else None
        return self._sources[job_id]

    async def grants(self, permits: Iterable[str], name: str, *, expired: bool = False) -> list[Grant]:
        return [await self.permits.read(each, name, expired=expired) for each in permits]

    async def require_held(self, grant: Grant, *, fresh: bool = True) -> None:
        """Refuse a run that has lost its task; what it left is thrown away when nobody can need it any more."""
        lease = grant.key, grant.token
        if not fresh and time.monotonic() < self._held.get(lease, 0.0):
            return
        standing = await self.permits.standing(grant)
        if standing is Standing.HOLDS:
            self._believe(lease)
            return
        self._held.pop(lease, None)
        if standing is Standing.FENCED:
            await self._discard(grant)
        raise LeaseLost(f"task {grant.key} is no longer this run's", hint="stop it; whatever it made does not count")

    def _believe(self, lease: tuple[object, int]) -> None:
        now = time.monotonic()
        if len(self._held) > 10_000:  # noqa: PLR2004 - a bound, no more
            self._held = {each: until for each, until in self._held.items() if until > now}
        self._held[lease] = now + BELIEVED

    async def clear(self, grants: Sequence[Grant], verdicts: Sequence[Verdict]) -> None:
        """Throw away what runs left that were fenced off."""
        for grant, verdict in zip(grants, verdicts, strict=True):
            if verdict is not Verdict.OK:
                self._held.pop((grant.key, grant.token), None)
            if verdict is Verdict.LOST and await self.permits.standing(grant) is Standing.FENCED:
                await self._discard(grant)

    async def _discard(self, grant: Grant) -> None:
        try:
            gone = await self.storage.delete(grant.prefix)
        except StorageError as error:  # the keeper sweeps it when the job has ended
            logger.warning("what a run of task %s left could not be deleted: %s", grant.key, error)
        else:
            if gone:
                logger.info("%d files of a run of task %s that was fenced off are gone", gone, grant.key)

    async def completed(self, grants: Sequence[Grant], items: Sequence[Completion]) -> list[Verdict]:
        """Take completions that stand up to a look; one that does not is a failed attempt."""
        faults = [await self._fault(grant, item) for grant, item in zip(grants, items, strict=True)]
        good = [item for item, fault in zip(items, faults, strict=True) if fault is None]
        bad = [(item, fault) for item, fault in zip(items, faults, strict=True) if fault is not None]
        verdicts = iter(await self.engine.complete(good))
        if bad:
            await self.engine.fail([_refusal(item, fault) for item, fault in bad])
        return [Verdict.LOST if fault is not None else next(verdicts) for fault in faults]

    async def _fault(self, grant: Grant, item: Completion) -> str | None:
        """A look may take long, and the worker may ask again meanwhile: then both wait for the same look."""
        lease = grant.key, grant.token
        if lease not in self._inspecting:
            if not self.inspector.concerns(grant) or await self.permits.standing(grant) is not Standing.HOLDS:
                return None
            self._inspecting[lease] = asyncio.create_task(self.inspector.fault(grant, item), name=INSPECTION)
            self._inspecting[lease].add_done_callback(lambda _: self._inspecting.pop(lease, None))
        fault = await asyncio.shield(self._inspecting[lease])
        if fault is not None:
            logger.warning("task %s of worker %s is refused: %s", grant.key, grant.worker, fault)
        return fault


def _refusal(item: Completion, fault: str) -> Failure:
    return Failure(key=item.key, token=item.token, error={"type": "Refused", "message": fault})


async def remotes_of(connection: HTTPConnection) -> Remotes:
    found: Remotes = connection.app.state.remotes
    return found


InRemotes = Annotated[Remotes, Depends(remotes_of)]


async def granted(
    principal: Remote,
    remotes: InRemotes,
    reel_permit: Annotated[str, Header(description="The permit of the task.", max_length=4096)] = "",
) -> Grant:
    """The task that a request is for."""
    return await remotes.permits.read(reel_permit, principal.name)


Granted = Annotated[Grant, Depends(granted)]

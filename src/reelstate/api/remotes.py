"""What a server remembers of remote workers between their requests. All of it can be rebuilt from the store."""

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
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.services.permits import Grant, Permits, Standing
from reelstate.worker.leases import lease_fields

logger = logging.getLogger("reelstate.remote")

INSPECTION: Final = "inspection"
"""The name of the asyncio tasks that inspect completions."""
IDLE_TIMEOUT: Final = 600.0
"""Seconds after the last request of an instance until it is dropped from memory."""
MAX_LARGE_BODIES: Final = 2
"""Large bodies of one key that are handled at a time."""
MAX_SOURCES: Final = 1000
LEASE_CACHE_SECONDS: Final = 1.0
"""How long a lease that was found held is not checked again for reads."""
MAX_CACHED_LEASES: Final = 10_000


@dataclass(slots=True)
class RemoteInstance:
    """One instance of a remote worker."""

    name: str
    claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Serializes claims: a repeated claim must not overtake the one whose answer was lost."""
    listener: Listener | None = None
    seen_at: float = 0.0


class Remotes:
    """Instances, listeners, cached leases and inspections of remote workers."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        tools = MediaTools.from_settings(settings)
        self.engine = engine
        self.settings = settings
        self.storage: Storage = tools.storage
        self.rules = tools.rules
        self.scratch = tools.scratch
        self.permits = Permits(engine.store)
        self.inspector = Inspector(engine, tools)
        self._instances: dict[int, RemoteInstance] = {}
        self._held: dict[tuple[object, int], float] = {}
        self._sources: dict[int, Json] = {}
        self._large: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._inspecting: dict[tuple[object, int], asyncio.Task[str | None]] = {}

    async def require_instance(self, worker_id: int, name: str) -> RemoteInstance:
        """Return the instance with this id and name. Raise WorkerUnknown if there is none, or it has another name."""
        if worker_id not in self._instances:
            self._forget_idle()
            for worker in await self.engine.workers():
                if worker.id == worker_id:
                    self._instances[worker_id] = RemoteInstance(worker.name)
        found = self._instances.get(worker_id)
        if found is None or found.name != name:
            raise WorkerUnknown(worker_id)
        found.seen_at = time.monotonic()
        return found

    async def close(self) -> None:
        """Cancel all inspections; a client that still needs one sends its request again."""
        await cancel_and_wait(*self._inspecting.values())

    def forget(self, worker_id: int) -> None:
        """Drop an instance from memory and close its listener."""
        dropped = self._instances.pop(worker_id, None)
        if dropped is not None and dropped.listener is not None:
            dropped.listener.close()

    def _forget_idle(self) -> None:
        now = time.monotonic()
        for worker_id in [each for each, found in self._instances.items() if now - found.seen_at > IDLE_TIMEOUT]:
            self.forget(worker_id)

    def listener(self, instance: RemoteInstance) -> tuple[Listener, bool]:
        """Return the listener of an instance, kept between its requests, and whether it is new."""
        if instance.listener is not None:
            return instance.listener, False
        instance.listener = self.engine.dispatch.listen(WORKER_WAKEUPS)
        return instance.listener, True

    def large_bodies(self, key: str) -> asyncio.Semaphore:
        """Return the semaphore for large bodies of a key; it exists as long as a request holds or awaits it."""
        found = self._large.get(key)
        if found is None:
            found = self._large[key] = asyncio.Semaphore(MAX_LARGE_BODIES)
        return found

    async def source(self, job_id: int) -> Json:
        """Return the source in the spec of a job; cached, because a spec never changes."""
        if job_id not in self._sources:
            spec = (await self.engine.job(job_id)).job.spec
            if len(self._sources) >= MAX_SOURCES:
                del self._sources[next(iter(self._sources))]
            self._sources[job_id] = spec.get("source") if isinstance(spec, dict) else None
        return self._sources[job_id]

    async def read_grants(self, permits: Iterable[str], name: str, *, expired: bool = False) -> list[Grant]:
        """Return the grants of permits of a worker; `expired` also accepts expired ones."""
        return [await self.permits.read(each, name, expired=expired) for each in permits]

    async def require_held(self, grant: Grant, *, fresh: bool = True) -> None:
        """Raise LeaseLost for a run that has lost its task, and delete its files if it is fenced off."""
        lease = grant.key, grant.token
        if not fresh and time.monotonic() < self._held.get(lease, 0.0):
            return
        standing = await self.permits.standing(grant)
        if standing is Standing.HOLDS:
            self._cache_lease(lease)
            return
        self._held.pop(lease, None)
        if standing is Standing.FENCED:
            await self._discard(grant)
        raise LeaseLost(f"this run has lost task {grant.key}", hint="stop the run; its results are discarded")

    def _cache_lease(self, lease: tuple[object, int]) -> None:
        now = time.monotonic()
        if len(self._held) > MAX_CACHED_LEASES:
            self._held = {each: until for each, until in self._held.items() if until > now}
        self._held[lease] = now + LEASE_CACHE_SECONDS

    async def discard_fenced(self, grants: Sequence[Grant], verdicts: Sequence[Verdict]) -> None:
        """Delete the files of runs that were fenced off."""
        for grant, verdict in zip(grants, verdicts, strict=True):
            if verdict is not Verdict.OK:
                self._held.pop((grant.key, grant.token), None)
            if verdict is Verdict.LOST and await self.permits.standing(grant) is Standing.FENCED:
                await self._discard(grant)

    async def _discard(self, grant: Grant) -> None:
        try:
            deleted = await self.storage.delete(grant.prefix)
        except StorageError as error:  # the keeper sweeps them when the job is finished
            logger.warning("files of a fenced run not deleted %s error=%s", _log_fields(grant), error)
        else:
            if deleted:
                logger.info("files of a fenced run deleted %s files=%d", _log_fields(grant), deleted)

    async def complete(self, grants: Sequence[Grant], items: Sequence[Completion]) -> list[Verdict]:
        """Complete tasks whose results pass inspection; fail the attempts of the others."""
        faults = [await self._fault(grant, item) for grant, item in zip(grants, items, strict=True)]
        good = [item for item, fault in zip(items, faults, strict=True) if fault is None]
        bad = [(item, fault) for item, fault in zip(items, faults, strict=True) if fault is not None]
        verdicts = iter(await self.engine.complete(good))
        if bad:
            await self.engine.fail([_failure(item, fault) for item, fault in bad])
        return [Verdict.LOST if fault is not None else next(verdicts) for fault in faults]

    async def _fault(self, grant: Grant, item: Completion) -> str | None:
        """Inspect a completion and return what is wrong. A repeated request waits for the same inspection."""
        lease = grant.key, grant.token
        if lease not in self._inspecting:
            if not self.inspector.concerns(grant) or await self.permits.standing(grant) is not Standing.HOLDS:
                return None
            self._inspecting[lease] = asyncio.create_task(self.inspector.fault(grant, item), name=INSPECTION)
            self._inspecting[lease].add_done_callback(lambda _: self._inspecting.pop(lease, None))
        fault = await asyncio.shield(self._inspecting[lease])
        if fault is not None:
            logger.warning("completion refused worker=%s %s error=%s", grant.worker, _log_fields(grant), fault)
        return fault


def _failure(item: Completion, fault: str) -> Failure:
    return Failure(key=item.key, token=item.token, error={"type": "Refused", "message": fault})


def _log_fields(grant: Grant) -> str:
    return lease_fields((grant.key, grant.token))


async def get_remotes(connection: HTTPConnection) -> Remotes:
    found: Remotes = connection.app.state.remotes
    return found


InRemotes = Annotated[Remotes, Depends(get_remotes)]


async def read_grant(
    principal: Remote,
    remotes: InRemotes,
    reel_permit: Annotated[str, Header(description="The permit of the task.", max_length=4096)] = "",
) -> Grant:
    """Return the grant of the permit of a request."""
    return await remotes.permits.read(reel_permit, principal.name)


Granted = Annotated[Grant, Depends(read_grant)]

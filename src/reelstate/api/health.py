"""Liveness, readiness, and the health of the deployment."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from reelstate.api.auth import MaybePrincipal
from reelstate.api.context import Check, Context, InContext
from reelstate.artifacts.folder import Folder
from reelstate.artifacts.storage import open_storage
from reelstate.connections.breaker import Circuit
from reelstate.connections.timeouts import timeout_of
from reelstate.core.errors import ReelstateError
from reelstate.core.machine import PHASES, JobStatus
from reelstate.dispatch.dispatch import DispatchHealth

logger = logging.getLogger("reelstate.health")
router = APIRouter(tags=["health"])
TIMEOUT: Final = 2.5
"""Seconds that one check may take."""
REDIS: Final[dict[Circuit, Literal["ok", "unavailable", "reconnecting"]]] = {
    Circuit.CLOSED: "ok",
    Circuit.OPEN: "unavailable",
    Circuit.HALF_OPEN: "reconnecting",
}
"""The states of the circuit breaker in plain words."""
UNAVAILABLE: Final = 503


class Alive(BaseModel):
    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """Each check that was made, with `ok` or what is wrong."""

    status: Literal["ok", "unavailable"]
    checks: dict[str, str]


class Workers(BaseModel):
    idle: int = 0
    busy: int = 0
    draining: int = 0
    offline: int = 0
    disabled: int = 0


class Capacity(BaseModel):
    """Bytes of the disk that the storage is on."""

    total: int
    free: int


class DispatchDocument(BaseModel):
    """How workers learn where work is."""

    kind: str = Field(description="`database`, `poll`, `redis` or `hybrid`.")
    redis: Literal["ok", "unavailable", "reconnecting"] | None = Field(
        description="`unavailable`: the database is used instead; `reconnecting`: it is being tried; null: no Redis."
    )
    redis_seconds: float | None = Field(description="Seconds in this state.")
    redis_opened: int | None = Field(description="How often Redis became unavailable since the server started.")
    reconciled_ago: float | None = Field(description="Seconds since Redis was last compared with the database.")


class DeploymentHealth(BaseModel):
    """What operators look at first."""

    workers: Workers = Field(description="Worker instances by status.")
    pending_jobs: int
    processing_jobs: int
    running_tasks: int
    ready_tasks: int
    storage: Capacity | None = Field(description="Null for a bucket.")
    dispatch: DispatchDocument
    keeper: str | None = Field(description="The leading keeper, if any.")
    keeper_seen_at: datetime | None


class Health(BaseModel):
    status: Literal["ok", "unavailable"]
    checks: dict[str, str]
    deployment: DeploymentHealth | None = Field(description="For admins.")


@router.get("/livez")
async def livez() -> Alive:
    """Check that the process answers."""
    return Alive()


@router.get("/readyz", responses={UNAVAILABLE: {"model": Ready, "description": "A check failed"}})
async def readyz(context: InContext, response: Response) -> Ready:
    """Check what requests need: the database with the right schema, the storage, and Redis in mode `redis`."""
    found = await run_checks(context.checks)
    if all(outcome == "ok" for outcome in found.values()):
        return Ready(status="ok", checks=found)
    response.status_code = UNAVAILABLE
    return Ready(status="unavailable", checks=found)


@router.get("/health")
async def health(context: InContext, principal: MaybePrincipal) -> Health:
    """Report the health of the deployment. Details are for admins."""
    found = await run_checks(context.checks)
    healthy = all(outcome == "ok" for outcome in found.values())
    with timeout_of(context.settings.read_timeout):
        deployment = await _deployment(context) if principal is not None and principal.admin and healthy else None
    return Health(status="ok" if healthy else "unavailable", checks=found, deployment=deployment)


async def _deployment(context: Context) -> DeploymentHealth:
    engine = context.engine
    queue, keepers = await engine.queue(), await engine.keepers()
    kinds = Counter(worker.shown for worker in await engine.workers())
    return DeploymentHealth(
        workers=Workers(**kinds),
        pending_jobs=queue.jobs.get(JobStatus.PENDING, 0),
        processing_jobs=sum(queue.jobs.get(phase, 0) for phase in PHASES),
        running_tasks=sum(waiting.running for waiting in queue.pipelines),
        ready_tasks=sum(waiting.ready for waiting in queue.pipelines),
        storage=await asyncio.to_thread(_capacity, context.settings.storage_url),
        dispatch=_dispatch(engine.dispatch.health()),
        keeper=keepers.leader,
        keeper_seen_at=keepers.seen_at,
    )


def _dispatch(health: DispatchHealth) -> DispatchDocument:
    circuit = health.circuit
    return DispatchDocument(
        kind=health.kind,
        redis=REDIS[circuit.state] if circuit else None,
        redis_seconds=circuit.seconds if circuit else None,
        redis_opened=circuit.opened if circuit else None,
        reconciled_ago=health.reconciled_ago,
    )


def _capacity(storage_url: str) -> Capacity | None:
    storage = open_storage(storage_url)
    if not isinstance(storage, Folder):
        return None
    existing = next(folder for folder in (storage.root, *storage.root.parents) if folder.exists())
    usage = shutil.disk_usage(existing)
    return Capacity(total=usage.total, free=usage.free)


async def run_checks(checks: Mapping[str, Check]) -> dict[str, str]:
    """Run checks and return `ok` or `unavailable` by name."""
    outcomes = await asyncio.gather(*(_run_check(name, check) for name, check in checks.items()))
    return dict(zip(checks, outcomes, strict=True))


async def _run_check(name: str, check: Check) -> str:
    """Run one check. Its error goes to the log only, because the client may be anonymous."""
    try:
        await asyncio.wait_for(check(), TIMEOUT)
    except TimeoutError:
        logger.warning("check timed out check=%s seconds=%g", name, TIMEOUT)
    except (ReelstateError, OSError) as error:
        logger.warning("check failed check=%s error=%s", name, error)
    else:
        return "ok"
    return "unavailable"

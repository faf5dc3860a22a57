"""pipelines: list versions of pipelines with the workers that have their code, and pin the one that new jobs run."""

from __future__ import annotations

from reelstate.core.errors import UnknownPipeline
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import Json, PipelineVersion, Worker
from reelstate.services.catalogue import (
    CURRENT_VERSIONS,
    PIN_VERSION,
    PIPELINE_NAMES,
    VERSIONS,
    PipelineRow,
    version_id,
)
from reelstate.services.observe import observe_instances
from reelstate.stores.store import Store, Transaction

DIGESTS = "pipelines"
"""The key of a worker's metadata that holds the digests of its pipelines, by name."""


async def pipeline_versions(store: Store, name: str | None = None) -> list[PipelineVersion]:
    """List every version, or those of one pipeline; the newest of a name first."""

    async def flow(transaction: Transaction) -> tuple[list[PipelineRow], set[int]]:
        rows = await transaction.run(VERSIONS, names=None if name is None else [name])
        current = await transaction.run(CURRENT_VERSIONS, names=sorted({row.name for row in rows}))
        return rows, {row.id for row in current}

    rows, current = await store.read(flow)
    alive = [worker for worker in await observe_instances(store) if worker.status is not WorkerStatus.OFFLINE]
    return [
        PipelineVersion(
            name=row.name,
            digest=row.digest,
            declared_at=row.declared_at,
            stages=tuple(stage["name"] for stage in row.graph["stages"]),
            current=row.id in current,
            pinned=bool(row.pinned),
            workers=tuple(sorted({worker.name for worker in alive if _digest(worker, row.name) == row.digest})),
            spec=row.graph.get("spec"),
            graph=row.graph,
        )
        for row in rows
    ]


async def use_pipeline(store: Store, name: str, digest: str | None) -> PipelineVersion:
    """Pin a version by the beginning of its digest, or unpin with None; return the version that new jobs run.

    Raise `UnknownPipeline` for an unknown name, `InvalidRequest` for an unknown or ambiguous digest.
    """

    async def flow(transaction: Transaction) -> None:
        known = {row.name for row in await transaction.run(PIPELINE_NAMES)}
        if name not in known:
            raise UnknownPipeline(name, sorted(known))
        pinned = None if digest is None else await version_id(transaction, name, digest)
        await transaction.run(PIN_VERSION, name=name, pipeline_id=pinned)

    await store.write(flow)
    return next(version for version in await pipeline_versions(store, name) if version.current)


def _digest(worker: Worker, pipeline: str) -> Json:
    digests = worker.metadata.get(DIGESTS) if isinstance(worker.metadata, dict) else None
    return digests.get(pipeline) if isinstance(digests, dict) else None

"""pipelines: list versions of pipelines with the workers that have their code, and pin the one that new jobs run."""

from __future__ import annotations

from reelstate.core.errors import UnknownPipeline
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import Json, PipelineVersion, Worker
from reelstate.services.catalogue import version_id
from reelstate.services.observe import observe_instances
from reelstate.stores.store import Row, Store, Transaction

DIGESTS = "pipelines"
"""Where the metadata of a worker has the digests of its pipelines, by their names."""


async def pipeline_versions(store: Store, name: str | None = None) -> list[PipelineVersion]:
    """Every version, or those of one name, the newest of a name first."""

    async def flow(transaction: Transaction) -> tuple[list[Row], dict[str, int]]:
        rows = await transaction.run("declare_versions", names=None if name is None else [name])
        return rows, dict(await transaction.run("declare_current", names=sorted({row[0] for row in rows})))

    rows, current = await store.read(flow)
    alive = [worker for worker in await observe_instances(store) if worker.status is not WorkerStatus.OFFLINE]
    return [
        PipelineVersion(
            name=each,
            digest=digest,
            declared_at=declared_at,
            stages=tuple(stage["name"] for stage in graph["stages"]),
            current=current[each] == pipeline_id,
            pinned=bool(pinned),
            workers=tuple(sorted({worker.name for worker in alive if _digest(worker, each) == digest})),
            spec=graph.get("spec"),
        )
        for each, pipeline_id, digest, declared_at, pinned, graph in rows
    ]


async def use_pipeline(store: Store, name: str, digest: str | None) -> PipelineVersion:
    """Pin a version by the beginning of its digest, or none; returns the one that new jobs run from now on."""

    async def flow(transaction: Transaction) -> None:
        known = {row[0] for row in await transaction.run("declare_names")}
        if name not in known:
            raise UnknownPipeline(name, sorted(known))
        chosen = None if digest is None else await version_id(transaction, name, digest)
        await transaction.run("declare_pin", name=name, pipeline_id=chosen)

    await store.write(flow)
    return next(version for version in await pipeline_versions(store, name) if version.current)


def _digest(worker: Worker, pipeline: str) -> Json:
    digests = worker.metadata.get(DIGESTS) if isinstance(worker.metadata, dict) else None
    return digests.get(pipeline) if isinstance(digests, dict) else None

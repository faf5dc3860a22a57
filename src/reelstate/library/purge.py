"""purge: delete all data of one user: rows in the store and the archive, files in the storage, exports and uploads."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.engine import OPERATOR, Engine
from reelstate.library.publishing import needed_sources
from reelstate.library.receiver import UploadReceiver
from reelstate.services.export import erase_from_exports
from reelstate.services.purge import (
    Purged,
    cancel_jobs,
    fetched_sources,
    jobs_of_user,
    purge_rows,
    record_purge,
    require_user,
)
from reelstate.services.retention import vacuum
from reelstate.stores.store import Statement, Store

logger = logging.getLogger("reelstate.library")


class UploadRow(NamedTuple):
    id: str
    sha256: str | None


class VideoIdRow(NamedTuple):
    id: int


UPLOADS = Statement("purge_sources", UploadRow)
VIDEOS = Statement("purge_videos_of", VideoIdRow)


async def purge(
    engine: Engine,
    storage: Storage,
    receiver: UploadReceiver,
    user_id: str,
    *,
    actor: str = OPERATOR,
    reason: str | None = None,
    dry_run: bool = False,
) -> Purged:
    """Delete everything of a user. Files go first: what names them is deleted last, so that a second run finds it."""
    require_user(user_id)
    store = engine.store
    uploads = await store.read(lambda transaction: transaction.run(UPLOADS, user_id=user_id))
    videos = [row.id for row in await store.read(lambda transaction: transaction.run(VIDEOS, user_id=user_id))]
    if dry_run:
        job_ids = await jobs_of_user(store, user_id)
        return Purged({"jobs": len(job_ids), "videos": len(videos), "uploads": len(uploads)})
    await cancel_jobs(store, engine.catalogue, user_id, actor=actor)
    job_ids = await jobs_of_user(store, user_id)
    sources = {row.sha256 for row in uploads if row.sha256} | await needed_sources(store)
    sources |= await fetched_sources(store, job_ids)
    files = await _delete_files(storage, job_ids, videos)
    for upload in uploads:
        files += await receiver.remove(upload.id)
    files += await erase_from_exports(storage, user_id)
    rows = await purge_rows(store, user_id)
    files += await _delete_sources(store, storage, sources)
    await record_purge(store, rows, actor=actor, reason=reason)
    await vacuum(store)
    logger.info("user purged jobs=%d videos=%d files=%d", rows.get("jobs", 0), len(videos), files)
    return Purged(rows, files)


async def _delete_files(storage: Storage, job_ids: Collection[int], videos: Collection[int]) -> int:
    deleted = 0
    for job_id in job_ids:
        deleted += await storage.delete(keys.version(job_id))
    for video_id in videos:
        deleted += await storage.delete(f"{keys.VIDEOS}/{video_id}")
    return deleted


async def _delete_sources(store: Store, storage: Storage, sources: Collection[str]) -> int:
    """Delete those of these sources that no job needs any more."""
    unneeded = set(sources) - await needed_sources(store)
    return sum([await storage.delete(keys.source(sha256)) for sha256 in sorted(unneeded)])

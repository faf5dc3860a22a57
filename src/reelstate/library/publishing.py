"""What the publisher reads and records: versions to publish, superseded versions to remove, sources to keep."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reelstate.library.events import READY, VIEWABLE, emit_stream_events
from reelstate.library.extension import REMOVE
from reelstate.library.versions import LOCK
from reelstate.media import TRANSCODE
from reelstate.services.jobs import NOW
from reelstate.services.paging import page_size
from reelstate.stores.store import Batch, NoRow, Statement, Store, Transaction

EPOCH = datetime.fromtimestamp(0, UTC)
OVERLAP = timedelta(minutes=2)
"""How long after the time it wrote a transaction may commit."""


class UnpublishedVersion(NamedTuple):
    """A video whose public address shows the version `published` and should show `current`; None for none."""

    video_id: int
    published: int | None
    current: int | None


class PublishedRow(NamedTuple):
    """A video whose public address was written, and its owner."""

    id: int
    user_id: str


class SupersededRow(NamedTuple):
    """A version that can be removed."""

    video_id: int
    job_id: int


class JobIdRow(NamedTuple):
    """The job of a removed version."""

    job_id: int


class SourceRow(NamedTuple):
    """The sha256 of a source."""

    source: str


UNPUBLISHED = Statement("videos_unpublished", UnpublishedVersion)
PUBLISHED = Statement("videos_published", PublishedRow)
SUPERSEDED = Statement("videos_superseded", SupersededRow)
UNSWEPT = Statement("videos_unswept", JobIdRow)
SWEPT = Statement("videos_swept", NoRow)
SOURCES = Statement("videos_sources", SourceRow)


async def load_unpublished(
    store: Store, since: datetime | None = None, *, limit: int = 100
) -> tuple[datetime, list[UnpublishedVersion]]:
    """Return the store's time, and videos changed since `since` whose public address shows another version than plays.

    None looks at all videos. A caller that passes the returned time to the next call misses none.
    """
    page_size(limit)

    async def flow(transaction: Transaction) -> tuple[datetime, list[UnpublishedVersion]]:
        (now,) = await transaction.run(NOW)
        begin = EPOCH if since is None else since - OVERLAP
        return now.at, await transaction.run(UNPUBLISHED, since=begin, limit=limit)

    return await (store.survey(flow) if since is None else store.read(flow))


async def mark_published(store: Store, shown: UnpublishedVersion) -> bool:
    """Record that a video's public address shows `current`; return False when another process wrote it meanwhile."""

    async def flow(transaction: Transaction) -> bool:
        found = await transaction.run(PUBLISHED, video_id=shown.video_id, before=shown.published, job_id=shown.current)
        if found and shown.current is not None:
            await emit_stream_events(
                transaction, VIEWABLE, READY,
                video_id=shown.video_id, job_id=shown.current, user_id=found[0].user_id,
            )  # fmt: skip
        return bool(found)

    return await store.write(flow)


async def remove_versions(store: Store, *, keep: float, limit: int = 100) -> list[int]:
    """Remove versions superseded for `keep` seconds; return the jobs whose files are still to be deleted.

    A job is returned again until `mark_swept` records that its files are deleted, so that a crash leaves none behind.
    """
    page_size(limit)

    async def find(transaction: Transaction) -> list[int]:
        rows = await transaction.run(SUPERSEDED, video_ids=None, keep=float(keep), limit=limit)
        return sorted({row.video_id for row in rows})

    async def remove(transaction: Transaction) -> None:
        await transaction.run(LOCK, video_ids=found, owner=None)
        # A version may have been pinned, or reused by another, before the lock was taken.
        still = await transaction.run(SUPERSEDED, video_ids=found, keep=float(keep), limit=limit)
        await transaction.run(REMOVE, Batch(("video_id", "job_id"), still))

    found = await store.survey(find)  # reads a whole library: no writer waits for it
    if found:
        await store.write(remove)
    unswept = await store.read(lambda transaction: transaction.run(UNSWEPT, limit=limit))
    return [row.job_id for row in unswept]


async def mark_swept(store: Store, job_ids: Collection[int]) -> None:
    """Record that the files of removed versions are deleted."""
    await store.write(lambda transaction: transaction.run(SWEPT, job_ids=sorted(job_ids)))


async def needed_sources(store: Store, *, pipeline: str = TRANSCODE) -> frozenset[str]:
    """Return the sources, by their sha256, that unfinished jobs, videos or uploads need."""
    rows = await store.survey(lambda transaction: transaction.run(SOURCES, pipeline=pipeline))
    return frozenset(row.source for row in rows)

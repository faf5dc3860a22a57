"""groups: list groups with the status, the counts and the progress of their jobs together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from reelstate.core.aggregate import lowest_job
from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.group import GroupDetail
from reelstate.core.machine import INACTIVE_JOBS, JobStatus
from reelstate.core.model import Page
from reelstate.services.observe import FILTER_LIMIT
from reelstate.services.paging import PAST_EVERY_ID, cursor_number, page_size
from reelstate.services.webhooks.address import shown_url
from reelstate.stores.store import Statement, Store, Transaction

MAX_SHOWN_USERS = 5
PAGE = 500
"""Jobs of a group that one transaction changes."""


class _GroupRow(NamedTuple):
    id: int
    user_id: str
    name: str
    round: int
    callback_url: str | None
    created_at: datetime
    finished_at: datetime | None


class _CountRow(NamedTuple):
    group_id: int
    status: str
    jobs: int


class _JobId(NamedTuple):
    id: int


GROUP_JOBS = Statement("groups_jobs", _JobId)
LIST = Statement("groups_list", _GroupRow)
COUNTS = Statement("groups_counts", _CountRow)


async def list_groups(
    store: Store, *, user_id: str | None = None, limit: int = 50, after: str | None = None
) -> Page[GroupDetail]:
    """List groups, the newest first: all, or those of a user."""
    before = PAST_EVERY_ID if after is None else cursor_number(after)
    plain_text("user_id", user_id or "", FILTER_LIMIT)
    size = page_size(limit)

    async def flow(transaction: Transaction) -> Page[GroupDetail]:
        rows = await transaction.run(LIST, before=before, owner=user_id, name=None, limit=size)
        cursor = str(rows[-1].id) if len(rows) == size else None
        return Page(await _details(transaction, rows), cursor)

    return await store.read(flow)


async def get_group(store: Store, name: str, *, user_id: str | None = None) -> GroupDetail:
    """Return a group. Raises `NotFound`, and `InvalidRequest` where several users have one of this name."""
    return await store.read(lambda transaction: _one(transaction, name, user_id))


async def group_jobs(store: Store, group: GroupDetail, statuses: Collection[JobStatus], *, after: int) -> list[int]:
    """Return the first jobs of a group after an id that have one of these statuses."""

    async def flow(transaction: Transaction) -> list[int]:
        rows = await transaction.run(
            GROUP_JOBS, name=group.name, user_id=group.user_id, statuses=sorted(statuses), after=after, limit=PAGE
        )
        return [row.id for row in rows]

    return await store.read(flow)


async def _one(transaction: Transaction, name: str, user_id: str | None) -> GroupDetail:
    terms = {"before": PAST_EVERY_ID, "owner": user_id, "name": name}
    rows = await transaction.run(LIST, limit=MAX_SHOWN_USERS, **terms)
    if not rows:
        raise NotFound("group", name, hint="`reel groups` lists them")
    if len(rows) > 1:
        users = ", ".join(repr(row.user_id) for row in rows)
        raise InvalidRequest("user_id", f"several users have a group {name!r}", hint=f"name one of them: {users}")
    (detail,) = await _details(transaction, rows)
    return detail


async def count_jobs(transaction: Transaction, group_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the number of jobs of each group by status."""
    counts: dict[int, dict[str, int]] = {group_id: {} for group_id in group_ids}
    for row in await transaction.run(COUNTS, ids=list(group_ids)) if group_ids else []:
        counts[row.group_id][row.status] = row.jobs
    return counts


def progress_of(counts: Mapping[str, int]) -> float:
    """Return the jobs that are not active any more in percent of all."""
    whole = sum(counts.values())
    ended = sum(counts.get(status, 0) for status in INACTIVE_JOBS)
    return 100.0 * ended / whole if whole else 100.0


async def _details(transaction: Transaction, rows: Sequence[Any]) -> list[GroupDetail]:
    counts = await count_jobs(transaction, [row.id for row in rows])
    return [
        GroupDetail(
            name=row.name,
            user_id=row.user_id,
            status=lowest_job(counts[row.id]),
            jobs=sum(counts[row.id].values()),
            counts=counts[row.id],
            progress=progress_of(counts[row.id]),
            round=row.round,
            created_at=row.created_at,
            finished_at=row.finished_at,
            callback=None if row.callback_url is None else shown_url(row.callback_url),
        )
        for row in rows
    ]

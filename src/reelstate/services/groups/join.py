"""join: add new jobs to groups, and store what they wait for, in the transaction that creates them.

A cycle can only be closed by a job that waits and is in a group: nothing names a job before it exists. Such jobs are
added one transaction after the other, and each is refused if what it waits for leads back to its group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.group import MAX_GROUP_JOBS, AfterFailure
from reelstate.core.machine import JobStatus
from reelstate.core.month import Month
from reelstate.core.webhook import EventType
from reelstate.services.jobs import NEW_IDS, JobStatusRow
from reelstate.services.webhooks.address import lane_of
from reelstate.services.webhooks.callbacks import add_owners
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction


class JoiningRequest(Protocol):
    """What a checked submission says about groups and waiting."""

    @property
    def user_id(self) -> str: ...
    @property
    def group(self) -> str | None: ...
    @property
    def group_callback(self) -> str | None: ...
    @property
    def after_jobs(self) -> tuple[int, ...]: ...
    @property
    def after_groups(self) -> tuple[str, ...]: ...
    @property
    def after_failure(self) -> AfterFailure: ...
    @property
    def waits(self) -> bool: ...


class _JoinedGroup(NamedTuple):
    id: int
    user_id: str
    name: str
    jobs: int


class _TargetJob(NamedTuple):
    id: int


class _TargetGroup(NamedTuple):
    id: int
    name: str


class _Locked(NamedTuple):
    locked: str


class _Cycle(NamedTuple):
    job_id: int
    name: str


JOIN = Statement("groups_join", _JoinedGroup)
ADD_MEMBERS = Statement("groups_add", NoRow)
SET_CALLBACK = Statement("groups_callback", NoRow)
TARGET_JOBS = Statement("waits_jobs", _TargetJob)
TARGET_STATUSES = Statement("waits_archived", JobStatusRow)
TARGET_GROUPS = Statement("waits_groups", _TargetGroup)
ADD_WAITS = Statement("waits_add", NoRow)
ADD_DEPENDENCIES = Statement("waits_depend", NoRow)
LOCK_CYCLES = Statement("waits_lock", _Locked)
FIND_CYCLE = Statement("waits_cycles", _Cycle)
Joining = Sequence[tuple[int, JoiningRequest]]
"""The ids of jobs to be created, and their requests."""


async def archived_targets(store: Store, requests: Collection[JoiningRequest]) -> dict[int, str]:
    """Return the statuses of those jobs that requests wait for and that are in the archive."""
    found: dict[int, str] = {}
    for user_id, ids in _targets(requests).items():

        async def flow(
            transaction: Transaction, user_id: str = user_id, ids: Collection[int] = ids
        ) -> list[JobStatusRow]:
            return await transaction.run(TARGET_STATUSES, ids=sorted(ids), user_id=user_id)

        missing = ids - {row.id for row in await store.read(flow)}
        for month in {month for job_id in missing if (month := Month.of_id(job_id)) is not None}:
            try:
                rows = await store.archive.read(month, flow)
            except NotFound:
                continue
            found |= {row.id: row.status for row in rows if row.id in missing}
    return found


async def join(
    transaction: Transaction, types: Sequence[EventType], jobs: Joining, archived: Mapping[int, str]
) -> None:
    """Add new jobs to their groups, and store what they wait for. Raises `InvalidRequest`."""
    group_ids = await _join_groups(transaction, types, jobs)
    waiting = [(job_id, request) for job_id, request in jobs if request.waits]
    if waiting:
        await _add_waits(transaction, waiting, group_ids, archived)


async def _join_groups(transaction: Transaction, types: Sequence[EventType], jobs: Joining) -> dict[int, int]:
    """Create the groups or lock them, and return that of each job."""
    sizes = Counter((request.user_id, request.group) for _, request in jobs if request.group is not None)
    if not sizes:
        return {}
    fresh = await transaction.run(NEW_IDS, count=len(sizes))
    rows = [(row.id, *key, sizes[key]) for row, key in zip(fresh, sorted(sizes, key=str), strict=True)]
    joined = {
        (row.user_id, row.name): row
        for row in await transaction.run(JOIN, Batch(("id", "user_id", "name", "jobs"), rows))
    }
    for row in joined.values():
        if row.jobs > MAX_GROUP_JOBS:
            message = f"{row.name!r} would have {row.jobs:,} jobs, the limit is {MAX_GROUP_JOBS:,}"
            raise InvalidRequest("group", message, hint="begin another group")
    group_ids = {job_id: joined[request.user_id, request.group].id for job_id, request in jobs if request.group}
    await transaction.run(ADD_MEMBERS, Batch(("job_id", "group_id"), sorted(group_ids.items())))
    callbacks = {group_ids[job_id]: request for job_id, request in jobs if request.group_callback is not None}
    if callbacks:
        await add_owners(transaction, types, {request.user_id for request in callbacks.values()})
    for group_id, request in sorted(callbacks.items()):
        url = request.group_callback or ""
        await transaction.run(SET_CALLBACK, id=group_id, url=url, lane=lane_of(request.user_id, url))
    return group_ids


async def _add_waits(
    transaction: Transaction, waiting: Joining, group_ids: Mapping[int, int], archived: Mapping[int, str]
) -> None:
    requests = [request for _, request in waiting]
    known: dict[str, set[int]] = {}
    for user_id, ids in _targets(requests).items():
        known[user_id] = {row.id for row in await transaction.run(TARGET_JOBS, ids=sorted(ids), user_id=user_id)}
    names: dict[str, set[str]] = {}
    for request in requests:
        names.setdefault(request.user_id, set()).update(request.after_groups)
    groups: dict[tuple[str, str], int] = {}
    for user_id, wanted in names.items():
        for row in await transaction.run(TARGET_GROUPS, user_id=user_id, names=sorted(wanted)) if wanted else []:
            groups[user_id, row.name] = row.id
    rows: list[Row] = []
    for job_id, request in waiting:
        rows += [(job_id, "job", each) for each in _jobs_of(request, known[request.user_id], archived)]
        rows += [(job_id, "group", each) for each in _groups_of(request, groups)]
    in_groups = [job_id for job_id, _ in waiting if job_id in group_ids]
    if in_groups:
        await transaction.run(LOCK_CYCLES)
    waits: list[Row] = [(job_id, group_ids.get(job_id), request.after_failure) for job_id, request in waiting]
    await transaction.run(ADD_WAITS, Batch(("job_id", "group_id", "after_failure"), waits))
    await transaction.run(ADD_DEPENDENCIES, Batch(("job_id", "kind", "target"), rows))
    for cycle in await transaction.run(FIND_CYCLE, job_ids=in_groups) if in_groups else []:
        message = f"the job would wait for itself: what it waits for leads to group {cycle.name!r}, which it is in"
        raise InvalidRequest("after", message, hint="leave it out of the group, or wait for single jobs")


def _targets(requests: Collection[JoiningRequest]) -> dict[str, set[int]]:
    """Return the jobs that requests wait for, by user."""
    wanted: dict[str, set[int]] = {}
    for request in requests:
        if request.waits:
            wanted.setdefault(request.user_id, set()).update(request.after_jobs)
    return wanted


def _jobs_of(request: JoiningRequest, known: Collection[int], archived: Mapping[int, str]) -> list[int]:
    """Return the jobs that a new job waits for. An archived job that has ended as it should is not among them."""
    found = []
    for job_id in request.after_jobs:
        if job_id in known:
            found.append(job_id)
        elif job_id not in archived:
            raise InvalidRequest("after", f"there is no job {job_id}", hint="`reel jobs` lists them")
        elif archived[job_id] != JobStatus.COMPLETED and request.after_failure is not AfterFailure.START:
            message = f"job {job_id} is archived and {archived[job_id]}: it can't complete any more"
            raise InvalidRequest("after", message, hint="leave it out, or submit it again")
    return found


def _groups_of(request: JoiningRequest, groups: Mapping[tuple[str, str], int]) -> list[int]:
    missing = [name for name in request.after_groups if (request.user_id, name) not in groups]
    if missing:
        raise InvalidRequest("after", f"there is no group {missing[0]!r}", hint="`reel groups` lists them")
    return [groups[request.user_id, name] for name in request.after_groups]

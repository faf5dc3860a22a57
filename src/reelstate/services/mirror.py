"""mirror: tell a dispatch which tasks are ready, and claim by its hints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from reelstate.core.model import Claim, Submission, TaskKey
from reelstate.core.policy import priority_number
from reelstate.dispatch.dispatch import Dispatch
from reelstate.dispatch.hints import ChannelMessage, ClaimFilter, Lane, MirrorSource, ReadyTask
from reelstate.services.catalogue import Catalogue
from reelstate.services.extension import NO_EXTENSION, Extension
from reelstate.stores.store import Statement, Store, Transaction

WORKERS = "worker_status"
"""The channel for changes of workers."""
MAX_EMPTY_ROUNDS = 3
"""Rounds of hints without a claimable task after which a claim ends."""


class _ReadyRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    priority: int
    lane: int
    pipeline: str
    needs: list[str]
    prefers: list[str]


READY_TASKS = Statement("mirror_ready", _ReadyRow)
READY_TASKS_OF_JOBS = Statement("mirror_jobs", _ReadyRow)

ClaimSome = Callable[[int, Sequence[TaskKey]], Awaitable[Claim]]
"""Claims up to a number of tasks: those named, or the first ones when none is."""


async def mirror_ready(store: Store, job_ids: Collection[int] | None, limit: int) -> list[ReadyTask]:
    """Return the first ready tasks of these jobs, or of all, in the order of claims."""

    async def flow(transaction: Transaction) -> list[ReadyTask]:
        if job_ids is None:
            rows = await transaction.run(READY_TASKS, limit=limit)
        else:
            rows = await transaction.run(READY_TASKS_OF_JOBS, job_ids=sorted(job_ids), limit=limit)
        return [
            ReadyTask(
                TaskKey(row.job_id, row.stage, row.part),
                row.priority,
                row.lane,
                Lane(row.pipeline, frozenset(row.needs), frozenset(row.prefers)),
            )
            for row in rows
        ]

    return await store.read(flow)


def newly_ready(catalogue: Catalogue, created: Sequence[tuple[int, Submission]]) -> tuple[list[int], list[ReadyTask]]:
    """Return the created jobs whose first tasks only the store knows, and the first tasks of the others."""
    unknown: list[int] = []
    known: list[ReadyTask] = []
    for job_id, submission in created:
        declared = catalogue.named(submission.pipeline, submission.digest)
        first = [number for number, stage in enumerate(declared.graph.stages) if not stage.after]
        stages = [declared.graph.stages[number] for number in first]
        if any(stage.each or stage.needs_from or stage.wants_from for stage in stages):
            unknown.append(job_id)
            continue
        level = priority_number(submission.priority)
        known += [
            ReadyTask(
                TaskKey(job_id, number, 0),
                level,
                declared.lanes[number],
                Lane(declared.graph.name, stage.needs, stage.prefers),
            )
            for number, stage in zip(first, stages, strict=True)
        ]
    return unknown, known


def source_of(store: Store, catalogue: Catalogue, extension: Extension = NO_EXTENSION) -> MirrorSource:
    """Return what a dispatch reads: ready tasks from the store, messages about jobs from the extension."""

    async def ready(job_ids: Collection[int] | None, limit: int) -> list[ReadyTask]:
        return await mirror_ready(store, job_ids, limit)

    async def messages(job_ids: Collection[int]) -> list[ChannelMessage]:
        return await extension.messages(store, catalogue, job_ids)

    return MirrorSource(ready, messages)


async def claim_hinted(dispatch: Dispatch, claims: ClaimFilter | None, limit: int, claim: ClaimSome) -> Claim:
    """Claim the tasks that the dispatch hints at; where it has no hints, the first ones of the store."""
    claimed, empty_rounds = Claim([], isolated_waiting=False), 0
    if claims is None:
        return await _claim_from_store(dispatch, limit, claim, claimed)
    while (left := limit - len(claimed.tasks)) > 0:
        hints = await dispatch.take_hints(claims, left)
        if not hints.hints:
            return await _claim_from_store(dispatch, left, claim, claimed) if hints.look else claimed
        try:
            some = await claim(left, hints.keys)
        except BaseException as error:
            dispatch.settle_hints(claims, hints, None)
            if claimed.tasks and isinstance(error, Exception):
                return claimed  # these tasks are leased and must run; the next claim raises the error again
            raise
        keys = {task.key for task in some.tasks}
        diverted = some.isolated_waiting or some.paused or not keys.issubset(hints.keys)
        dispatch.settle_hints(claims, hints, None if diverted else keys)
        claimed = Claim(claimed.tasks + some.tasks, isolated_waiting=some.isolated_waiting)
        empty_rounds = 0 if keys else empty_rounds + 1
        if diverted or empty_rounds == MAX_EMPTY_ROUNDS:
            return claimed
        if len(hints.hints) < left:
            left = limit - len(claimed.tasks)
            return await _claim_from_store(dispatch, left, claim, claimed) if hints.look else claimed
    return claimed


async def _claim_from_store(dispatch: Dispatch, left: int, claim: ClaimSome, claimed: Claim) -> Claim:
    """Add what the store has beyond the claimed tasks, and drop the hints at it."""
    if left < 1:
        return claimed
    try:
        some = await claim(left, [])
    except Exception:
        if claimed.tasks:
            return claimed
        raise
    dispatch.tasks_claimed([task.key for task in some.tasks])
    return Claim(claimed.tasks + some.tasks, isolated_waiting=some.isolated_waiting)

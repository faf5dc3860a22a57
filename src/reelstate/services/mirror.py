"""mirror: what a dispatch must know of the store to hint at ready tasks; and claims by its hints."""

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
"""Rounds of hints of which none was good, after which a claim gives up for now."""


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
"""A claim of at most so many tasks: of those named, or of any when none is."""


async def mirror_ready(store: Store, job_ids: Collection[int] | None, limit: int) -> list[ReadyTask]:
    """The first ready tasks in the order of claims: of these jobs, or of all."""

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


def newly_ready(catalogue: Catalogue, made: Sequence[tuple[int, Submission]]) -> tuple[list[int], list[ReadyTask]]:
    """What has just been submitted: jobs whose first tasks only the store knows, and first tasks that are known."""
    unknown: list[int] = []
    known: list[ReadyTask] = []
    for job_id, asked in made:
        declared = catalogue.named(asked.pipeline, asked.digest)
        first = [number for number, stage in enumerate(declared.graph.stages) if not stage.after]
        stages = [declared.graph.stages[number] for number in first]
        if any(stage.each or stage.needs_from or stage.wants_from for stage in stages):
            unknown.append(job_id)
            continue
        level = priority_number(asked.priority)
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


async def claim_hinted(dispatch: Dispatch, asking: ClaimFilter | None, limit: int, claim: ClaimSome) -> Claim:
    """Claim what the dispatch hints at; where it does not know, whatever is first."""
    made, vain = Claim([], isolated_waiting=False), 0
    if asking is None:
        return await _looked(dispatch, limit, claim, made)
    while (left := limit - len(made.tasks)) > 0:
        hints = await dispatch.take_hints(asking, left)
        if not hints.hints:
            return await _looked(dispatch, left, claim, made) if hints.look else made
        try:
            some = await claim(left, hints.keys)
        except BaseException as error:
            dispatch.settle_hints(asking, hints, None)
            if made.tasks and isinstance(error, Exception):
                return made  # what is leased by now must be run, and the next claim meets the same trouble
            raise
        keys = {task.key for task in some.tasks}
        diverted = some.isolated_waiting or not keys.issubset(hints.keys)
        dispatch.settle_hints(asking, hints, None if diverted else keys)
        made = Claim(made.tasks + some.tasks, isolated_waiting=some.isolated_waiting)
        vain = 0 if keys else vain + 1
        if diverted or vain == MAX_EMPTY_ROUNDS:
            return made
        if len(hints.hints) < left:
            left = limit - len(made.tasks)
            return await _looked(dispatch, left, claim, made) if hints.look else made
    return made


async def _looked(dispatch: Dispatch, left: int, claim: ClaimSome, made: Claim) -> Claim:
    """What is claimed by now, with what the store has beyond that; hints at it are not needed any more."""
    if left < 1:
        return made
    try:
        some = await claim(left, [])
    except Exception:
        if made.tasks:
            return made
        raise
    dispatch.tasks_claimed([task.key for task in some.tasks])
    return Claim(made.tasks + some.tasks, isolated_waiting=some.isolated_waiting)

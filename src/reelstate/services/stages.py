"""Open stages: insert the row that counts the tasks of a stage, and the tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from reelstate.core.model import Json
from reelstate.core.pipeline import Opening, StageSpec, ValuePath
from reelstate.core.policy import backstop
from reelstate.services.catalogue import Declared, lane_for
from reelstate.stores.store import NoRow, Statement, Transaction

CAPABILITY = re.compile(r"[A-Za-z0-9._:+-]{1,128}", re.ASCII)
MAX_NEEDS = 20
"""Needs of one job beyond those of the declaration: every set of needs is a lane that each claim probes."""


class _PartCount(NamedTuple):
    total: int | None


class _Value(NamedTuple):
    result: Json


COUNT_PARTS = Statement("orchestrate_count", _PartCount)
READ_VALUE = Statement("orchestrate_value", _Value)
OPEN_SINGLE = Statement("orchestrate_single", NoRow)
OPEN_STAGES = Statement("orchestrate_stages", NoRow)
REOPEN_STAGES = Statement("orchestrate_stages_again", NoRow)
REOPEN_TASKS = Statement("orchestrate_tasks_again", NoRow)
ADD_PARTS = Statement("orchestrate_fan_out", NoRow)
SKIP_SURPLUS = Statement("orchestrate_surplus", NoRow)


@dataclass(frozen=True, slots=True)
class OpeningStage:
    """One stage to be opened in many jobs that do not differ in anything that matters to it."""

    job_ids: list[int]
    declared: Declared
    opening: Opening
    priority: int
    delay: float = 0.0
    again: bool = False
    lane: int | None = None
    """The lane of its tasks; None for the lane of the stage."""

    @property
    def spec(self) -> StageSpec:
        return self.declared.graph.stages[self.opening.stage]

    @property
    def plain(self) -> bool:
        """Whether it has one part in the lane of the stage: nothing of the job must be read to open it."""
        return self.opening.source is None and self.opening.needs is None and self.opening.wants is None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the statements that insert its tasks."""
        stages = self.declared.graph.stages
        spec = stages[self.opening.stage]
        flags = spec.stall_action == "flag"
        return {
            "stage": self.opening.stage,
            "sole": len(stages) == 1,
            "lane": self.declared.lanes[self.opening.stage] if self.lane is None else self.lane,
            "priority": self.priority,
            "attempts": spec.attempts,
            "max_lost": spec.max_lost,
            "isolate_after": spec.isolate_after,
            "flag_after": spec.stall_after if flags else None,
            "lease": spec.lease,
            "stall_after": None if flags else spec.stall_after,
            "timeout": backstop(spec.timeout),
            "delay": self.delay,
        }


class BrokenFanOut(Exception):
    """A path does not lead to an array, number or list of capabilities: the job fails, or the request is refused."""

    def __init__(self, opening: OpeningStage, message: str) -> None:
        self.stage = opening.spec.name
        self.message = message
        super().__init__(message)


async def open_stages(transaction: Transaction, openings: Iterable[OpeningStage]) -> bool:
    """Open stages with their tasks; return whether one of them has no parts, and so is closed already.

    Raises `BrokenFanOut`.
    """
    empty = False
    for given in openings:
        for opening in await _split_by_lane(transaction, given):
            if opening.opening.source is not None:
                for job_id in opening.job_ids:
                    empty = await _fan_out(transaction, opening, job_id) == 0 or empty
            elif opening.again:
                await _open_stage(transaction, opening, opening.job_ids, total=1)
                await transaction.run(REOPEN_TASKS, job_ids=opening.job_ids, **opening.parameters())
            else:
                await transaction.run(OPEN_SINGLE, job_ids=opening.job_ids, **opening.parameters())
    return empty


async def check_openings(transaction: Transaction, openings: Iterable[OpeningStage]) -> None:
    """Raise `BrokenFanOut` for stages that could not be opened now, without opening them."""
    for opening in openings:
        for job_id in opening.job_ids:
            await job_needs(transaction, opening, job_id, opening.opening.needs)
            await job_needs(transaction, opening, job_id, opening.opening.wants)
            if opening.opening.source is not None:
                await _count_parts(transaction, opening, job_id)


async def _split_by_lane(transaction: Transaction, opening: OpeningStage) -> list[OpeningStage]:
    """Return the opening as it is, or one for each job where the needs depend on the job."""
    needs_from, wants_from = opening.opening.needs, opening.opening.wants
    if needs_from is None and wants_from is None:
        return [opening]
    split = []
    for job_id in opening.job_ids:
        needs = await job_needs(transaction, opening, job_id, needs_from)
        wants = await job_needs(transaction, opening, job_id, wants_from)
        lane = await lane_for(
            transaction, opening.declared.graph.name, opening.spec.needs | needs | wants, opening.spec
        )
        split.append(replace(opening, job_ids=[job_id], lane=lane))
    return split


async def job_needs(
    transaction: Transaction, opening: OpeningStage, job_id: int, source: ValuePath | None
) -> frozenset[str]:
    """Return what a stage of one job needs beyond the declaration. Raises `BrokenFanOut`."""
    if source is None:
        return frozenset()
    (value,) = await transaction.run(READ_VALUE, job_id=job_id, source=source.source, path=list(source.path))
    names = value.result
    if not isinstance(names, list) or len(names) > MAX_NEEDS or not all(map(_is_capability, names)):
        path = opening.spec.needs_from if source is opening.opening.needs else opening.spec.wants_from
        raise BrokenFanOut(
            opening, f"{path} is no array of capability names, and stage {opening.spec.name!r} takes its needs from it"
        )
    return frozenset(names)


def _is_capability(name: object) -> bool:
    return isinstance(name, str) and CAPABILITY.fullmatch(name) is not None


def merge_openings(openings: Sequence[OpeningStage]) -> Iterable[OpeningStage]:
    """Put openings together that differ in their jobs only, so that one statement opens them."""
    groups: dict[tuple[Any, ...], OpeningStage] = {}
    for item in openings:
        key = (item.declared.id, item.opening.stage, item.priority, item.delay, item.again)
        if key in groups:
            groups[key].job_ids.extend(item.job_ids)
        else:
            groups[key] = item
    return groups.values()


async def _open_stage(transaction: Transaction, opening: OpeningStage, job_ids: list[int], *, total: int) -> None:
    statement = REOPEN_STAGES if opening.again else OPEN_STAGES
    await transaction.run(statement, job_ids=job_ids, total=total, **opening.parameters())


async def _fan_out(transaction: Transaction, opening: OpeningStage, job_id: int) -> int:
    """Open a stage of one job with a task per part; return the number of parts."""
    total = await _count_parts(transaction, opening, job_id)
    await _open_stage(transaction, opening, [job_id], total=total)
    await transaction.run(ADD_PARTS, **_source(opening, job_id), **opening.parameters())
    if opening.again:
        await transaction.run(SKIP_SURPLUS, job_id=job_id, stage=opening.opening.stage, total=total)
    return total


async def _count_parts(transaction: Transaction, opening: OpeningStage, job_id: int) -> int:
    (parts,) = await transaction.run(COUNT_PARTS, **_source(opening, job_id))
    if parts.total is None:
        each, stage = opening.spec.each, opening.spec.name
        raise BrokenFanOut(opening, f"{each} is no array and no whole number, and stage {stage!r} fans out over it")
    return parts.total


def _source(opening: OpeningStage, job_id: int) -> dict[str, Any]:
    """Return the value that a stage of a job fans out over, as parameters."""
    return {"job_id": job_id, "source": opening.opening.source, "path": list(opening.opening.path)}

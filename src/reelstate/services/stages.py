"""Opening stages: the row that counts its tasks, and the tasks themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reelstate.core.pipeline import Opening, StageSpec, ValuePath
from reelstate.core.policy import backstop
from reelstate.services.catalogue import Declared, lane_for
from reelstate.stores.store import Transaction

CAPABILITY = re.compile(r"[A-Za-z0-9._:+-]{1,128}", re.ASCII)
MAX_NEEDS = 20
"""Of one job, beyond those of the declaration: every set of needs is a lane that each claim probes."""


@dataclass(frozen=True, slots=True)
class OpeningStage:
    """One stage of many jobs about to be opened; the jobs differ in nothing that matters to it."""

    job_ids: list[int]
    declared: Declared
    opening: Opening
    priority: int
    delay: float = 0.0
    again: bool = False
    lane: int | None = None
    """Where its tasks wait; None for the lane of the stage."""

    @property
    def spec(self) -> StageSpec:
        return self.declared.graph.stages[self.opening.stage]

    @property
    def fans_out(self) -> bool:
        return self.opening.source is not None

    @property
    def plain(self) -> bool:
        """Whether it has one part, in the lane of the stage: nothing of the job must be read to open it."""
        return not self.fans_out and self.opening.needs is None and self.opening.wants is None

    def terms(self) -> dict[str, Any]:
        """What its tasks have in common, as the parameters of the statements that make them."""
        spec = self.spec
        return {
            "stage": self.opening.stage,
            "lane": self.declared.lanes[self.opening.stage] if self.lane is None else self.lane,
            "priority": self.priority,
            "attempts": spec.attempts,
            "max_lost": spec.max_lost,
            "isolate_after": spec.isolate_after,
            "flag_after": spec.stall_after if spec.stall_action == "flag" else None,
            "lease": spec.lease,
            "stall_after": None if spec.stall_action == "flag" else spec.stall_after,
            "timeout": backstop(spec.timeout),
            "delay": self.delay,
        }

    @property
    def sole(self) -> bool:
        """Whether it is the one stage that its pipeline has."""
        return len(self.declared.graph.stages) == 1


class BrokenFanOut(Exception):
    """A path that leads to nothing one could fan out over, or need; becomes a failed job or a refused request."""

    def __init__(self, opening: OpeningStage, message: str) -> None:
        self.stage = opening.spec.name
        self.message = message
        super().__init__(message)


async def open_stages(transaction: Transaction, openings: Iterable[OpeningStage]) -> bool:
    """Open stages with their tasks. Gives True when one of them had no parts, and so is closed already."""
    empty = False
    for given in openings:
        for opening in await _in_lanes(transaction, given):
            empty = await _open_stage(transaction, opening) or empty
    return empty


async def _in_lanes(transaction: Transaction, opening: OpeningStage) -> list[OpeningStage]:
    """The opening as it is, or one for each job where the needs depend on the job."""
    places = opening.opening
    if places.needs is None and places.wants is None:
        return [opening]
    found = []
    for job_id in opening.job_ids:
        needs = await job_needs(transaction, opening, job_id, places.needs) | await job_needs(
            transaction, opening, job_id, places.wants
        )
        lane = await lane_for(transaction, opening.declared.graph.name, opening.spec.needs | needs, opening.spec)
        found.append(replace(opening, job_ids=[job_id], lane=lane))
    return found


async def job_needs(
    transaction: Transaction, opening: OpeningStage, job_id: int, place: ValuePath | None
) -> frozenset[str]:
    """What a stage of one job needs beyond the declaration. Raises `BrokenFanOut` for what is no array of names."""
    if place is None:
        return frozenset()
    ((names,),) = await transaction.run("orchestrate_names", job_id=job_id, source=place.source, path=list(place.path))
    if not isinstance(names, list) or len(names) > MAX_NEEDS or not all(map(_is_capability, names)):
        path = opening.spec.needs_from if place is opening.opening.needs else opening.spec.wants_from
        raise BrokenFanOut(
            opening, f"{path} is no array of capability names, and stage {opening.spec.name!r} takes its needs from it"
        )
    return frozenset(names)


def _is_capability(name: object) -> bool:
    return isinstance(name, str) and CAPABILITY.fullmatch(name) is not None


async def _open_stage(transaction: Transaction, opening: OpeningStage) -> bool:
    """Open one stage, and say whether it has no parts."""
    empty = False
    if opening.fans_out:
        for job_id in opening.job_ids:
            total = await _fan_out(transaction, opening, job_id)
            empty = empty or total == 0
    elif opening.again:
        await _open(transaction, opening, opening.job_ids, total=1)
        terms = {name: opening.terms()[name] for name in ("stage", "attempts", "lane")}
        await transaction.run("orchestrate_tasks_again", job_ids=opening.job_ids, **terms)
    else:
        await transaction.run("orchestrate_single", job_ids=opening.job_ids, sole=opening.sole, **opening.terms())
    return empty


def merged(openings: Sequence[OpeningStage]) -> Iterable[OpeningStage]:
    """Openings that differ in nothing but their jobs, put together, so that one statement does for all."""
    groups: dict[tuple[Any, ...], OpeningStage] = {}
    for item in openings:
        key = (item.declared.id, item.opening.stage, item.priority, item.delay, item.again)
        if key in groups:
            groups[key].job_ids.extend(item.job_ids)
        else:
            groups[key] = item
    return groups.values()


async def _open(transaction: Transaction, opening: OpeningStage, job_ids: list[int], *, total: int) -> None:
    stage = {"job_ids": job_ids, "stage": opening.opening.stage, "total": total}
    if opening.again:
        await transaction.run("orchestrate_stages_again", **stage)
    else:
        await transaction.run("orchestrate_stages", sole=opening.sole, **stage)


async def _fan_out(transaction: Transaction, opening: OpeningStage, job_id: int) -> int:
    source = {"job_id": job_id, "source": opening.opening.source, "path": list(opening.opening.path)}
    ((total,),) = await transaction.run("orchestrate_count", **source)
    if total is None:
        each, stage = opening.spec.each, opening.spec.name
        raise BrokenFanOut(opening, f"{each} is no array and no whole number, and stage {stage!r} fans out over it")
    await _open(transaction, opening, [job_id], total=total)
    await transaction.run("orchestrate_fan", **source, **opening.terms())
    if opening.again:
        await transaction.run("orchestrate_surplus", job_id=job_id, stage=opening.opening.stage, total=total)
    return int(total)

"""Opening stages: the row that counts its tasks, and the tasks themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reelstate.core.pipeline import Opening, StageSpec
from reelstate.services.catalogue import Declared
from reelstate.stores.store import Transaction


@dataclass(frozen=True, slots=True)
class OpeningStage:
    """One stage of many jobs about to be opened; the jobs differ in nothing that matters to it."""

    job_ids: list[int]
    declared: Declared
    opening: Opening
    priority: int
    delay: float = 0.0
    again: bool = False

    @property
    def spec(self) -> StageSpec:
        return self.declared.graph.stages[self.opening.stage]

    @property
    def fans_out(self) -> bool:
        return self.opening.source is not None

    def terms(self) -> dict[str, Any]:
        """What its tasks have in common, as the parameters of the statements that make them."""
        spec = self.spec
        return {
            "stage": self.opening.stage,
            "lane": self.declared.lanes[self.opening.stage],
            "priority": self.priority,
            "attempts": spec.attempts,
            "max_lost": spec.max_lost,
            "lease": spec.lease,
            "stall_after": spec.stall_after,
            "timeout": spec.timeout,
            "delay": self.delay,
        }

    @property
    def sole(self) -> bool:
        """Whether it is the one stage that its pipeline has."""
        return len(self.declared.graph.stages) == 1


class BrokenFanOut(Exception):
    """An `each` path that leads to nothing one could fan out over; becomes a failed job or a refused request."""

    def __init__(self, opening: OpeningStage) -> None:
        self.stage = opening.spec.name
        self.message = f"{opening.spec.each} is no array and no whole number, and stage {self.stage!r} fans out over it"
        super().__init__(self.message)


async def open_stages(transaction: Transaction, openings: Iterable[OpeningStage]) -> bool:
    """Open stages with their tasks. Gives True when one of them had no parts, and so is closed already."""
    empty = False
    for opening in openings:
        if opening.fans_out:
            for job_id in opening.job_ids:
                total = await _fan_out(transaction, opening, job_id)
                empty = empty or total == 0
        elif opening.again:
            await _open(transaction, opening, opening.job_ids, total=1)
            terms = {"stage": opening.opening.stage, "attempts": opening.spec.attempts}
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
        raise BrokenFanOut(opening)
    await _open(transaction, opening, [job_id], total=total)
    await transaction.run("orchestrate_fan", **source, **opening.terms())
    if opening.again:
        await transaction.run("orchestrate_surplus", job_id=job_id, stage=opening.opening.stage, total=total)
    return int(total)

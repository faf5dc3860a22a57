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
    """A stage of one job about to be opened, for the first time or again."""

    job_id: int
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


class BrokenFanOut(Exception):
    """An `each` path that leads to nothing one could fan out over."""

    def __init__(self, opening: OpeningStage) -> None:
        self.stage = opening.spec.name
        self.message = f"{opening.spec.each} is no array and no whole number, and stage {self.stage!r} fans out over it"
        super().__init__(self.message)


async def open_stages(transaction: Transaction, openings: Sequence[OpeningStage]) -> bool:
    """Open stages with their tasks. Gives True when one of them had no parts, and so is closed already."""
    for group in _alike(opening for opening in openings if not opening.fans_out):
        await _open(transaction, group, total=1)
    empty = False
    for opening in openings:
        if opening.fans_out:
            total = await _parts(transaction, opening)
            await _open(transaction, [opening], total=total)
            empty = empty or total == 0
    return empty


def _alike(openings: Iterable[OpeningStage]) -> Iterable[list[OpeningStage]]:
    """Stages of many jobs that are opened by one statement, because they differ in nothing but the job."""
    groups: dict[tuple[Any, ...], list[OpeningStage]] = {}
    for item in openings:
        key = (item.declared.id, item.opening.stage, item.priority, item.delay, item.again)
        groups.setdefault(key, []).append(item)
    return groups.values()


async def _open(transaction: Transaction, group: list[OpeningStage], *, total: int) -> None:
    first = group[0]
    job_ids = [item.job_id for item in group]
    stage = {"job_ids": job_ids, "stage": first.opening.stage, "total": total}
    if first.again:
        await transaction.run("orchestrate_stages_again", **stage)
    else:
        await transaction.run("orchestrate_stages", sole=len(first.declared.graph.stages) == 1, **stage)
    if first.fans_out:
        await _fan_out(transaction, first, total)
    elif first.again:
        terms = {"stage": first.opening.stage, "attempts": first.spec.attempts}
        await transaction.run("orchestrate_tasks_again", job_ids=job_ids, **terms)
    else:
        await transaction.run("orchestrate_tasks", job_ids=job_ids, **first.terms())


async def _parts(transaction: Transaction, opening: OpeningStage) -> int:
    source, path = opening.opening.source, list(opening.opening.path)
    ((parts,),) = await transaction.run("orchestrate_count", job_id=opening.job_id, source=source, path=path)
    if parts is None:
        raise BrokenFanOut(opening)
    return int(parts)


async def _fan_out(transaction: Transaction, opening: OpeningStage, total: int) -> None:
    source, path = opening.opening.source, list(opening.opening.path)
    await transaction.run("orchestrate_fan", job_id=opening.job_id, source=source, path=path, **opening.terms())
    if opening.again:
        await transaction.run("orchestrate_surplus", job_id=opening.job_id, stage=opening.opening.stage, total=total)

"""Opening stages: the row that counts its tasks, and the tasks themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reelstate.core.pipeline import Opening, StageSpec
from reelstate.services.catalogue import Declared
from reelstate.stores.store import Batch, Row, Transaction

COLUMNS = tuple("job_id stage lane priority attempts max_lost lease stall_after timeout delay".split())


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

    def row(self) -> Row:
        """What its tasks have in common, in the order of COLUMNS."""
        spec = self.spec
        lane = self.declared.lanes[self.opening.stage]
        terms = (spec.attempts, spec.max_lost, spec.lease, spec.stall_after, spec.timeout)
        return (self.job_id, self.opening.stage, lane, self.priority, *terms, self.delay)


class BrokenFanOut(Exception):  # noqa: N818 -- becomes a failed job or a refused request, never reaches a caller
    """An `each` path that leads to nothing one could fan out over."""

    def __init__(self, opening: OpeningStage) -> None:
        self.stage = opening.spec.name
        self.message = f"{opening.spec.each} is no array and no whole number, and stage {self.stage!r} fans out over it"
        super().__init__(self.message)


async def open_stages(transaction: Transaction, openings: Sequence[OpeningStage]) -> bool:
    """Open stages with their tasks. Gives True when one of them had no parts, and so is closed already."""
    single = [opening for opening in openings if not opening.fans_out]
    fanned = [(opening, await _parts(transaction, opening)) for opening in openings if opening.fans_out]
    await _open_rows(transaction, [(opening, 1) for opening in single] + fanned)
    await _open_single(transaction, single)
    for opening, total in fanned:
        await _fan_out(transaction, opening, total)
    return any(total == 0 for _, total in fanned)


async def _open_rows(transaction: Transaction, totals: Sequence[tuple[OpeningStage, int]]) -> None:
    fresh = [
        (item.job_id, item.opening.stage, total, len(item.declared.graph.stages) == 1)
        for item, total in totals
        if not item.again
    ]
    if fresh:
        await transaction.run("orchestrate_stages", Batch(("job_id", "stage", "total", "sole"), fresh))
    again = [(item.job_id, item.opening.stage, total) for item, total in totals if item.again]
    if again:
        await transaction.run("orchestrate_stages_again", Batch(("job_id", "stage", "total"), again))


async def _open_single(transaction: Transaction, openings: Sequence[OpeningStage]) -> None:
    fresh = [opening.row() for opening in openings if not opening.again]
    if fresh:
        await transaction.run("orchestrate_tasks", Batch(COLUMNS, fresh))
    again = [(opening.job_id, opening.opening.stage) for opening in openings if opening.again]
    if again:
        await transaction.run("orchestrate_tasks_again", Batch(("job_id", "stage"), again))


async def _parts(transaction: Transaction, opening: OpeningStage) -> int:
    source, path = opening.opening.source, list(opening.opening.path)
    ((parts,),) = await transaction.run("orchestrate_count", job_id=opening.job_id, source=source, path=path)
    if parts is None:
        raise BrokenFanOut(opening)
    return int(parts)


async def _fan_out(transaction: Transaction, opening: OpeningStage, total: int) -> None:
    parameters = dict(zip(COLUMNS, opening.row(), strict=True))
    source, path = opening.opening.source, list(opening.opening.path)
    await transaction.run("orchestrate_fan", source=source, path=path, **parameters)
    if opening.again:
        await transaction.run("orchestrate_surplus", job_id=opening.job_id, stage=opening.opening.stage, total=total)

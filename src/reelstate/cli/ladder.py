"""The qualities of a transcode at the command line: read from its tasks, shown as bars."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from reelstate.cli.paging import every
from reelstate.cli.terminal import bar, cut, share, status, table
from reelstate.core.machine import ACTIVE_JOBS, TaskStatus
from reelstate.core.model import JobDetail, Page, Task
from reelstate.media.quality import ENCODE, Quality, QualityStatus, ladder_of, qualities
from reelstate.services.engine import Engine


async def read_qualities(engine: Engine, detail: JobDetail) -> list[Quality]:
    """Every quality of a job, as far as it is known; none for a job of another kind."""
    ladder = ladder_of(detail.plan)
    return [] if ladder is None else qualities(ladder, await _chunks(engine, detail))


@dataclass(slots=True)
class LadderReader:
    """The qualities of a job that is looked at again and again; done chunks are read anew only if there are more."""

    engine: Engine
    _done: list[Task] = field(default_factory=list)

    async def read(self, detail: JobDetail, current: Sequence[Task]) -> list[Quality]:
        ladder = ladder_of(detail.plan)
        if ladder is None or detail.job.status not in ACTIVE_JOBS:
            return await read_qualities(self.engine, detail)
        if len(self._done) != sum(stage.done for stage in detail.stages if stage.name == ENCODE):
            self._done = await _chunks(self.engine, detail, TaskStatus.DONE)
        known = {task.part for task in self._done}
        at_work = [task for task in current if task.stage_name == ENCODE and task.part not in known]
        return qualities(ladder, [*self._done, *at_work])


def qualities_table(found: Iterable[Quality]) -> Table:
    made = table("quality", "status", "", "", "segments", "error", flexible=["error"])
    for each in found:
        left_out = each.status is QualityStatus.SKIPPED
        made.add_row(
            each.quality,
            status(each.status),
            "" if left_out else bar(each.progress_percent, each.status),
            "" if left_out else share(each.progress_percent),
            "" if left_out else f"{each.segments_completed}/{each.segments_total}",
            cut(each.error_message or ""),
        )
    return made


async def _chunks(engine: Engine, detail: JobDetail, *statuses: TaskStatus) -> list[Task]:
    if not any(stage.name == ENCODE for stage in detail.stages):
        return []

    def page(after: str | None) -> Awaitable[Page[Task]]:
        return engine.tasks(detail.job.id, stage=ENCODE, statuses=statuses or None, after=after)

    return [task async for task in every(page)]

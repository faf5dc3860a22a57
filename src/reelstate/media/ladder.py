"""The qualities of a transcode, read from its tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from reelstate.core.machine import ACTIVE_JOBS, TaskStatus
from reelstate.core.model import JobDetail, Json, Page, Task, VideoDetail, VideoVersion
from reelstate.media.quality import ENCODE, Quality, ladder_of, qualities
from reelstate.services.engine import Engine
from reelstate.services.paging import every


async def read_qualities(engine: Engine, detail: JobDetail) -> list[Quality]:
    """Every quality of a job, as far as it is known; none for a job of another kind."""
    ladder = ladder_of(detail.plan)
    return [] if ladder is None else qualities(ladder, await _chunks(engine, detail))


def telling_version(detail: VideoDetail) -> VideoVersion | None:
    """The version whose qualities people want to see: the one that is made, else the one that plays, else the last."""
    made = (version for version in detail.versions if version.job.status in ACTIVE_JOBS)
    playing = (version for version in detail.versions if version.current)
    return next(made, None) or next(playing, None) or next(iter(detail.versions), None)


def profile_before(detail: VideoDetail) -> Json:
    """The profile of the newest version, which a further one has unless it says otherwise."""
    return next((version.job.spec.get("profile") for version in detail.versions), None)


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


async def _chunks(engine: Engine, detail: JobDetail, *statuses: TaskStatus) -> list[Task]:
    if not any(stage.name == ENCODE for stage in detail.stages):
        return []

    def page(after: str | None) -> Awaitable[Page[Task]]:
        return engine.tasks(detail.job.id, stage=ENCODE, statuses=statuses or None, after=after)

    return [task async for task in every(page)]

"""The progress of each quality of a transcode job, read from its tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace

from reelstate.core.errors import NotFound
from reelstate.core.machine import ACTIVE_JOBS, TaskStatus
from reelstate.core.model import JobDetail, Json, Page, Task
from reelstate.engine import Engine
from reelstate.library.model import VideoDetail, VideoVersion
from reelstate.media.planning.quality import ENCODE, Ladder, Quality, list_qualities, read_ladder
from reelstate.services.paging import every


async def read_qualities(engine: Engine, detail: JobDetail) -> list[Quality]:
    """Return the qualities of a job that are known so far; none for a job of another pipeline."""
    ladder = await _ladder(engine, detail)
    return [] if ladder is None else list_qualities(ladder, await _chunks(engine, detail))


async def _ladder(engine: Engine, detail: JobDetail) -> Ladder | None:
    """Return the ladder of a job, with the rungs reused from an earlier version."""
    ladder, earlier = read_ladder(detail.plan), _field(detail.job.spec, "reuse_from")
    if ladder is None or not isinstance(earlier, int):
        return ladder
    encoded = {name for name, _ in ladder.rungs}
    names = _published(detail) or await _published_by(engine, earlier)
    return replace(ladder, reused=tuple(name for name in names if name not in encoded), reused_from=earlier)


async def _published_by(engine: Engine, job_id: int) -> list[str]:
    try:
        return _published(await engine.job(job_id))
    except NotFound:
        return []


def _published(detail: JobDetail) -> list[str]:
    """Return the names of the rungs that a job published."""
    found = _field(detail.outputs.get("publish"), "rungs")
    return [str(name) for name in found] if isinstance(found, list) else []


def _field(document: Json, name: str) -> Json:
    return document.get(name) if isinstance(document, dict) else None


def shown_version(detail: VideoDetail) -> VideoVersion | None:
    """Return the version whose qualities are shown: the one in progress, else the current one, else the newest."""
    active = (version for version in detail.versions if version.job.status in ACTIVE_JOBS)
    playing = (version for version in detail.versions if version.current)
    return next(active, None) or next(playing, None) or next(iter(detail.versions), None)


def latest_profile(detail: VideoDetail) -> Json:
    """Return the profile of the newest version, which a further version inherits."""
    return next((version.job.spec.get("profile") for version in detail.versions), None)


@dataclass(slots=True)
class LadderReader:
    """Read the qualities of a job repeatedly; done chunks are read again only when their number changes."""

    engine: Engine
    _done: list[Task] = field(default_factory=list)

    async def read(self, detail: JobDetail, current: Sequence[Task]) -> list[Quality]:
        """Return the qualities of a job; `current` are its running tasks."""
        ladder = await _ladder(self.engine, detail)
        if ladder is None or detail.job.status not in ACTIVE_JOBS:
            return await read_qualities(self.engine, detail)
        if len(self._done) != sum(stage.done for stage in detail.stages if stage.name == ENCODE):
            self._done = await _chunks(self.engine, detail, TaskStatus.DONE)
        known = {task.part for task in self._done}
        running = [task for task in current if task.stage_name == ENCODE and task.part not in known]
        return list_qualities(ladder, [*self._done, *running])


async def _chunks(engine: Engine, detail: JobDetail, *statuses: TaskStatus) -> list[Task]:
    if not any(stage.name == ENCODE for stage in detail.stages):
        return []

    def page(after: str | None) -> Awaitable[Page[Task]]:
        return engine.tasks(detail.job.id, stage=ENCODE, statuses=statuses or None, after=after)

    return [task async for task in every(page)]

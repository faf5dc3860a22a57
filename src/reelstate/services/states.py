"""states: what the tasks of a job say of themselves, stage by stage, and the one state that stands for all.

A stage is a job of the state manager under the name `job.stage`; its parts are the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import JobDetail
from reelstate.core.state import State, StateJob, aggregate, lowest, stage_job
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import observe_job, observe_tags
from reelstate.states.state_store import StateStore
from reelstate.stores.store import Store


@dataclass(frozen=True, slots=True)
class StatesGrid:
    """The states of one stage, or of any job of the state manager: tasks × tags."""

    name: str
    """Of the stage; the whole id where the job is none of the engine's."""
    job: StateJob
    states: tuple[State, ...]
    """By task and tag; what nobody has written is not there."""

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted({*self.job.tags, *(state.tag for state in self.states)}))

    @property
    def lowest(self) -> State:
        """The state that stands for all of them."""
        return aggregate(self.job, self.states)


@dataclass(frozen=True, slots=True)
class States:
    """The grids of a job, in the order of its stages: of those that speak, or are expected to."""

    stages: tuple[StatesGrid, ...]

    @property
    def lowest(self) -> State | None:
        """The state that stands for the whole job; none where no stage speaks."""
        return lowest([grid.lowest for grid in self.stages]) if self.stages else None


async def states(
    store: Store,
    catalogue: Catalogue,
    kept: StateStore,
    job_id: int | str,
    stage: str | None = None,
    owner: str | None = None,
) -> States:
    """The states of a job of the engine, by its number, or of any job of the state manager, by its name.

    With an owner they are those of a job of theirs; what is no job of the engine has none.
    """
    if owner is not None and not str(job_id).isdecimal():
        raise NotFound("job", job_id)
    if not isinstance(job_id, int) and not job_id.isdecimal():
        if stage is not None:
            raise InvalidRequest("stage", f"{job_id!r} is the name of one stage", hint="give the job's number")
        return States((await _grid(kept, job_id, await kept.find_job(job_id)),))
    detail = await observe_job(store, catalogue, int(job_id), owner)
    names = [found.name for found in detail.stages]
    if stage is not None and stage not in names:
        raise InvalidRequest("stage", f"there is no stage {stage!r}", hint=f"stages: {', '.join(names)}")
    expected = await observe_tags(store, catalogue, int(job_id))
    jobs = [await _job(kept, detail, name, expected[name]) for name in names if stage in (None, name)]
    return States(tuple([await _grid(kept, name, job) for name, job in jobs if job is not None]))


async def _job(kept: StateStore, detail: JobDetail, name: str, tags: tuple[str, ...]) -> tuple[str, StateJob | None]:
    """The job of a stage as it is stored, or as it will be when its tasks are expected to speak."""
    (found,) = [stage for stage in detail.stages if stage.name == name]
    job_id = stage_job(detail.job.id, name)
    try:
        return name, await kept.find_job(job_id)
    except NotFound:
        return name, StateJob(job_id=job_id, tasks=max(1, found.total), tags=tags) if tags else None


async def _grid(kept: StateStore, name: str, job: StateJob) -> StatesGrid:
    try:
        _, found = await kept.states(job.job_id)
    except NotFound:  # it is only expected
        found = ()
    return StatesGrid(name, job, tuple(sorted(found, key=lambda state: state.key)))
